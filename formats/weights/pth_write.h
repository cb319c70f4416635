// Writes torch.save's zip format: data.pkl (pickle protocol 2), data/0, data/1, ..., version.
// Dicts are plain and nested; each tensor is torch._utils._rebuild_tensor_v2 over its own storage.
#ifndef SR_FORMATS_WEIGHTS_PTH_WRITE_H
#define SR_FORMATS_WEIGHTS_PTH_WRITE_H

#include "base/status.h"
#include "formats/weights/save_item.h"

// Writes the file and replaces an older one atomically.
SrStatus sr__pth_save(const char *path, const SrSave *save);

#endif
