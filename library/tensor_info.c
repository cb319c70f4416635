// Describes tensors for sslrun.h.
#include "library/tensor_info.h"

#include <string.h>

#include "base/compiler.h"
#include "formats/weights/weights.h"

_Static_assert(sizeof((SrTensorInfo){0}.shape) == sizeof((SrShape){0}.d), "ranks of sslrun.h");

void sr__tensor_info(const char *name, SrShape shape, SrDtype dtype, SrTensorInfo *out) {
    if (!out)
        return;
    *out = (SrTensorInfo){.name = name,
                          .dtype = sr_dtype_name(dtype),
                          .rank = shape.rank,
                          .count = sr_shape_count(shape)};
    memcpy(out->shape, shape.d, (size_t)shape.rank * sizeof *shape.d);
}

SrStatus sr__tensor_check_count(const char *name, SrShape shape, int64_t n) {
    char text[SR_SHAPE_TEXT_BYTES];
    if (n == sr_shape_count(shape))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s has %lld numbers %s, but there is room for %lld", name,
            (long long)sr_shape_count(shape), sr_shape_text(shape, text, sizeof text),
            (long long)n);
}
