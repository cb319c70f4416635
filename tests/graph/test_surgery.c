// Tests graph surgery, closed blocks, taps and JSON on a small network of registered ops: values
// before and after, names, errors, and a failure of every allocation.
#include "graph/edit/surgery.h"

#include "base/mem.h"
#include "graph/edit/extract.h"
#include "graph/edit/fold_norm.h"
#include "graph/ir/blocks.h"
#include "graph/ir/builder.h"
#include "graph/ir/cost.h"
#include "graph/ir/graph_json.h"
#include "graph/ir/print.h"
#include "graph/plan/plan.h"
#include "graph/plan/plan_run.h"
#include "kernels/basic/dropout.h"
#include "kernels/basic/scale.h"
#include "kernels/conv/conv2d.h"
#include "tests/check.h"
#include "tests/graph/toy.h"

typedef struct {
    SrParams *params;
    SrGraph *graph;
} Fixture;

static SrNodeId block(SrBuilder *b, const char *scope, SrNodeId x) {
    sr_builder_push_block(b, scope, "Block");
    SrConv2dParams conv = {.out_channels = 4, .kernel_h = 3, .padding_h = 1, .padding_w = -1};
    SrNodeId y = sr_build(b, "conv2d", "conv", &conv, x);
    y = sr_build(b, "batch_norm", "bn", NULL, y);
    SrNodeId sum[] = {y, x};
    y = sr_build(b, "relu", "relu", NULL, sr_build_n(b, "add", "add", NULL, sum, 2));
    sr_builder_pop(b);
    return y;
}

// Builds x -> layer.0 -> layer.1 -> scale -> identity -> half, with a dropout that only training
// has, and a tail.
static Fixture begin(void) {
    Fixture f;
    SrBuilder *b;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_builder_new(f.graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(2, 5, 6, 4), SR_F32);
    sr_builder_push_block(b, "layer", "Sequential");
    x = block(b, "1", block(b, "0", x));
    sr_builder_pop(b);
    sr_build_alias(b, "res2", x);
    x = sr_build(b, "scale", "scale", &(SrScaleParams){.factor = 4}, x);
    x = sr_build(b, "identity", "same", NULL, x);
    x = sr_build(b, "scale", "half", &(SrScaleParams){.factor = 0.5}, x);
    sr_builder_set_mode(b, SR_MODE_TRAIN);
    sr_build(b, "dropout", "aux.drop", &(SrDropoutParams){0.25}, x);
    sr_builder_set_mode(b, SR_MODE_BOTH);
    sr_builder_push(b, "aux");
    sr_build(b, "relu", "relu", NULL, x);
    sr_builder_pop(b);
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
    CHECK_OK(sr_graph_set_title(f.graph, "tiny"));
    return f;
}

