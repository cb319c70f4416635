// Writes weights as .safetensors, .pth (torch.save's zip format) or .npz; the file name's ending
// chooses the format.
#ifndef SR_FORMATS_WEIGHTS_SAVE_H
#define SR_FORMATS_WEIGHTS_SAVE_H

#include "base/status.h"
#include "formats/weights/save_item.h"

// Writes the file and replaces an older one atomically.  SR_ERR_CONFIG: unknown ending, or a type
// that the format lacks.
SrStatus sr_save(const char *path, const SrSave *save);
SrStatus sr_save_check(const char *path); // checks the ending alone

#endif
