// Tests the graph builder: names and scopes, shared parameters, initial values, modes, errors
// that stick until the caller asks, and a failure of every allocation.
#include "graph/ir/builder.h"

#include "base/mem.h"
#include "kernels/conv/conv2d.h"
#include "tests/check.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
    SrBuilder *b;
    SrNodeId x;
} Fixture;

static Fixture begin(void) {
    Fixture f;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_builder_new(f.graph, &f.b));
    f.x = sr_build_input(f.b, "x", SR_SHAPE(2, 8, 8, 4), SR_F32);
    return f;
}

static void end(Fixture f) {
    CHECK_OK(sr_graph_check(f.graph));
    sr_builder_free(f.b);
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

static const SrConv2dParams conv = {
    .out_channels = 4, .kernel_h = 3, .padding_h = 1, .padding_w = -1};

// Adds torchvision's basic block in the style of its forward().
static SrNodeId block(SrBuilder *b, const char *name, SrNodeId x, bool downsample) {
    sr_builder_push(b, name);
    SrNodeId y = sr_build(b, "conv2d", "conv1", &conv, x);
    y = sr_build(b, "batch_norm", "bn1", NULL, y);
    y = sr_build(b, "relu", "relu", NULL, y);
    y = sr_build(b, "conv2d", "conv2", &conv, y);
    y = sr_build(b, "batch_norm", "bn2", NULL, y);
    if (downsample) {
        sr_builder_push(b, "downsample");
        x = sr_build(b, "conv2d", "0", &conv, x);
        x = sr_build(b, "batch_norm", "1", NULL, x);
        sr_builder_pop(b);
    }
    y = sr_build_n(b, "add", "add", NULL, (SrNodeId[]){y, x}, 2);
    y = sr_build(b, "relu", "relu", NULL, y);
    sr_builder_pop(b);
    return y;
}

static void check_names(SrGraph *g, SrNodeId first, const char *const *names, int n) {
    for (int i = 0; i < n; i++)
        CHECK_STR(sr_graph_at(g, first + i)->name, names[i]);
    CHECK_INT(sr_graph_count(g), first + n);
}

TEST(test_fx_names) {
    Fixture f = begin();
    sr_builder_push(f.b, "layer1");
    SrNodeId y = block(f.b, "0", f.x, true);
    block(f.b, "1", y, false);
    sr_builder_pop(f.b);
    CHECK_OK(sr_builder_status(f.b));
    static const char *const names[] = {
        "layer1.0.conv1",  "layer1.0.bn1",          "layer1.0.relu",         "layer1.0.conv2",
        "layer1.0.bn2",    "layer1.0.downsample.0", "layer1.0.downsample.1", "layer1.0.add",
        "layer1.0.relu_1", "layer1.1.conv1",        "layer1.1.bn1",          "layer1.1.relu",
        "layer1.1.conv2",  "layer1.1.bn2",          "layer1.1.add",          "layer1.1.relu_1"};
    check_names(f.graph, 1, names, SR_COUNT(names));
    CHECK_STR(sr_graph_at(f.graph, 1)->module, "layer1.0");
    CHECK_INT(sr_params_find(f.params, "layer1.0.downsample.1.running_mean") >= 0, 1);
    CHECK_INT(sr_params_find(f.params, "layer1.0.relu_1.weight"), -1);
    end(f);
}

TEST(test_third_use) {
    Fixture f = begin();
    SrNodeId y = f.x;
    for (int i = 0; i < 3; i++)
        y = sr_build(f.b, "relu", "relu", NULL, y);
    sr_builder_push(f.b, "a");
    sr_build(f.b, "relu", "relu", NULL, y); // automatic names are numbered per parent
    sr_builder_pop(f.b);
    static const char *const names[] = {"relu", "relu_1", "relu_2", "a.relu"};
    check_names(f.graph, 1, names, 4);
    end(f);
}

TEST(test_prefixes_and_passes) {
    Fixture f = begin();
    CHECK_STR(sr_builder_set_param_prefix(f.b, "trunk._feature_blocks."), "");
    block(f.b, "layer1", f.x, false);
    int n = sr_params_count(f.params);
    CHECK(sr_params_find(f.params, "trunk._feature_blocks.layer1.bn1.num_batches_tracked") >= 0);
    sr_build_alias(f.b, "res2", sr_graph_count(f.graph) - 1);
    sr_builder_set_pass(f.b, 1);
    SrNodeId small = sr_build_input(f.b, "x", SR_SHAPE(6, 4, 4, 4), SR_F32);
    SrNodeId y = block(f.b, "layer1", small, false);
    sr_build_alias(f.b, "res2", y);
    CHECK_OK(sr_builder_status(f.b));
    CHECK_STR(sr_graph_at(f.graph, small)->name, "x@1");
    CHECK_STR(sr_graph_at(f.graph, y)->name, "layer1.relu_1@1");
    CHECK_INT(sr_params_count(f.params), n); // the parameters are shared
    const SrNode *first = sr_graph_at(f.graph, sr_graph_find(f.graph, "layer1.conv1"));
    const SrNode *second = sr_graph_at(f.graph, sr_graph_find(f.graph, "layer1.conv1@1"));
    CHECK_INT(first->w[0], second->w[0]);
    CHECK_INT(sr_graph_find(f.graph, "res2@1"), y);
    sr_builder_set_pass(f.b, 0);
    CHECK_STR(sr_builder_set_param_prefix(f.b, "heads.0."), "trunk._feature_blocks.");
    sr_builder_set_node_prefix(f.b, "heads.0.");
    sr_build(f.b, "batch_norm", "bn", NULL, f.x);
    CHECK(sr_graph_find(f.graph, "heads.0.bn") != SR_NO_NODE);
    CHECK(sr_params_find(f.params, "heads.0.bn.weight") >= 0);
    end(f);
}

TEST(test_entries) {
    Fixture f = begin();
    sr_builder_set_param_prefix(f.b, "loss.");
    int queue = sr_build_state(f.b, "queue", SR_SHAPE(5, 3), SR_F32, (SrInit){SR_INIT_NORMAL, 1});
    CHECK_STR(sr_params_at(f.params, queue)->name, "loss.queue");
    CHECK(!sr_params_at(f.params, queue)->trainable);
    sr_builder_set_init(f.b, "weight", (SrInit){SR_INIT_CONSTANT, 0});
    sr_build(f.b, "batch_norm", "bn", NULL, f.x);
    sr_builder_set_frozen(f.b, true);
    sr_build(f.b, "batch_norm", "frozen", NULL, f.x);
    CHECK_OK(sr_builder_status(f.b));
    const SrParam *w = sr_params_at(f.params, sr_params_find(f.params, "loss.bn.weight"));
    CHECK(w->trainable && w->init.value == 0);
    w = sr_params_at(f.params, sr_params_find(f.params, "loss.frozen.weight"));
    CHECK(!w->trainable && w->init.value == 1); // the init applied to one node only
    end(f);
}

TEST(test_modes) {
    Fixture f = begin();
    sr_builder_set_mode(f.b, SR_MODE_TRAIN);
    SrNodeId y = sr_build(f.b, "relu", "relu", NULL, f.x);
    CHECK_INT(sr_graph_at(f.graph, y)->mode, SR_MODE_TRAIN);
    sr_builder_set_mode(f.b, SR_MODE_BOTH);
    CHECK_INT(sr_build(f.b, "relu", "relu", NULL, y), SR_NO_NODE);
    CHECK_FAILS(sr_builder_status(f.b), SR_ERR_CONFIG, "relu_1 lives in a mode");
    end(f);
}

TEST(test_errors_stick) {
    Fixture f = begin();
    sr_builder_push(f.b, "layer1");
    CHECK_INT(sr_build(f.b, "rellu", "relu", NULL, f.x), SR_NO_NODE);
    int count = sr_graph_count(f.graph);
    SrNodeId y = sr_build(f.b, "relu", "relu", NULL, f.x);
    CHECK_INT(y, SR_NO_NODE);
    CHECK_INT(sr_graph_count(f.graph), count);
    CHECK_INT(sr_build_shape(f.b, y).rank, 4);
    sr_builder_pop(f.b);
    sr_fail(SR_ERR_IO, "something else");
    CHECK_FAILS(sr_builder_status(f.b), SR_ERR_CONFIG,
                "unknown operation 'rellu'; did you mean 'relu'?");
    CHECK_INT(sr_builder_fail(f.b, SR_ERR_IO, "later"), SR_ERR_CONFIG);
    end(f);

    f = begin();
    sr_builder_pop(f.b);
    CHECK_FAILS(sr_builder_status(f.b), SR_ERR_CONFIG, "never opened");
    end(f);

    f = begin();
    sr_builder_push(f.b, "a");
    sr_builder_fail(f.b, SR_ERR_CONFIG, "crops must be %d", 2);
    CHECK_FAILS(sr_builder_status(f.b), SR_ERR_CONFIG, "a: crops must be 2");
    end(f);

    f = begin();
    sr_builder_set_init(f.b, "wait", (SrInit){SR_INIT_CONSTANT, 0});
    CHECK_INT(sr_build(f.b, "batch_norm", "bn", NULL, f.x), SR_NO_NODE);
    CHECK_FAILS(sr_builder_status(f.b), SR_ERR_CONFIG, "no slot 'wait'");
    end(f);
}

TEST(test_bound) {
    Fixture f = begin();
    SrNodeId a = sr_build(f.b, "batch_norm", "bn", NULL, f.x);
    SrNode node = *sr_graph_at(f.graph, a);
    SrNodeId b = sr_build_bound(f.b, "batch_norm", "other", NULL, &a, 1, node.w, node.n_w);
    CHECK_OK(sr_builder_status(f.b));
    CHECK_INT(sr_graph_at(f.graph, b)->w[1], node.w[1]);
    CHECK_INT(sr_build_bound(f.b, "batch_norm", "third", NULL, &a, 1, node.w, 1), SR_NO_NODE);
    CHECK_FAILS(sr_builder_status(f.b), SR_ERR_CONFIG, "1 are bound");
    end(f);
}

// Each allocation fails once: the builder returns an error and frees everything.
TEST(test_out_of_memory) {
    int64_t live = sr_mem_live();
    bool done = false;
    for (int n = 1; !done && n < 1000; n++) {
        Fixture f = {0};
        sr_mem_fail_at(n);
        SrStatus status = sr_params_new(&f.params);
        status = status == SR_OK ? sr_graph_new(f.params, &f.graph) : status;
        status = status == SR_OK ? sr_builder_new(f.graph, &f.b) : status;
        if (status == SR_OK) {
            SrNodeId y = sr_build_input(f.b, "x", SR_SHAPE(2, 8, 8, 4), SR_F32);
            for (int i = 0; i < 6; i++)
                y = block(f.b, (const char *[]){"0", "1", "2", "3", "4", "5"}[i], y, true);
            sr_build_alias(f.b, "res2", y);
            sr_builder_set_node_prefix(f.b, "heads.");
            status = sr_builder_status(f.b);
        }
        sr_mem_fail_at(0);
        CHECK(status == SR_OK || status == SR_ERR_MEMORY);
        done = status == SR_OK;
        sr_builder_free(f.b);
        sr_graph_free(f.graph);
        sr_params_free(f.params);
        CHECK_INT(sr_mem_live(), live);
    }
    CHECK(done);
}

// Names with numbers, and the remark of a module's own parameter, which has the module's path.
TEST(test_numbered_names) {
    Fixture f = begin();
    SrNodeId found;
    sr_builder_push(f.b, "features");
    sr_builder_push_numbered(f.b, "Block", "%d.blocks.%d", 1, 12);
    sr_build_parameter_remark(f.b, "layer_scale", SR_SHAPE(4, 1, 1));
    SrNodeId y = sr_build(f.b, "relu", "relu", NULL, f.x);
    sr_builder_pop(f.b);
    sr_builder_pop(f.b);
    sr_build_alias_numbered(f.b, y, "%s%d", "res", 2);
    CHECK_STR(sr_graph_at(f.graph, y)->name, "features.1.blocks.12.relu");
    CHECK_STR(sr_graph_remark_at(f.graph, 0)->name,
              "features.1.blocks.12.features_1_blocks_12_layer_scale");
    CHECK_STR(sr_graph_alias_at(f.graph, 0, &found), "res2");
    CHECK_INT(found, y);
    CHECK_STR(sr_graph_block_at(f.graph, 0)->path, "features.1.blocks.12");
    CHECK_STR(sr_graph_block_at(f.graph, 0)->class_name, "Block");
    CHECK_OK(sr_builder_status(f.b));
    end(f);
}

SR_TESTS(builder, unit(test_fx_names), unit(test_numbered_names), unit(test_third_use),
         unit(test_prefixes_and_passes), unit(test_entries), unit(test_modes),
         unit(test_errors_stick), unit(test_bound), unit(test_out_of_memory))