static void end(Fixture f) {
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

static SrNodeId find(const SrGraph *graph, const char *name) {
    SrNodeId id = sr_graph_find(graph, name);
    if (id == SR_NO_NODE)
        fail_msg("there is no node %s", name);
    return id;
}

// Computes the value of a node in evaluation mode. x is filled from a fixed key.
static void value_of(const SrGraph *graph, const char *name, float *out, int64_t n) {
    SrPlan *plan;
    SrNodeId id = find(graph, name), x = find(graph, "x");
    SrPlanOptions options = {.mode = SR_MODE_EVAL, .outputs = &id, .n_outputs = 1};
    CHECK_OK(sr_plan_compile(graph, &options, &plan));
    sr_params_init(sr_graph_params(graph), 7);
    SrTensor in = sr_plan_input(plan, x);
    toy_fill(in.data, sr_shape_count(in.shape), 11);
    sr_plan_forward(plan, 0);
    SrTensor y = sr_plan_output(plan, id);
    CHECK_INT(sr_shape_count(y.shape), n);
    memcpy(out, y.data, (size_t)n * sizeof(float));
    sr_plan_free(plan);
}

enum { N = 2 * 5 * 6 * 4 };

static void check_values(const SrGraph *a, const char *name, const SrGraph *b, const char *other,
                         double factor, double tolerance) {
    float x[N], y[N];
    value_of(a, name, x, N);
    value_of(b, other, y, N);
    for (int i = 0; i < N; i++)
        CHECK_NEAR(factor * (double)x[i], y[i], tolerance);
}

static char *text_of(const SrGraph *graph, SrGraphFormat format) {
    SrText text = SR_TEXT_INIT;
    CHECK_OK(sr_graph_print(graph, format, &text));
    return text.s;
}

static void check_same_text(const SrGraph *a, const SrGraph *b, SrGraphFormat format) {
    char *x = text_of(a, format), *y = text_of(b, format);
    CHECK_STR(x, y);
    sr_free(x);
    sr_free(y);
}

TEST(test_tags) {
    Fixture f = begin();
    SrGraph *g;
    CHECK_INT(sr_graph_tag(f.graph, "layer.*.bn", 2), 2);
    CHECK_INT(sr_graph_tag(f.graph, "layer.1.*", 1), 4);
    CHECK_INT(sr_graph_at(f.graph, find(f.graph, "layer.1.bn"))->tags, 3);
    CHECK_OK(sr_graph_erase(f.graph, find(f.graph, "same"), &g));
    CHECK_INT(sr_graph_at(g, find(g, "layer.1.bn"))->tags, 3); // tags survive
    CHECK_INT(sr_graph_at(g, find(g, "scale"))->tags, 0);
    sr_graph_free(g);
    end(f);
}

TEST(test_find_chain) {
    Fixture f = begin();
    SrChain c;
    CHECK_OK(sr_graph_find_chain(f.graph, "conv2d -> batch_norm->add", 0, &c));
    CHECK_INT(c.n, 3);
    CHECK_STR(sr_graph_at(f.graph, c.at[2])->name, "layer.0.add");
    CHECK_OK(sr_graph_find_chain(f.graph, "conv2d -> *", c.at[0] + 1, &c));
    CHECK_STR(sr_graph_at(f.graph, c.at[1])->name, "layer.1.bn");
    CHECK_OK(sr_graph_find_chain(f.graph, "relu -> conv2d", 0, &c)); // its relu has two readers
    CHECK_INT(c.n, 0);
    CHECK_FAILS(sr_graph_find_chain(f.graph, "relu -> ", 0, &c), SR_ERR_CONFIG,
                "pattern 'relu -> '");
    CHECK_FAILS(sr_graph_find_chain(f.graph, "", 0, &c), SR_ERR_CONFIG, "expected up to");
    end(f);
}

TEST(test_replace) {
    Fixture f = begin();
    SrGraph *g, *h;
    SrScaleParams ten = {.factor = 10};
    CHECK_OK(sr_graph_replace(f.graph, find(f.graph, "same"),
                              &(SrGraft){.op = "scale", .params = &ten}, &g));
    check_values(f.graph, "half", g, "half", 10, 1e-5);
    CHECK_STR(sr_graph_at(g, find(g, "same"))->op->name, "scale");
    // An op with parameters gets entries of its own.
    CHECK_OK(sr_graph_replace(g, find(g, "same"), &(SrGraft){.op = "batch_norm"}, &h));
    CHECK(sr_params_find(f.params, "same.running_var") >= 0);
    CHECK_INT(sr_graph_count(h), sr_graph_count(f.graph));
    SrGraph *bad;
    CHECK_FAILS(sr_graph_replace(g, 0, &(SrGraft){.op = "relu"}, &bad), SR_ERR_CONFIG,
                "neither replaced nor erased");
    CHECK_FAILS(sr_graph_replace(g, 99, &(SrGraft){.op = "relu"}, &bad), SR_ERR_CONFIG, "node 99");
    CHECK_FAILS(sr_graph_replace(g, 1, &(SrGraft){.op = "rellu"}, &bad), SR_ERR_CONFIG,
                "unknown operation 'rellu'");
    // The sum that follows does not accept a pooled branch.
    CHECK_FAILS(sr_graph_replace(g, 1, &(SrGraft){.op = "adaptive_avg_pool2d"}, &bad),
                SR_ERR_CONFIG, "layer.0.add");
    CHECK(bad == NULL);
    sr_graph_free(g);
    sr_graph_free(h);
    end(f);
}

// A graph over a table of its own: an op takes the old names with another shape, and the values
// that fit are copied.
TEST(test_other_table) {
    Fixture f = begin();
    SrParams *table, *copied;
    SrGraph *g, *h;
    SrConv2dParams wide = {.out_channels = 4, .kernel_h = 1, .padding_w = -1};
    SrNodeId id = find(f.graph, "layer.0.conv");
    int entries = sr_params_count(f.params);
    CHECK_FAILS(sr_graph_replace(f.graph, id, &(SrGraft){.op = "conv2d", .params = &wide}, &g),
                SR_ERR_CONFIG, "layer.0.conv.weight is F32 [4, 4, 3, 3] already");
    CHECK_OK(sr_params_allocate(f.params));
    sr_params_init(f.params, 7);
    CHECK_OK(sr_params_new(&table));
    CHECK_OK(sr_graph_replace(f.graph, id,
                              &(SrGraft){.op = "conv2d", .params = &wide, .table = table}, &g));
    CHECK_INT(sr_params_count(table), entries);
    CHECK_INT(sr_params_count(f.params), entries);
    const SrParam *p = sr_params_at(table, sr_params_find(table, "layer.0.conv.weight"));
    CHECK(p->shape.d[2] == 1 && !p->value);
    CHECK_FAILS(sr_params_copy(table, f.params), SR_ERR_CONFIG, "layer.0.conv.weight differs");
    CHECK_OK(sr_params_copy_fitting(table, f.params));
    const char *kept = "layer.1.conv.weight";
    CHECK(memcmp(sr_params_at(table, sr_params_find(table, kept))->value,
                 sr_params_at(f.params, sr_params_find(f.params, kept))->value,
                 4 * 4 * 9 * sizeof(float)) == 0);
    CHECK_OK(sr_params_new(&copied));
    CHECK_OK(sr_graph_copy(f.graph, copied, &h));
    check_same_text(f.graph, h, SR_GRAPH_JSON);
    CHECK_INT(sr_params_count(copied), entries);
    sr_graph_free(g);
    sr_graph_free(h);
    sr_params_free(table);
    sr_params_free(copied);
    end(f);
}

TEST(test_append_and_erase) {
    Fixture f = begin();
    SrGraph *g, *h;
    SrScaleParams three = {.factor = 3};
    SrNodeId id = find(f.graph, "layer.1.relu");
    CHECK_OK(sr_graph_append(f.graph, id,
                             &(SrGraft){.op = "scale", .params = &three, .leaf = "times"}, &g));
    check_values(f.graph, "half", g, "half", 3, 1e-5);
    CHECK_STR(sr_graph_at(g, id + 1)->name, "layer.1.times");
    CHECK_INT(find(g, "res2"), id + 1); // other nodes read the stage
    SrNodeId last;
    CHECK_OK(sr_layer_node(g, "layer", SR_NAMES_NODES, &last));
    CHECK_INT(last, id + 1);
    CHECK_OK(sr_graph_erase(g, id + 1, &h));
    check_same_text(f.graph, h, SR_GRAPH_JSON);
    check_values(f.graph, "half", h, "half", 1, 0);
    SrGraph *bad;
    CHECK_FAILS(sr_graph_erase(f.graph, 0, &bad), SR_ERR_CONFIG, "x has no input");
    CHECK_FAILS(sr_graph_append(f.graph, id, &(SrGraft){.op = "relu", .leaf = "relu"}, &bad),
                SR_ERR_CONFIG, "two nodes layer.1.relu");
    sr_graph_free(g);
    sr_graph_free(h);
    end(f);
}

TEST(test_invert) {
    Fixture f = begin();
    SrGraph *g;
    CHECK_OK(sr_graph_invert(f.graph, find(f.graph, "scale"), find(f.graph, "half"), &g));
    char *text = text_of(g, SR_GRAPH_CODE);
    CHECK_STR(text, "half = input()  # [2, 4, 5, 6]\n"
                    "same = scale(half)  {factor: 2.0}  # [2, 4, 5, 6]\n"
                    "scale = identity(same)  # [2, 4, 5, 6]\n"
                    "layer.1.relu = scale(scale)  {factor: 0.25}  # [2, 4, 5, 6]\n");
    sr_free(text);
    sr_graph_free(g);
    CHECK_FAILS(sr_graph_invert(f.graph, find(f.graph, "layer.1.relu"), find(f.graph, "half"), &g),
                SR_ERR_CONFIG, "layer.1.relu (relu) has no inverse");
    CHECK_FAILS(sr_graph_invert(f.graph, 5, 3, &g), SR_ERR_CONFIG, "do not form a chain");
    end(f);
}

TEST(test_close_and_inline) {
    Fixture f = begin();
    SrArena arena = SR_ARENA_INIT;
    SrStrings leaf;
    SrGraph *closed, *open, *one, *none;
    CHECK_OK(sr_leaf_parse(f.graph, "Block,default", &arena, &leaf));
    CHECK_OK(sr_graph_close(f.graph, &leaf, &closed));
    char *text = text_of(closed, SR_GRAPH_NAMES);
    CHECK_STR(text, "x\nlayer.0\nlayer.1\nscale\nsame\nhalf\naux.drop\naux.relu\n");
    sr_free(text);
    CHECK_STR(sr_graph_at(closed, find(closed, "res2"))->name, "layer.1");
    CHECK_INT(sr_graph_numbers(closed, 1), 4 * 4 * 9 + 8);
    CHECK_OK(sr_graph_inline(closed, find(closed, "layer.1"),
                             &one)); // the other block stays closed in the copy
    CHECK_INT(sr_graph_count(one), sr_graph_count(closed) + 3);
    CHECK_OK(sr_graph_inline(one, SR_NO_NODE, &open));
    check_same_text(f.graph, open, SR_GRAPH_TABLE);
    CHECK_INT(sr_graph_block_count(open), 3);
    check_values(f.graph, "half", open, "half", 1, 0);
    SrPlan *plan;
    SrText out = SR_TEXT_INIT;
    SrNodeId last = find(closed, "half");
    CHECK_FAILS(
        sr_plan_compile(closed,
                        &(SrPlanOptions){.mode = SR_MODE_EVAL, .outputs = &last, .n_outputs = 1},
                        &plan),
        SR_ERR_CONFIG, "closed block");
    CHECK_FAILS(sr_graph_print(closed, SR_GRAPH_JSON, &out), SR_ERR_CONFIG, "closed block");
    sr_text_deinit(&out);
    CHECK_FAILS(sr_graph_inline(f.graph, 1, &none), SR_ERR_CONFIG, "not a closed block");
    CHECK_FAILS(sr_leaf_parse(f.graph, "Blok", &arena, &leaf), SR_ERR_CONFIG,
                "did you mean 'Block'?");
    CHECK_OK(sr_leaf_parse(f.graph, "through", &arena, &leaf));
    CHECK_INT(leaf.n, 0);
    sr_graph_free(closed);
    sr_graph_free(one);
    sr_graph_free(open);
    sr_arena_deinit(&arena);
    end(f);
}

// A module that is called twice gives two nodes with numbered names.
TEST(test_module_called_twice) {
    Fixture f;
    SrBuilder *b;
    SrArena arena = SR_ARENA_INIT;
    SrStrings leaf;
    SrGraph *closed;
    CHECK_OK(sr_params_new(&f.params));
    CHECK_OK(sr_graph_new(f.params, &f.graph));
    CHECK_OK(sr_builder_new(f.graph, &b));
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(1, 4, 4, 4), SR_F32);
    block(b, "m", block(b, "m", x));
    CHECK_OK(sr_builder_status(b));
    sr_builder_free(b);
    CHECK_OK(sr_leaf_parse(f.graph, "Block", &arena, &leaf));
    CHECK_OK(sr_graph_close(f.graph, &leaf, &closed));
    char *text = text_of(closed, SR_GRAPH_NAMES);
    CHECK_STR(text, "x\nm\nm_1\n");
    sr_free(text);
    sr_graph_free(closed);
    sr_arena_deinit(&arena);
    end(f);
}

