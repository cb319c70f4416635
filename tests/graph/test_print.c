// Tests formats in which a graph is printed: names, table, Graphviz, torchvision's node list,
// code, and the comparison of training with evaluation mode.
#include "graph/ir/print.h"

#include "graph/ir/blocks.h"
#include "graph/ir/builder.h"
#include "graph/ir/layer_name.h"
#include "kernels/basic/permute.h"
#include "kernels/conv/conv2d.h"
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
    SrConv2dParams conv = {
        .out_channels = 8, .kernel_h = 3, .stride_h = 2, .padding_h = 1, .padding_w = -1};
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

TEST(test_names) {
    check_text(SR_GRAPH_NAMES, (const char *[]){"x\nlayer1.conv1\nlayer1.relu\n"}, 1);
}

TEST(test_table) {
    static const char *const parts[] = {
        "layer1.conv1  conv2d                [2, 8, 4, 4]                 288           18432      "
        "    1024  x  {",
        "stride", "layer1.relu   relu                  [2, 8, 4, 4]                   0",
        "[train]  <res2>\n", "3 nodes, 288 parameters, 18.4 kFLOP, 4.0 kB of activations\n"};
    check_text(SR_GRAPH_TABLE, parts, SR_COUNT(parts));
}

TEST(test_dot) {
    static const char *const parts[] = {
        "digraph model {",
        "n0 [label=\"x\" + \"\\ninput [2, 4, 8, 8]\", style=filled];",
        "subgraph cluster_1 {\n    label=\"layer1\";",
        "\\n<res2>\"];\n  }\n",
        "n0 -> n1;",
        "n1 -> n2;\n}\n"};
    check_text(SR_GRAPH_DOT, parts, SR_COUNT(parts));
}

TEST(test_list) {
    check_text(
        SR_GRAPH_LIST,
        (const char *[]){"x [2, 4, 8, 8]\nlayer1.conv1 [2, 8, 4, 4]\nlayer1.relu [2, 8, 4, 4]\n"},
        1);
}

TEST(test_code) {
    check_text(SR_GRAPH_CODE,
               (const char *[]){"layer1.relu = relu(layer1.conv1)  # [2, 8, 4, 4]\n"}, 1);
}

TEST(test_modes) {
    Fixture f = begin();
    SrText text = SR_TEXT_INIT;
    CHECK_OK(sr_graph_print_mode(f.graph, SR_GRAPH_NAMES, SR_MODE_EVAL, &text));
    CHECK_STR(text.s, "x\nlayer1.conv1\n");
    sr_text_deinit(&text);
    CHECK_OK(sr_graph_print_modes(f.graph, &text));
    CHECK_STR(text.s,
              "eval (2 nodes) is a subsequence of train (3 nodes), which adds 1 (layer1.relu)\n");
    sr_text_deinit(&text);
    SrNodeId in = 1, id;
    SrNodeSpec eval = {.name = "same", .n_in = 1, .in = &in, .mode = SR_MODE_EVAL};
    CHECK_OK(sr_op_find("identity", &eval.op));
    CHECK_OK(sr_graph_add(f.graph, &eval, &id));
    CHECK_OK(sr_graph_print_modes(f.graph, &text));
    CHECK_STR(text.s, "train and eval differ: 2 nodes are shared, 1 in train only (layer1.relu), 1 "
                      "in eval only (same)\n");
    sr_text_deinit(&text);
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

// The node list follows torchvision's trace: shapes are in PyTorch's order of dimensions, nodes
// that only the trace has are listed, and nodes that only sslrun has are not.
TEST(test_torchvision_list) {
    Fixture f;
    SrBuilder *b;
    SrText text = SR_TEXT_INIT;
    SrArena arena = SR_ARENA_INIT;
    SrStrings leaf;
    SrGraph *closed;
    SrNodeId id;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_builder_new(f.graph, &b));
    SrNodeId y = sr_build_input(b, "x", SR_SHAPE(2, 4, 5, 3), SR_F32);
    sr_build_remark(b, "getattr", NULL);
    sr_build_remark(b, "getitem", NULL);
    sr_build_remark(b, "weight", &SR_SHAPE(7, 3));
    sr_builder_push_block(b, "p", "Permute");
    y = sr_build(b, "permute", "permute", &(SrPermuteParams){.channels = SR_CHANNELS_LAST}, y);
    sr_build_remark(b, "inside", NULL);
    sr_builder_pop(b);
    sr_builder_set_aside(b, true);
    y = sr_build(b, "relu", "ours", NULL, y);
    sr_builder_set_aside(b, false);
    y = sr_build(b, "relu", "getitem", NULL, y);
    sr_build_remark(b, "end", NULL);
    CHECK_OK(sr_builder_status(b));
    CHECK_OK(sr_graph_print(f.graph, SR_GRAPH_LIST, &text));
    CHECK_STR(text.s, "x [2, 3, 4, 5]\ngetattr None\ngetitem None\nweight [7, 3]\n"
                      "p.permute [2, 4, 5, 3]\np.inside None\ngetitem_1 [2, 4, 5, 3]\nend None\n");
    CHECK_OK(sr_leaf_parse(f.graph, "default", &arena, &leaf));
    CHECK_OK(sr_graph_close(f.graph, &leaf, &closed));
    text.len = 0;
    CHECK_OK(sr_graph_print(closed, SR_GRAPH_LIST, &text));
    CHECK_STR(text.s, "x [2, 3, 4, 5]\ngetattr None\ngetitem None\nweight [7, 3]\n"
                      "p [2, 4, 5, 3]\ngetitem_1 [2, 4, 5, 3]\nend None\n");
    CHECK_FAILS(sr_layer_node(f.graph, "getitem", SR_NAMES_NODES, &id), SR_ERR_CONFIG,
                "not a tensor");
    CHECK_FAILS(sr_layer_node(f.graph, "weight", SR_NAMES_NODES, &id), SR_ERR_CONFIG,
                "name 'p.permute' instead");
    sr_graph_free(closed);
    sr_arena_deinit(&arena);
    sr_text_deinit(&text);
    sr_builder_free(b);
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

SR_TESTS(print, unit(test_names), unit(test_torchvision_list), unit(test_list), unit(test_code),
         unit(test_modes), unit(test_table), unit(test_dot))
