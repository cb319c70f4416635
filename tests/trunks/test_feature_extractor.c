// Tests LINEAR_EVAL_FEAT_POOL_OPS_MAP: each pooling with PyTorch's positional arguments against
// its definition, window by window; flattening in PyTorch's order, the order of the features, and
// refusals that name the place.
#include "trunks/shared/feature_extractor.h"

#include <stdio.h>

#include "base/text/yaml_load.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "tests/check.h"
#include "tests/graph/toy.h"

enum { N = 2, H = 5, W = 6, C = 3, MAX_SIDE = 8 };

// A pooling as PyTorch defines it: windows of `size` cells along each side, of which `pad` lie
// outside the map.
typedef struct {
    int adaptive, size_h, size_w, stride, pad; // adaptive: size is that of the output
    bool max, exclude_pad;
    int out_h, out_w;
} Pooling;

// Sets *begin and *end to the cells [begin, end) of a side of length n that output o covers.
// *cells: their number including padding.
static void window(const Pooling *p, int o, int n, int size, int *begin, int *end, int *cells) {
    if (p->adaptive) { // floor(o n / out), ceil((o + 1) n / out)
        *begin = o * n / size;
        *end = ((o + 1) * n + size - 1) / size;
        *cells = *end - *begin;
        return;
    }
    *begin = o * p->stride - p->pad;
    *end = SR_MIN(*begin + size, n + p->pad);
    *cells = *end - *begin;
    *begin = SR_MAX(*begin, 0);
    *end = SR_MIN(*end, n);
}

// Returns the pooled value at (oh, ow) of channel c of one image x (H, W, C).
static double pooled(const Pooling *p, const float *x, int oh, int ow, int c) {
    int h0, h1, hn, w0, w1, wn;
    window(p, oh, H, p->size_h, &h0, &h1, &hn);
    window(p, ow, W, p->size_w, &w0, &w1, &wn);
    double sum = 0, most = -1e9;
    for (int h = h0; h < h1; h++)
        for (int w = w0; w < w1; w++) {
            double v = (double)x[(h * W + w) * C + c];
            sum += v;
            most = fmax(most, v);
        }
    return p->max ? most : sum / (p->exclude_pad ? (h1 - h0) * (w1 - w0) : hn * wn);
}

typedef struct {
    SrArena arena;
    SrParams *params;
    SrGraph *graph;
    SrPlan *plan;
    SrNodeId x, out[SR_MAX_FEATURES];
    SrFeatures features;
} Built;

// Builds a "trunk" that is a ReLU over positive numbers, so that its feature is its input.
static SrStatus build(Built *t, const char *list, bool flatten) {
    SrYaml *tree;
    SrBuilder *b;
    *t = (Built){.plan = NULL};
    CHECK_OK(sr_yaml_parse(&t->arena, list, strlen(list), "map.yaml", &tree));
    CHECK_OK(sr_params_new(&t->params));
    CHECK_OK(sr_graph_new(t->params, &t->graph));
    SR_TRY(sr_features_parse(tree, "MAP", &t->arena, &t->features));
    CHECK_OK(sr_builder_new(t->graph, &b));
    t->x = sr_build_input(b, "x", SR_SHAPE(N, H, W, C), SR_F32);
    SrNodeId y = sr_build(b, "relu", "body", NULL, t->x);
    sr_build(b, "flatten", "end", NULL, y);
    SrStatus status = sr_features_build(b, &t->features, "", 0, flatten, t->out);
    sr_builder_free(b);
    return status;
}

static void start(Built *t) {
    SrPlanOptions options = {.mode = SR_MODE_EVAL, .outputs = t->out, .n_outputs = t->features.n};
    CHECK_OK(sr_params_allocate(t->params));
    CHECK_OK(sr_plan_compile(t->graph, &options, &t->plan));
    float *x = sr_plan_input(t->plan, t->x).data;
    toy_fill(x, N * H * W * C, 3);
    for (int i = 0; i < N * H * W * C; i++)
        x[i] = fabsf(x[i]) + 0.01f;
    sr_plan_forward(t->plan, 0);
}

static void deinit(Built *t) {
    sr_plan_free(t->plan);
    sr_graph_free(t->graph);
    sr_params_free(t->params);
    sr_arena_deinit(&t->arena);
}

// Compares the output y, (N, h, w, C) or flattened (N, C h w), with the definition.
static void check_values(Built *t, const Pooling *p, bool flatten) {
    SrTensor y = sr_plan_output(t->plan, t->out[0]);
    const float *x = sr_plan_input(t->plan, t->x).data, *got = y.data;
    int h = p->out_h, w = p->out_w;
    CHECK(sr_shape_equal(y.shape, flatten ? SR_SHAPE(N, C * h * w) : SR_SHAPE(N, h, w, C)));
    for (int n = 0; n < N; n++)
        for (int i = 0; i < h * w; i++)
            for (int c = 0; c < C; c++) {
                int at = n * h * w * C + (flatten ? c * h * w + i : i * C + c);
                CHECK_NEAR((double)got[at], pooled(p, x + n * H * W * C, i / w, i % w, c), 1e-6);
            }
}

