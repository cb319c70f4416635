// Reads files of weights that strangers made.
#ifndef SR_TESTS_FORMATS_WEIGHTS_BOUND_H
#define SR_TESTS_FORMATS_WEIGHTS_BOUND_H

#include "base/status.h"

// Opens a file of weights and reads its tensors until one is refused.  Fails the test if that takes
// more memory than the file's size and 64 MiB, leaves memory, or ends otherwise than well or with
// SR_ERR_CONFIG.  Returns how opening ended.  *read: the first failure of opening or reading; may
// be NULL.
SrStatus weights_bound_check(const char *path, SrStatus *read);

#endif