TEST(test_json_round_trip) {
    Fixture f = begin();
    SrParams *params;
    SrGraph *back;
    sr_graph_tag(f.graph, "layer.0.*", 6);
    sr_params_set_trainable(f.params, "layer.1.conv.weight", false);
    char *text = text_of(f.graph, SR_GRAPH_JSON);
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_graph_parse(text, strlen(text), "tiny.json", params, &back));
    check_same_text(f.graph, back, SR_GRAPH_JSON);
    check_same_text(f.graph, back, SR_GRAPH_TABLE);
    CHECK(!sr_params_at(params, sr_params_find(params, "layer.1.conv.weight"))->trainable);
    check_values(f.graph, "half", back, "half", 1, 0); // same names, so the same initial values
    sr_free(text);
    sr_graph_free(back);
    sr_params_free(params);
    end(f);
}

TEST(test_json_errors) {
    static const char *const rows[][2] = {
        {"{", "JSON"},
        {"[]", "expected a graph"},
        {"{\"nodes\": 3}", "\"nodes\" must be a list"},
        {"{\"nodes\": [{\"name\": \"x\"}]}", "a node has no key \"op\""},
        {"{\"nodes\": [{\"name\": \"x\", \"op\": \"input\", \"shape\": [1, 0], \"dtype\": "
         "\"F32\"}]}",
         "dimension 1"},
        {"{\"nodes\": [{\"name\": \"x\", \"op\": \"input\", \"shape\": [1], \"dtype\": \"F31\"}]}",
         "unknown type F31"},
        {"{\"nodes\": [{\"name\": \"x\", \"op\": \"input\", \"shape\": [9999999, 9999999], "
         "\"dtype\": \"F32\"}]}",
         "too large"},
        {"{\"nodes\": [{\"name\": \"y\", \"op\": \"rellu\"}]}", "unknown operation 'rellu'"},
        {"{\"nodes\": [{\"name\": \"y\", \"op\": \"relu\", \"in\": [\"x\"]}]}", "reads 'x'"},
        {"{\"nodes\": [{\"name\": \"y\", \"op\": \"relu\", \"in\": []}]}",
         "takes 1 to 1 inputs, not 0"},
        {"{\"nodes\": [{\"name\": \"x\", \"op\": \"input\", \"shape\": [1, 2], \"dtype\": "
         "\"F32\"}, {\"name\": \"y\", "
         "\"op\": \"batch_norm\", \"in\": [\"x\"]}]}",
         "5 parameters, but 0 names are given"},
        {"{\"nodes\": [], \"stages\": [[\"a\", \"b\"]]}", "does not exist"},
        {"{\"nodes\": [], \"blocks\": [[\"a\", \"b\", 0, 1]]}", "expected a block as"},
    };
    for (int i = 0; i < SR_COUNT(rows); i++) {
        SrParams *params;
        SrGraph *g;
        CHECK_OK(sr_params_new(&params));
        CHECK_FAILS(sr_graph_parse(rows[i][0], strlen(rows[i][0]), "bad.json", params, &g),
                    SR_ERR_CONFIG, rows[i][1]);
        CHECK(g == NULL);
        sr_params_free(params);
    }
}

