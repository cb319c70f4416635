// See the header.
#include "tests/checkpoint_pair.h"

#include <string.h>

#include "formats/safetensors.h"
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
