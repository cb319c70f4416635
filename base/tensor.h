// Shapes, element types and tensors.  A tensor never owns its data.
//
// One legend for dimension letters, used in every comment of the project:
//   N images  V views  C channels  H W space  K output channels  R S kernel rows, columns
//   D embedding  P prototypes  L tokens  E heads
// Layout is NHWC: an activation is (N, H, W, C), a feature vector (N, D).  Convolution weights
// stay in the framework's order (K, C/groups, R, S), linear weights (out, in).
#ifndef SR_BASE_TENSOR_H
#define SR_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_MAX_RANK 6
#define SR_MAX_VIEWS 64 // most views of an image

typedef enum {
    SR_F32,
    SR_F64,
    SR_F16,
    SR_BF16,
    SR_I8,
    SR_I16,
    SR_I32,
    SR_I64,
    SR_U8,
    SR_BOOL
} SrDtype;

size_t sr_dtype_bytes(SrDtype dtype);
const char *sr_dtype_name(SrDtype dtype); // safetensors' names: "F32", "I64", ...
bool sr_dtype_parse(const char *name, SrDtype *out);

typedef struct {
    int rank; // 0 is a scalar
    int d[SR_MAX_RANK];
} SrShape;

// SR_SHAPE(n, h, w, c): rank from the number of arguments.
#define SR_SHAPE(...) \
    ((SrShape){.rank = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .d = {__VA_ARGS__}})
#define SR_SCALAR ((SrShape){.rank = 0})

int64_t sr_shape_count(SrShape shape); // product of the dimensions, 1 for a scalar
// Returns the index of the first of n numbers that is NaN or infinite; -1: all are finite.
int64_t sr_floats_nonfinite(const float *x, int64_t n);
bool sr_shape_equal(SrShape a, SrShape b);
// Product of all dimensions but the last: the number of rows when the tensor is seen as a matrix
// (rows, C).  1 for a scalar.
int64_t sr_shape_rows(SrShape shape);
int sr_shape_last(SrShape shape); // the last dimension, 1 for a scalar
// "[2, 64, 64, 3]"; returns buf.
const char *sr_shape_text(SrShape shape, char *buf, size_t buf_bytes);
#define SR_SHAPE_TEXT_BYTES 96

// Shape, element type and address.  data is NULL while only shapes are known.
typedef struct {
    SrShape shape;
    SrDtype dtype;
    void *data; // not owned
} SrTensor;

#endif