static void parse_taps(const char *text, SrArena *arena, SrTaps *out) {
    CHECK_OK(sr_taps_parse(text, arena, out));
}

TEST(test_taps) {
    Fixture f = begin();
    SrArena arena = SR_ARENA_INIT;
    SrTaps taps;
    parse_taps("layer, res2:stage ,layer.0", &arena, &taps);
    CHECK_OK(sr_taps_find(f.graph, SR_MODE_EVAL, SR_NAMES_NODES, &taps));
    CHECK_INT(taps.v[0].node, taps.v[1].node); // two queries of one node give two outputs
    CHECK_STR(taps.v[1].name, "stage");
    CHECK_STR(sr_graph_at(f.graph, taps.v[2].node)->name, "layer.0.relu");
    CHECK_FAILS(sr_taps_parse("", &arena, &taps), SR_ERR_CONFIG, "the list of layers is empty");
    CHECK_FAILS(sr_taps_parse("a,", &arena, &taps), SR_ERR_CONFIG, "has no name");
    CHECK_FAILS(sr_taps_parse("a:", &arena, &taps), SR_ERR_CONFIG, "has no name");
    CHECK_FAILS(sr_taps_parse("a:b:c", &arena, &taps), SR_ERR_CONFIG, "has no name");
    CHECK_FAILS(sr_taps_parse("a:b,b", &arena, &taps), SR_ERR_CONFIG, "two outputs are called 'b'");
    parse_taps("aux.drop", &arena, &taps);
    CHECK_OK(sr_taps_find(f.graph, SR_MODE_TRAIN, SR_NAMES_NODES, &taps));
    CHECK_FAILS(sr_taps_find(f.graph, SR_MODE_EVAL, SR_NAMES_NODES, &taps), SR_ERR_CONFIG,
                "'aux.drop' exists only in train mode, but eval mode is used; `sslrun graph tiny "
                "--mode eval`");
    parse_taps("aux", &arena, &taps); // the last node below it that exists in the mode
    CHECK_OK(sr_taps_find(f.graph, SR_MODE_EVAL, SR_NAMES_NODES, &taps));
    CHECK_STR(sr_graph_at(f.graph, taps.v[0].node)->name, "aux.relu");
    parse_taps("lyer.0", &arena, &taps);
    CHECK_FAILS(sr_taps_find(f.graph, SR_MODE_EVAL, SR_NAMES_NODES, &taps), SR_ERR_CONFIG,
                "`sslrun graph tiny` lists them all");
    sr_arena_deinit(&arena);
    end(f);
}

