// Compares two checkpoints tensor by tensor (checkpoint_pair.h).
#include "tests/checkpoint_pair.h"

#include <math.h>
#include <string.h>

#include "formats/weights/safetensors.h"
#include "tests/check.h"

void check_same_checkpoint(const char *a, const char *b, int at_least) {
    SrSafetensors x, y;
    CHECK_OK(sr_safetensors_open(&x, a));
    CHECK_OK(sr_safetensors_open(&y, b));
    CHECK_INT(x.n, y.n);
    CHECK(x.n >= at_least);
    for (int i = 0; i < x.n; i++) {
        const SrTensor *t = &x.tensors[i].tensor;
        const SrTensor *u = sr_safetensors_find(&y, x.tensors[i].name);
        CHECK(u && sr_shape_equal(t->shape, u->shape) && t->dtype == u->dtype);
        if (memcmp(t->data, u->data, (size_t)sr_shape_count(t->shape) * sr_dtype_bytes(t->dtype)) !=
            0)
            fail_msg("'%s' differs between %s and %s", x.tensors[i].name, a, b);
    }
    CHECK_STR(sr_safetensors_meta(&x, "iteration"), sr_safetensors_meta(&y, "iteration"));
    CHECK_STR(sr_safetensors_meta(&x, "loss_sum"), sr_safetensors_meta(&y, "loss_sum"));
    sr_safetensors_close(&x);
    sr_safetensors_close(&y);
}

static void check_close(const SrNamedTensor *a, const SrTensor *b, double tolerance) {
    const float *x = a->tensor.data, *y = b->data;
    double largest = 0.01, worst = 0;
    for (int64_t k = 0; k < sr_shape_count(b->shape); k++) {
        largest = fmax(largest, fabs((double)x[k]));
        worst = fmax(worst, fabs((double)x[k] - (double)y[k]));
    }
    if (!(worst <= tolerance * largest))
        fail_msg("'%s' differs by %g of %g", a->name, worst, largest);
}

void check_close_checkpoint(const char *a, const char *b, int at_least, double statistics,
                            double others) {
    SrSafetensors x, y;
    int compared = 0;
    CHECK_OK(sr_safetensors_open(&x, a));
    CHECK_OK(sr_safetensors_open(&y, b));
    for (int i = 0; i < x.n; i++) {
        const SrTensor *u = sr_safetensors_find(&y, x.tensors[i].name);
        if (x.tensors[i].tensor.dtype != SR_F32)
            continue;
        CHECK(u && sr_shape_equal(x.tensors[i].tensor.shape, u->shape));
        check_close(&x.tensors[i], u, strstr(x.tensors[i].name, ".running_") ? statistics : others);
        compared++;
    }
    CHECK(compared >= at_least);
    sr_safetensors_close(&x);
    sr_safetensors_close(&y);
}
