// Describes tensors to users of sslrun.h.
#ifndef SR_LIBRARY_TENSOR_INFO_H
#define SR_LIBRARY_TENSOR_INFO_H

#include "base/status.h"
#include "base/tensor.h"
#include "sslrun.h"

// Describes a tensor.  Borrows the name.  out NULL: not wanted.
void sr__tensor_info(const char *name, SrShape shape, SrDtype dtype, SrTensorInfo *out);
// SR_ERR_CONFIG: n is not the number of elements; the message names the tensor.
SrStatus sr__tensor_check_count(const char *name, SrShape shape, int64_t n);

#endif