TEST(test_extraction_per_mode) {
    Fixture f = begin();
    SrArena arena = SR_ARENA_INIT;
    SrTaps train, eval;
    SrExtraction e;
    parse_taps("layer.0:early,aux.drop", &arena, &train);
    parse_taps("layer.1.add", &arena, &eval);
    CHECK_OK(sr_graph_extract(f.graph, &train, &eval, &e));
    CHECK_INT(sr_graph_at(e.graph, find(e.graph, "layer.1.add"))->mode, SR_MODE_BOTH);
    CHECK_INT(sr_graph_at(e.graph, find(e.graph, "half"))->mode, SR_MODE_TRAIN);
    CHECK_INT(sr_graph_find(e.graph, "aux.relu"), SR_NO_NODE);
    CHECK_STR(e.train.v[0].name, "early");
    CHECK_INT(e.train.v[1].node, find(e.graph, "aux.drop"));
    CHECK_INT(e.before.nodes, e.after.nodes + 1);
    sr_extraction_free(&e);
    parse_taps("layer.0", &arena, &eval);
    CHECK_OK(sr_graph_extract(f.graph, NULL, &eval, &e));
    CHECK_INT(sr_graph_count(e.graph), 5);
    CHECK_INT(sr_params_count(e.params), 6); // a convolution and a norm
    CHECK_INT(sr_graph_at(e.graph, 1)->mode, SR_MODE_EVAL);
    CHECK_INT(e.before.numbers, 2 * e.after.numbers);
    sr_extraction_free(&e);
    CHECK_FAILS(sr_graph_extract(f.graph, NULL, NULL, &e), SR_ERR_CONFIG, "without layers");
    sr_arena_deinit(&arena);
    end(f);
}

