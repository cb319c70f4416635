// Golden cases collators*: sample s, view k is filled with 100 * s + k; the outputs show the
// layout.
//
// Tensors NAME.data<k>, NAME.label0, NAME.data_idx0, NAME.data_valid0; collators we do not have are
// passed over.
#include "data/data.h"
#include "tests/golden/golden.h"

typedef struct {
    SrGoldenCase *c;
    const SrCollator *collator;
    int n_views, batch;
} Run;

static const char *part(Run r, const char *what, int i) {
    return sr_arena_printf(r.c->arena, "%s.%s%d", r.collator->name, what, i);
}

// Views k0 .. k1-1 of all images, as SrBatch has them, against tensor data<out>.
static SrStatus compare_data(Run r, int out, int k0, int k1) {
    const SrTensor *t = golden_tensor(r.c, part(r, "data", out));
    int64_t total = t ? sr_shape_count(t->shape) : 0, one = total / ((int64_t)(k1 - k0) * r.batch);
    float *ours = sr_arena_alloc(r.c->arena, sizeof *ours * (size_t)(total + 1));
    if (!ours)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a batch");
    for (int64_t i = 0; i < total; i++)
        ours[i] = (float)(100 * (i / one % r.batch) + k0 + i / one / r.batch);
    return golden_compare(r.c, part(r, "data", out), ours, total, 1e-7);
}

// The first `batch` of a tensor are what went in.
static SrStatus compare_numbers(Run r, const char *what) {
    int64_t n, in[256], out[256 * 64];
    float ours[256 * 64];
    const char *name = part(r, what, 0);
    const float *reference = golden_floats(r.c, name, &n);
    if (!reference || n < r.batch || r.batch > 256 || r.n_views > 64)
        SR_FAIL(SR_ERR_RUN, "%s: no tensor %s", r.c->name, name);
    for (int i = 0; i < r.batch; i++)
        in[i] = (int64_t)reference[i];
    int count = sr_collator_repeat(r.collator, r.n_views, r.batch, in, out);
    for (int i = 0; i < count; i++)
        ours[i] = (float)out[i];
    return golden_compare(r.c, name, ours, count, 1e-7);
}

// The samples' own indices tell where the second view begins.
static int batch_of(Run r) {
    int64_t n = 0;
    const float *index = golden_floats(r.c, part(r, "data_idx", 0), &n);
    int batch = 1;
    while (index && batch < n && index[batch] != index[0])
        batch++;
    return batch;
}

static SrStatus run_collator(Run r) {
    int lists = 0;
    while (golden_tensor(r.c, part(r, "data", lists)))
        lists++;
    if (!lists)
        return SR_OK;
    const SrTensor *first = golden_tensor(r.c, part(r, "data", 0));
    r.batch = batch_of(r);
    r.n_views = r.collator->concatenated ? first->shape.d[0] / r.batch : lists;
    for (int k = 0; k < lists; k++)
        SR_TRY(r.collator->concatenated ? compare_data(r, 0, 0, r.n_views)
                                        : compare_data(r, k, k, k + 1));
    SR_TRY(compare_numbers(r, "label"));
    SR_TRY(compare_numbers(r, "data_valid"));
    return compare_numbers(r, "data_idx");
}

static SrStatus run(SrGoldenCase *c) {
    const SrCollator *collator;
    for (int i = 0; (collator = sr_collator_at(i)); i++)
        SR_TRY(run_collator((Run){.c = c, .collator = collator}));
    c->not_offered = "none of its collators is offered";
    return SR_OK;
}

const SrGolden sr_golden_collators = {.prefixes = {"collators"}, .run = run};
