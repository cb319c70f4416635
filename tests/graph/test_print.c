#include "graph/print.h"

#include "graph/builder.h"
#include "kernels/op_params.h"
#include "tests/check.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
} Fixture;

static Fixture begin(void) {
    Fixture f;
    SrBuilder *b;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_builder_new(f.graph, &b));
    SrConv2dParams conv = {.out_channels = 8, .kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
    SrNodeId y = sr_build_input(b, "x", SR_SHAPE(2, 8, 8, 4), SR_F32);
    sr_builder_push(b, "layer1");
    y = sr_build(b, "conv2d", "conv1", &conv, y);
    sr_builder_set_mode(b, SR_MODE_TRAIN);
    y = sr_build(b, "relu", "relu", NULL, y);
    sr_builder_pop(b);
    sr_build_alias(b, "res2", y);
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
    return f;
}

static void check_text(SrGraphFormat format, const char *const *parts, int n) {
    Fixture f = begin();
    SrText text = SR_TEXT_INIT;
    CHECK_OK(sr_graph_print(f.graph, format, &text));
    for (int i = 0; i < n; i++)
        if (!strstr(text.s, parts[i]))
            fail_msg("\"%s\" is not in\n%s", parts[i], text.s);
    sr_text_deinit(&text);
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

static void test_names(void **state) {
    (void)state;
    check_text(SR_GRAPH_NAMES, (const char *[]){"x\nlayer1.conv1\nlayer1.relu\n"}, 1);
}

static void test_table(void **state) {
    (void)state;
    static const char *const parts[] = {
        "layer1.conv1  conv2d                [2, 4, 4, 8]                 288  x  {",
        "stride", "layer1.relu   relu                  [2, 4, 4, 8]                   0  layer1.conv1",
        "[train]  <res2>\n", "3 nodes, 288 learned numbers\n"};
    check_text(SR_GRAPH_TABLE, parts, SR_COUNT(parts));
}

static void test_dot(void **state) {
    (void)state;
    static const char *const parts[] = {
        "digraph model {", "n0 [label=\"x\" + \"\\ninput [2, 8, 8, 4]\", style=filled];",
        "subgraph cluster_1 {\n    label=\"layer1\";", "\\n<res2>\"];\n  }\n", "n0 -> n1;", "n1 -> n2;\n}\n"};
    check_text(SR_GRAPH_DOT, parts, SR_COUNT(parts));
}

SR_TESTS(print, unit(test_names), unit(test_table), unit(test_dot))