TEST(test_poolings) {
    static const struct {
        const char *operation;
        Pooling p;
    } rows[] = {
        {"[AdaptiveAvgPool2d, [[2, 3]]]", {1, 2, 3, 0, 0, false, false, 2, 3}},
        {"[AdaptiveAvgPool2d, [4]]", {1, 4, 4, 0, 0, false, false, 4, 4}},
        {"[AdaptiveMaxPool2d, [[3, 2]]]", {1, 3, 2, 0, 0, true, false, 3, 2}},
        {"[AdaptiveMaxPool2d, [1]]", {1, 1, 1, 0, 0, true, false, 1, 1}},
        // The stride defaults to the kernel.
        {"[AvgPool2d, [2]]", {0, 2, 2, 2, 0, false, false, 2, 3}},
        {"[AvgPool2d, [[3, 2], 1, 0]]", {0, 3, 2, 1, 0, false, false, 3, 5}},
        {"[AvgPool2d, [[3, 3], 2, 1]]", {0, 3, 3, 2, 1, false, false, 3, 3}},
        {"[AvgPool2d, [3, 2, 1, False, False]]", {0, 3, 3, 2, 1, false, true, 3, 3}},
        {"[MaxPool2d, [2, 2, 1]]", {0, 2, 2, 2, 1, true, false, 3, 4}},
        {"[MaxPool2d, [[2, 3]]]", {0, 2, 3, 0, 0, true, false, 2, 2}},
        {"[MaxPool2d, [2, 2, 0, 1, False, True]]", {0, 2, 2, 2, 0, true, false, 3, 3}}, // ceil_mode
        {"[Identity, []]", {0, 1, 1, 1, 0, true, false, H, W}},
        {"[Identity]", {0, 1, 1, 1, 0, true, false, H, W}}};
    for (int i = 0; i < 2 * SR_COUNT(rows); i++) {
        char list[128];
        Built t;
        Pooling p = rows[i / 2].p;
        snprintf(list, sizeof list, "[[body, %s]]", rows[i / 2].operation);
        CHECK_OK(build(&t, list, i % 2));
        start(&t);
        if (p.stride == 0 &&
            !p.adaptive) // [[2, 3]] has one stride per side, which a single number cannot express
            CHECK(sr_shape_equal(sr_plan_output(t.plan, t.out[0]).shape,
                                 i % 2 ? SR_SHAPE(N, C * 4) : SR_SHAPE(N, 2, 2, C)));
        else
            check_values(&t, &p, i % 2);
        deinit(&t);
    }
}

// Features come in the order of the map, with repeats, whatever their order in the trunk. Vectors
// are not pooled.
TEST(test_order) {
    Built t;
    CHECK_OK(build(
        &t,
        "[[end, [Identity]], [body, [AdaptiveAvgPool2d, [1]]], [body, [AdaptiveMaxPool2d, [1]]]]",
        true));
    start(&t);
    CHECK(sr_shape_equal(sr_plan_output(t.plan, t.out[0]).shape, SR_SHAPE(N, C * H * W)));
    const float *mean = sr_plan_output(t.plan, t.out[1]).data,
                *most = sr_plan_output(t.plan, t.out[2]).data;
    for (int i = 0; i < N * C; i++)
        CHECK(mean[i] < most[i]);
    deinit(&t);
}

TEST(test_refused) {
    static const char *const rows[][2] = {
        {"{body: x}", "map.yaml:1: MAP must be a list"},
        {"[[body]]", "map.yaml:1: MAP[0]: expected [layer, [operation, [arguments]]]"},
        {"[[body, Identity]]", "MAP[0]: expected [layer,"},
        {"[[5, [Identity]]]", "MAP[0]: expected [layer,"},
        {"[[body, [Identity]], [body, [AvgPool2D, [2]]]]",
         "MAP[1]: unknown pooling 'AvgPool2D'; did you mean 'AvgPool2d'?"},
        {"[[body, [AvgPool2d, 2]]]", "the arguments of AvgPool2d must be a list"},
        {"[[body, [AvgPool2d, []]]]", "AvgPool2d takes [kernel, stride, padding]"},
        {"[[body, [AvgPool2d, [0]]]]", "the kernel must be a whole number from 1"},
        {"[[body, [AvgPool2d, [2, x]]]]", "the stride must be"},
        {"[[body, [AvgPool2d, [2, 2, -1]]]]", "the padding must be a whole number from 0"},
        {"[[body, [AvgPool2d, [2, 2, 0, 1]]]]", "ceil_mode must be True or False"},
        {"[[body, [AvgPool2d, [2, 2, 0, True]]]]", "ceil_mode of AvgPool2d is not implemented"},
        {"[[body, [MaxPool2d, [2, 2, 0, 2]]]]", "a dilation is not implemented"},
        {"[[body, [AdaptiveAvgPool2d, [1, 1]]]]",
         "an adaptive pooling takes [size] or [[height, width]]"},
        {"[[body, [AdaptiveMaxPool2d, [[1, 2, 3]]]]]", "the output size must be"},
        {"[[bodi, [Identity]]]", "MAP: there is no layer 'bodi'; did you mean 'body'?"},
        {"[[body, [Identity]], [body, [AvgPool2d, [8]]]]",
         "MAP[1]: feature_pool_ops.1 (avg_pool2d)"},
        {"[[end, [MaxPool2d, [2]]]]", "MAP[0]: feature_pool_ops.0 (max_pool2d)"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        Built t;
        CHECK_FAILS(build(&t, rows[i][0], false), SR_ERR_CONFIG, rows[i][1]);
        deinit(&t);
    }
}

SR_TESTS(feature_extractor, unit(test_poolings), unit(test_order), unit(test_refused))