TEST(test_fold) {
    Fixture f = begin();
    SrArena arena = SR_ARENA_INIT;
    SrTaps taps;
    SrExtraction e, folded;
    int n;
    parse_taps("half,layer.1.conv", &arena, &taps);
    CHECK_OK(sr_graph_extract(f.graph, NULL, &taps, &e));
    CHECK_FAILS(sr_graph_fold_norm(&e, &folded, &n), SR_ERR_CONFIG, "once parameters have values");
    CHECK_OK(sr_params_allocate(e.params));
    sr_params_init(e.params, 7);
    for (int i = 0; i < sr_params_count(e.params); i++)
        if (sr_params_at(e.params, i)->shape.rank == 1 &&
            sr_params_at(e.params, i)->dtype == SR_F32)
            for (int k = 0; k < 4; k++)
                ((float *)sr_params_at(e.params, i)->value)[k] =
                    0.3f + 0.2f * (float)((3 * i + k) % 5);
    CHECK_OK(sr_graph_fold_norm(&e, &folded, &n));
    CHECK_INT(n, 1); // the other convolution is tapped, so it stays
    CHECK_INT(sr_graph_count(folded.graph), sr_graph_count(e.graph) - 1);
    CHECK_STR(sr_graph_at(folded.graph, find(folded.graph, "layer.0.bn"))->op->name, "conv2d");
    CHECK(sr_params_find(folded.params, "layer.0.conv.bias") >= 0);
    CHECK_INT(sr_params_find(folded.params, "layer.0.bn.weight"), -1);
    check_values(e.graph, "half", folded.graph, "half", 1, 2e-5);
    check_values(e.graph, "layer.1.conv", folded.graph, "layer.1.conv", 1, 2e-5);
    sr_extraction_free(&e);
    sr_extraction_free(&folded);
    sr_arena_deinit(&arena);
    end(f);
}

