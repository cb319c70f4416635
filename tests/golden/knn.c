// Runs golden cases knn_*: VISSL's run_knn_at_layer on recorded features. Compares the five best
// classes of each test image, top-1 and top-5.
#include <string.h>

#include "measure/neighbours/knn.h"
#include "tests/golden/golden.h"

static SrStatus read_side(SrGoldenCase *c, const char *features, const char *labels,
                          SrMatrix *out) {
    int64_t n = 0;
    const SrTensor *x = golden_tensor(c, features), *y = golden_tensor(c, labels);
    if (!x || !y || x->shape.rank != 2 || y->dtype != SR_I64)
        SR_FAIL(SR_ERR_RUN, "%s: no tensors '%s' and '%s'", c->name, features, labels);
    *out = (SrMatrix){.n = x->shape.d[0], .d = x->shape.d[1]};
    out->x = golden_floats(c, features, &n);
    out->label = sr_arena_copy(c->arena, y->data, (size_t)out->n * sizeof(int64_t));
    return out->x && out->label ? SR_OK : sr_fail(SR_ERR_MEMORY, "%s: out of memory", c->name);
}

static SrStatus run(SrGoldenCase *c) {
    const SrYaml *options = sr_yaml_find_path(c->config, "NEAREST_NEIGHBOR");
    const SrYaml *k_node = sr_yaml_find(options, "TOPK"), *sigma = sr_yaml_find(options, "SIGMA");
    const SrYaml *norm = sr_yaml_find(options, "L2_NORM_FEATS");
    const SrYaml *top1 = sr_yaml_find(c->values, "top1"), *top5 = sr_yaml_find(c->values, "top5");
    if (!k_node || !sigma || !top1 || !top5)
        SR_FAIL(SR_ERR_RUN, "%s: incomplete manifest", c->name);
    if (k_node->type == SR_YAML_LIST)
        k_node = k_node->items[0];
    SrMatrix train, test;
    SR_TRY(read_side(c, "train_features", "train_labels", &train));
    SR_TRY(read_side(c, "test_features", "test_labels", &test));
    // In the reference exp(similarity / sigma) overflows if features are not normalised.
    SrKnnOptions o = {.sigma = sigma->f, .l2_norm = norm && norm->b, .vissl_overflow = true};
    int k = (int)k_node->i;
    SrKnnResult result;
    size_t cells = (size_t)test.n * SR_KNN_TOP;
    int64_t *ranked = sr_arena_alloc(c->arena, cells * sizeof *ranked);
    float *numbers = sr_arena_alloc(c->arena, cells * sizeof *numbers);
    if (!ranked || !numbers)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", c->name);
    SR_TRY(sr_knn(&o, &train, &test, &k, 1, &result, ranked));
    for (size_t i = 0; i < cells; i++)
        numbers[i] = (float)ranked[i];
    SR_TRY(golden_number(c, "top1", result.top1, top1->f, 1e-9));
    SR_TRY(golden_number(c, "top5", result.top5, top5->f, 1e-9));
    return golden_compare(c, "pred_top5", numbers, (int64_t)cells, 1e-6);
}

const SrGolden sr_golden_knn = {
    .prefixes = {"knn"},
    .run = run,
};
