// Tests the graph as a data structure: adding nodes, refusals, slots, queries by name, copied
// parameters.
#include "graph/ir/graph.h"

#include "base/mem.h"
#include "graph/ir/layer_name.h"
#include "tests/check.h"
#include "tests/graph/toy.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrNodeId x;
} Fixture;

static Fixture begin(void) {
    Fixture f;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_graph_add_input(f.graph, "x", SR_SHAPE(4, 6), SR_F32, &f.x));
    return f;
}

static void end(Fixture f) {
    CHECK_OK(sr_graph_check(f.graph));
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

static SrNodeId add(Fixture f, const SrOp *op, const char *name, SrNodeId a, SrNodeId b) {
    SrNodeId in[] = {a, b}, id;
    SrNodeSpec spec = {.op = op, .name = name, .n_in = b < 0 ? 1 : 2, .in = in};
    CHECK_OK(sr_graph_add(f.graph, &spec, &id));
    return id;
}

TEST(test_append) {
    Fixture f = begin();
    SrNodeId y = add(f, &toy_tanh, "layer1.tanh", f.x, -1);
    SrNodeId z = add(f, &toy_mul, "layer1.mul", y, f.x);
    CHECK_INT(sr_graph_count(f.graph), 3);
    const SrNode *node = sr_graph_at(f.graph, z);
    CHECK(node->op == &toy_mul && node->in[0] == y && node->in[1] == f.x);
    CHECK(sr_shape_equal(node->shape, SR_SHAPE(4, 6)));
    CHECK_INT(node->mode, SR_MODE_BOTH);
    CHECK_STR(node->module, "");
    CHECK(sr_graph_params(f.graph) == f.params);
    end(f);
}

TEST(test_refusals) {
    Fixture f = begin();
    SrNodeId in[3] = {f.x, f.x, 9}, id;
    SrNodeSpec spec = {.op = &toy_mul, .name = "x", .n_in = 2, .in = in};
    CHECK_FAILS(sr_graph_add(f.graph, &spec, &id), SR_ERR_CONFIG, "two nodes x");
    CHECK_INT(id, SR_NO_NODE);
    spec.name = "m";
    spec.n_in = 1;
    CHECK_FAILS(sr_graph_add(f.graph, &spec, &id), SR_ERR_CONFIG, "takes 2 to 2 inputs, not 1");
    in[1] = 1;
    spec.n_in = 2;
    CHECK_FAILS(sr_graph_add(f.graph, &spec, &id), SR_ERR_CONFIG, "input 1 is node 1");
    in[1] = add(f, &toy_view, "view", f.x, -1);
    CHECK_FAILS(sr_graph_add(f.graph, &spec, &id), SR_ERR_CONFIG, "m (toy_mul): the shapes");
    SrNodeSpec eval = {.op = &toy_tanh, .name = "t", .n_in = 1, .in = in, .mode = SR_MODE_EVAL};
    CHECK_OK(sr_graph_add(f.graph, &eval, &in[0]));
    eval.name = "u";
    eval.mode = SR_MODE_TRAIN;
    CHECK_FAILS(sr_graph_add(f.graph, &eval, &id), SR_ERR_CONFIG, "u lives in a mode");
    CHECK_FAILS(sr_graph_add_input(f.graph, "y", SR_SHAPE(2, 0), SR_F32, &id), SR_ERR_CONFIG,
                "dimension 1 is 0");
    end(f);
}

TEST(test_slots_are_checked) {
    Fixture f = begin();
    SrSlot slots[SR_OP_MAX_SLOTS];
    SrShape shape = SR_SHAPE(4, 6);
    int w[3], n = toy_affine.slots(NULL, &shape, 1, slots);
    for (int i = 0; i < n; i++)
        CHECK_OK(sr_params_add(f.params, slots[i].name, &slots[i], &w[i]));
    SrNodeId id;
    SrNodeSpec spec = {.op = &toy_affine, .name = "a", .n_in = 1, .in = &f.x, .n_w = 2, .w = w};
    CHECK_FAILS(sr_graph_add(f.graph, &spec, &id), SR_ERR_CONFIG, "3 slots, 2 are bound");
    spec.n_w = 3;
    w[2] = 77;
    CHECK_FAILS(sr_graph_add(f.graph, &spec, &id), SR_ERR_CONFIG,
                "slot count is bound to entry 77");
    w[2] = 0;
    CHECK_FAILS(sr_graph_add(f.graph, &spec, &id), SR_ERR_CONFIG,
                "slot count must be F32 [1], but weight is");
    w[2] = 2;
    CHECK_OK(sr_graph_add(f.graph, &spec, &id));
    end(f);
}

TEST(test_query) {
    Fixture f = begin();
    SrNodeId a = add(f, &toy_tanh, "layer1.0.tanh", f.x, -1);
    SrNodeId b = add(f, &toy_tanh, "layer1.1.tanh", a, -1);
    SrNodeId c = add(f, &toy_tanh, "layer10.tanh", b, -1);
    SrNodeId d = add(f, &toy_tanh, "layer1.1.tanh@1", c, -1);
    CHECK_OK(sr_graph_alias(f.graph, "res2", b));
    CHECK_OK(sr_graph_alias(f.graph, "res2", b));
    CHECK_FAILS(sr_graph_alias(f.graph, "res2", c), SR_ERR_CONFIG, "announced twice");
    SrNodeId id;
    CHECK_OK(sr_layer_node(f.graph, "layer1.0.tanh", SR_NAMES_NODES, &id));
    CHECK_INT(id, a);
    CHECK_OK(sr_layer_node(f.graph, "res2", SR_NAMES_NODES, &id));
    CHECK_INT(id, b);
    // A module stands for the last node below it in this call; layer10 is another module.
    CHECK_OK(sr_layer_node(f.graph, "layer1", SR_NAMES_NODES, &id));
    CHECK_INT(id, b);
    CHECK_OK(sr_layer_node(f.graph, "layer1.0", SR_NAMES_NODES, &id));
    CHECK_INT(id, a);
    CHECK_OK(sr_layer_node(f.graph, "layer1@1", SR_NAMES_NODES, &id));
    CHECK_INT(id, d);
    CHECK_FAILS(sr_layer_node(f.graph, "res3", SR_NAMES_NODES, &id), SR_ERR_CONFIG,
                "no layer 'res3'; did you mean 'res2'");
    CHECK_FAILS(sr_layer_node(f.graph, "layer1.2.tanh", SR_NAMES_NODES, &id), SR_ERR_CONFIG,
                "did you mean 'layer1.");
    CHECK_INT(sr_graph_find(f.graph, "layer1"), SR_NO_NODE);
    CHECK_INT(sr_graph_alias_count(f.graph), 1);
    CHECK_STR(sr_graph_alias_at(f.graph, 0, &id), "res2");
    CHECK_INT(id, b);
    end(f);
}

// A module that is called twice has the first call under its path and the second under path_1, as
// in torch.fx.
TEST(test_query_of_a_call) {
    Fixture f = begin();
    SrNodeId id, a = add(f, &toy_tanh, "layer.drop.tanh", f.x, -1);
    SrNodeId b = add(f, &toy_tanh, "layer.drop.tanh_1", a, -1);
    CHECK_OK(sr_graph_add_block(f.graph, "layer.drop", "Drop", a, a + 1));
    CHECK_OK(sr_graph_add_block(f.graph, "layer.drop", "Drop", b, b + 1));
    CHECK_OK(sr_graph_add_block(f.graph, "layer", "Layer", a, b + 1));
    CHECK_OK(sr_layer_node(f.graph, "layer.drop", SR_NAMES_NODES, &id));
    CHECK_INT(id, a);
    CHECK_OK(sr_layer_node(f.graph, "layer.drop_1", SR_NAMES_NODES, &id));
    CHECK_INT(id, b);
    CHECK_OK(sr_layer_node(f.graph, "layer", SR_NAMES_NODES, &id));
    CHECK_INT(id, b);
    CHECK_FAILS(sr_layer_node(f.graph, "layer.drop_2", SR_NAMES_NODES, &id), SR_ERR_CONFIG,
                "did you mean");
    end(f);
}

// The graph copies the lists and strings of a params struct, so that the caller may change its
// own.
typedef struct {
    SrInts list;
    const char *text;
} Listed;
static const SrOption listed_options[] = {
    {"list", SR_OPT_INTS, offsetof(Listed, list), "[4]", .help = "numbers"},
    {"text", SR_OPT_STRING, offsetof(Listed, text), "abc", .help = "words"},
    SR_OPTION_END};

TEST(test_params_are_copied) {
    Fixture f = begin();
    SrOp op = toy_tanh;
    op.options = listed_options;
    op.params_bytes = sizeof(Listed);
    int numbers[] = {1, 2, 3};
    char text[] = "hello";
    Listed params = {{3, numbers}, text};
    SrNodeSpec spec = {.op = &op, .name = "a", .n_in = 1, .in = &f.x, .params = &params};
    SrNodeId a, b;
    CHECK_OK(sr_graph_add(f.graph, &spec, &a));
    numbers[2] = 99;
    text[0] = 'j';
    const Listed *kept = sr_graph_at(f.graph, a)->params;
    CHECK_INT(kept->list.v[2], 3);
    CHECK_STR(kept->text, "hello");
    spec.name = "b";
    spec.params = NULL; // NULL stands for the defaults of the table
    CHECK_OK(sr_graph_add(f.graph, &spec, &b));
    kept = sr_graph_at(f.graph, b)->params;
    CHECK_INT(kept->list.v[0], 4);
    CHECK_STR(kept->text, "abc");
    end(f);
}

SR_TESTS(graph, unit(test_query_of_a_call), unit(test_append), unit(test_refusals),
         unit(test_slots_are_checked), unit(test_query), unit(test_params_are_copied))