// A convolution absorbs a following relu and sum, but only in plans without gradients.
TEST(test_fused_convolution) {
    Fixture f = begin();
    SrGraph *g;
    SrPlan *plan;
    SrConv2dParams conv = {
        .out_channels = 4, .kernel_h = 3, .padding_h = 1, .padding_w = -1, .relu = true};
    SrNodeId id = find(f.graph, "layer.0.conv"), last;
    CHECK_OK(sr_graph_replace(f.graph, id, &(SrGraft){.op = "conv2d", .params = &conv}, &g));
    last = find(g, "half");
    SrPlanOptions options = {.mode = SR_MODE_TRAIN, .outputs = &last, .n_outputs = 1};
    CHECK_OK(sr_plan_compile(g, &options, &plan));
    sr_plan_free(plan);
    options.losses = &last;
    options.n_losses = 1;
    CHECK_FAILS(sr_plan_compile(g, &options, &plan), SR_ERR_CONFIG,
                "layer.0.conv (conv2d with relu) has no gradient");
    // A convolution without a relu in its parameters has a gradient, as in the graph before the
    // change.
    CHECK_OK(sr_plan_compile(f.graph, &options, &plan));
    sr_plan_free(plan);
    sr_graph_free(g);
    end(f);
}

// Runs all passes. Each of their allocations fails once: an error, no leak, and the graph as
// before.
static SrStatus all_passes(const SrGraph *graph) {
    SrArena arena = SR_ARENA_INIT;
    SrGraph *closed = NULL, *open = NULL, *back = NULL;
    SrParams *params = NULL;
    SrExtraction e = {.params = NULL};
    SrText text = SR_TEXT_INIT;
    SrStrings leaf;
    SrTaps taps;
    SrStatus status;
    SR_TRY_GOTO(sr_leaf_parse(graph, "Block", &arena, &leaf));
    SR_TRY_GOTO(sr_graph_close(graph, &leaf, &closed));
    SR_TRY_GOTO(sr_graph_inline(closed, SR_NO_NODE, &open));
    SR_TRY_GOTO(sr_taps_parse("layer.1,half", &arena, &taps));
    SR_TRY_GOTO(sr_graph_extract(open, NULL, &taps, &e));
    SR_TRY_GOTO(sr_graph_print(e.graph, SR_GRAPH_JSON, &text));
    SR_TRY_GOTO(sr_params_new(&params));
    SR_TRY_GOTO(sr_graph_parse(text.s, text.len, "t.json", params, &back));
done:
    sr_graph_free(closed);
    sr_graph_free(open);
    sr_graph_free(back);
    sr_params_free(params);
    sr_extraction_free(&e);
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
    return status;
}

TEST(test_no_memory) {
    Fixture f = begin();
    int64_t calls = sr_mem_calls(), live = sr_mem_live();
    CHECK_OK(all_passes(f.graph));
    calls = sr_mem_calls() - calls;
    CHECK_INT(sr_mem_live(), live);
    for (int64_t n = 1; n <= calls; n++) {
        sr_mem_fail_at(n);
        SrStatus status = all_passes(f.graph);
        sr_mem_fail_at(0);
        if (status == SR_OK)
            fail_msg("allocation %lld of %lld may fail unnoticed", (long long)n, (long long)calls);
        CHECK_INT(sr_mem_live(), live);
    }
    end(f);
}

SR_TESTS(surgery, unit(test_tags), unit(test_find_chain), unit(test_replace),
         unit(test_other_table), unit(test_append_and_erase), unit(test_invert),
         unit(test_close_and_inline), unit(test_module_called_twice), unit(test_json_round_trip),
         unit(test_json_errors), unit(test_taps), unit(test_extraction_per_mode), unit(test_fold),
         unit(test_fused_convolution), unit(test_no_memory))
