// Tests every option of every head, compared with the head without it: the layers and tensors
// that the head builds, and their gradients. No head accepts a word for a number or a misspelt
// option.
//
// A row lists the nodes in order: the op, then in brackets its tensors: w weight, b bias, g and v
// of weight norm. A capital letter is frozen.
#include "tests/check.h"
#include "tests/heads/built_head.h"

#include <ctype.h>
#include <stdio.h>

#include "base/text/text.h"
#include "base/text/yaml_load.h"
#include "kernels/norm/batch_norm.h"
#include "tests/graph/gradients.h"

static void build(BuiltHead *t, const char *name, const char *arguments, SrShape shape) {
    static const SrHeadSettings settings = {
        .bn_eps = 1e-3, .bn_momentum = 0.25, .params_multiplier = 1};
    CHECK_OK(built_head_init(t, &settings, name, arguments, shape));
    built_head_draw(t, 3);
}

// Prints the layers of a head, such as "linear(wb) relu linear(w)".
static void print_layers(const BuiltHead *t, SrText *out) {
    for (SrNodeId id = 1; id < sr_graph_count(t->graph); id++) {
        const SrNode *node = sr_graph_at(t->graph, id);
        char letters[8] = "";
        int n = 0;
        for (int i = 0; i < node->n_w; i++) {
            const SrParam *p = sr_params_at(t->params, node->w[i]);
            int letter = sr_text_ends(p->name, "_g")     ? 'g'
                         : sr_text_ends(p->name, "_v")   ? 'v'
                         : sr_text_ends(p->name, "bias") ? 'b'
                                                         : 'w';
            if (p->kind == SR_SLOT_PARAM && n < (int)sizeof letters - 1)
                letters[n++] = (char)(p->trainable ? letter : toupper(letter));
        }
        sr_text_printf(out, "%s%s%s%s%s", id > 1 ? " " : "", node->op->name, n ? "(" : "", letters,
                       n ? ")" : "");
    }
}

// Draws parameters so wide that a zero classifier hides no gradient and one of deviation 0.02 no
// effect of a bias.
static void spread(SrParams *params) {
    for (int i = 0; i < sr_params_count(params); i++) {
        SrParam *p = sr_params_at(params, i);
        for (int64_t k = 0;
             p->trainable && p->role == SR_ROLE_WEIGHT && k < sr_shape_count(p->shape); k++)
            ((float *)p->value)[k] = (float)sin((double)(5 * k + i) + 0.3);
    }
}

static void check_gradients(BuiltHead *t) {
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = t->out,
                             .n_outputs = t->n_out,
                             .losses = t->out,
                             .n_losses = t->n_out};
    spread(t->params);
    CHECK_OK(sr_plan_compile(t->graph, &options, &t->plan));
    GradientCheck c = {.graph = t->graph,
                       .params = t->params,
                       .plan = t->plan,
                       .inputs = &t->x,
                       .n_inputs = 1,
                       .outputs = t->out,
                       .n_outputs = t->n_out};
    gradients_fill(&c);
    gradients_check(&c);
}

typedef struct {
    const char *head, *arguments, *layers;
    int n_out;
} Row;

static void check_rows(const Row *rows, int n, SrShape shape) {
    for (int i = 0; i < n; i++) {
        BuiltHead t;
        SrText layers = SR_TEXT_INIT;
        build(&t, rows[i].head, rows[i].arguments, shape);
        print_layers(&t, &layers);
        if (strcmp(layers.s ? layers.s : "", rows[i].layers) != 0)
            fail_msg("%s %s is\n%s, expected\n%s", rows[i].head, rows[i].arguments, layers.s,
                     rows[i].layers);
        CHECK_INT(t.n_out, rows[i].n_out);
        check_gradients(&t);
        sr_text_deinit(&layers);
        built_head_deinit(&t);
    }
}

#define BN "batch_norm(wb)"
#define LIN "linear(wb)"

TEST(test_mlp) {
    static const Row rows[] = {
        {"mlp", "{dims: [6, 5, 4]}", LIN " " LIN, 1},
        {"mlp", "{dims: [6, 5, 4], use_bn: true}", LIN " " BN " " LIN, 1},
        {"mlp", "{dims: [6, 5, 4], use_relu: true}", LIN " relu " LIN, 1},
        {"mlp", "{dims: [6, 5, 4], use_dropout: true}", LIN " dropout " LIN, 1},
        {"mlp", "{dims: [6, 5, 4], use_bias: false}", "linear(w) linear(w)", 1},
        {"mlp",
         "{dims: [6, 5, 4], use_bn: true, use_relu: true, use_dropout: true, "
         "skip_last_layer_relu_bn: false}",
         LIN " " BN " relu dropout " LIN " " BN " relu dropout", 1},
        {"mlp_res", "{dims: [6, 6, 4]}", LIN " add " LIN, 1},
        {"mlp_res", "{dims: [6, 5, 4], use_bn: true}", LIN " " BN " " LIN, 1},
        {"mlp_res",
         "{dims: [6, 6, 6], use_bn: true, use_relu: true, use_dropout: true, use_bias: false}",
         "linear(w) " BN " relu dropout add linear(w) add", 1},
        {"mlp_res", "{dims: [6, 6], use_bn: true, use_relu: true, skip_last_layer_relu_bn: false}",
         LIN " " BN " relu add", 1},
        {"eval_mlp", "{in_channels: 6, dims: [6, 4]}", BN " " LIN, 1},
        {"eval_mlp", "{in_channels: 6, dims: [6, 5, 4], use_bn: true, use_relu: true}",
         BN " " LIN " " BN " relu " LIN, 1},
        {"eval_mlp", "{in_channels: 6, dims: [6, 6, 4], use_residual: true}",
         BN " " LIN " add " LIN, 1},
        {"identity", "{}", "", 1},
        {"siamese_concat_view", "{num_towers: 1}", "merge_rows", 1},
        {"siamese_concat_view", "{num_towers: 2}", "merge_rows", 1},
        {"vision_transformer_head", "{in_plane: 6, num_classes: 4}", LIN, 1},
        {"vision_transformer_head", "{in_plane: 6, num_classes: 4, hidden_dim: 5}",
         LIN " tanh " LIN, 1}};
    check_rows(rows, SR_COUNT(rows), SR_SHAPE(8, 6));
}

#define SWAV "dims: [6, 5, 4], num_clusters: [3]"
#define UNIT "l2_normalize"
#define WN(g) "weight_norm_linear(" g "v)"

TEST(test_swav) {
    static const Row rows[] = {
        {"swav_head", "{" SWAV "}", LIN " relu " LIN " " UNIT " linear(w)", 2},
        {"swav_head", "{" SWAV ", use_bn: true}", LIN " " BN " relu " LIN " " UNIT " linear(w)", 2},
        {"swav_head", "{" SWAV ", use_bn: true, skip_last_bn: false}",
         LIN " " BN " relu " LIN " " BN " relu " UNIT " linear(w)", 2},
        {"swav_head", "{" SWAV ", use_bias: false}", "linear(w) relu linear(w) " UNIT " linear(w)",
         2},
        {"swav_head", "{" SWAV ", return_embeddings: false}",
         LIN " relu " LIN " " UNIT " linear(w)", 1},
        {"swav_head", "{" SWAV ", normalize_feats: false}", LIN " relu " LIN " linear(w)", 2},
        {"swav_head", "{" SWAV ", activation_name: GELU}", LIN " gelu " LIN " " UNIT " linear(w)",
         2},
        {"swav_head", "{" SWAV ", activation_name: none}", LIN " " LIN " " UNIT " linear(w)", 2},
        {"swav_head", "{" SWAV ", use_weight_norm_prototypes: true}",
         LIN " relu " LIN " " UNIT " " WN("g"), 2},
        {"swav_head", "{" SWAV ", use_weight_norm_prototypes: true, normalize_last_layer: true}",
         LIN " relu " LIN " " UNIT " " WN("G"), 2},
        {"swav_head", "{dims: [6, 4], num_clusters: []}", LIN " " UNIT, 1},
        {"swav_head", "{dims: [6, 4], num_clusters: [3, 2]}", LIN " " UNIT " linear(w) linear(w)",
         3}};
    check_rows(rows, SR_COUNT(rows), SR_SHAPE(8, 6));
}

#define DINO "in_dim: 6, hidden_dim: 5, bottleneck_dim: 4"
#define MSN "in_dim: 6, num_prototypes: 3, hidden_dim: 5, output_dim: 4"
#define THREE LIN " gelu " LIN " gelu " LIN " " UNIT " "

TEST(test_unit_prototypes) {
    static const Row rows[] = {
        {"dino_head", "{" DINO ", num_clusters: [3]}", THREE WN("G"), 1},
        {"dino_head", "{" DINO ", num_clusters: [3], normalize_last_layer: false}", THREE WN("g"),
         1},
        {"dino_head", "{" DINO ", num_clusters: [3], use_bn: true, num_layers: 2}",
         LIN " " BN " gelu " LIN " " UNIT " " WN("G"), 1},
        {"dino_head", "{" DINO ", num_clusters: [3], num_layers: 1}", LIN " " UNIT " " WN("G"), 1},
        {"ibot_head", "{" DINO ", out_dim: 3}", THREE WN("G"), 1},
        {"ibot_head", "{" DINO ", out_dim: 3, norm: bn}",
         LIN " " BN " gelu " LIN " " BN " gelu " LIN " " UNIT " " WN("G"), 1},
        {"ibot_head", "{" DINO ", out_dim: 3, norm: syncbn, num_layers: 2, act: relu}",
         LIN " " BN " relu " LIN " " UNIT " " WN("G"), 1},
        {"ibot_head", "{" DINO ", out_dim: 3, norm: ln, act: silu}",
         LIN " layer_norm(wb) silu " LIN " layer_norm(wb) silu " LIN " " UNIT " " WN("G"), 1},
        {"ibot_head",
         "{" DINO ", out_dim: 3, normalize_last_layer: false, act: gelu, last_norm: none}",
         THREE WN("g"), 1},
        {"msn_head", "{" MSN "}", THREE WN("G") " scale", 1},
        {"msn_head", "{" MSN ", freeze_prototypes: true}", THREE "weight_norm_linear(GV) scale", 1},
        {"msn_head",
         "{" MSN ", use_bn: true, return_query: true, temperature: 0.5, label_smoothing: 0.1}",
         LIN " " BN " gelu " LIN " " BN " gelu " LIN " l2_normalize", 1}};
    check_rows(rows, SR_COUNT(rows), SR_SHAPE(8, 6));
}

#define TOKEN "select_tokens "

TEST(test_tokens) {
    static const Row rows[] = {
        {"ibot_head", "{" DINO ", out_dim: 3}", THREE TOKEN WN("G") " " TOKEN WN("G"), 2},
        {"ibot_head", "{" DINO ", out_dim: 3, patch_out_dim: 2}",
         THREE TOKEN WN("G") " " TOKEN WN("G"), 2},
        {"ibot_head", "{" DINO ", out_dim: 3, shared_head: true}",
         THREE TOKEN WN("G") " " TOKEN WN("G"), 2},
        {"eval_mlp_pooled", "{in_channels: 6, dims: [6, 4]}", BN " " LIN " swap_tokens", 1},
        {"eval_mlp_pooled", "{in_channels: 6, dims: [6, 5, 4], use_bn: true, use_relu: true}",
         BN " " LIN " " BN " relu " LIN " swap_tokens", 1}};
    check_rows(rows, SR_COUNT(rows), SR_SHAPE(4, 3, 6));
    static const Row maps[] = {
        {"eval_mlp", "{in_channels: 6, dims: [24, 4]}", BN " flatten " LIN, 1},
        {"siamese_concat_view", "{num_towers: 2}", "flatten merge_rows", 1}};
    check_rows(maps, SR_COUNT(maps), SR_SHAPE(4, 2, 2, 6));
}

// MODEL.HEAD.BATCHNORM_EPS and BATCHNORM_MOMENTUM reach every batch norm except those of DINO's,
// iBOT's and MSN's heads, which VISSL builds with PyTorch's defaults.
TEST(test_batch_norm_settings) {
    static const Row rows[] = {
        {"mlp", "{dims: [6, 5, 4], use_bn: true, skip_last_layer_relu_bn: false}", NULL, 2},
        {"mlp_res", "{dims: [6, 6, 4], use_bn: true}", NULL, 1},
        {"eval_mlp", "{in_channels: 6, dims: [6, 5, 4], use_bn: true}", NULL, 2},
        {"swav_head", "{dims: [6, 5, 4], use_bn: true, skip_last_bn: false, num_clusters: []}",
         NULL, 2},
        {"dino_head", "{in_dim: 6, hidden_dim: 5, num_clusters: [3], use_bn: true}", NULL, 2},
        {"ibot_head", "{in_dim: 6, hidden_dim: 5, out_dim: 3, norm: bn}", NULL, 2},
        {"ibot_distillation_head", "{in_dim: 6, hidden_dim: 5, out_dim: 3, norm: bn}", NULL, 2},
        {"msn_head", "{in_dim: 6, hidden_dim: 5, num_prototypes: 3, use_bn: true}", NULL, 2}};
    const int with_settings = 4;
    for (int i = 0; i < SR_COUNT(rows); i++) {
        BuiltHead t;
        int norms = 0;
        build(&t, rows[i].head, rows[i].arguments, SR_SHAPE(8, 6));
        for (SrNodeId id = 1; id < sr_graph_count(t.graph); id++) {
            const SrNode *node = sr_graph_at(t.graph, id);
            const SrBatchNormParams *p = node->params;
            if (strcmp(node->op->name, "batch_norm") != 0)
                continue;
            CHECK_NEAR(p->eps, i < with_settings ? 1e-3 : 1e-5, 0);
            CHECK_NEAR(p->momentum, i < with_settings ? 0.25 : 0.1, 0);
            norms++;
        }
        CHECK_INT(norms, rows[i].n_out);
        built_head_deinit(&t);
    }
}

// ---- initial values

static double deviation(BuiltHead *t, const char *name) {
    int index = sr_params_find(t->params, name);
    if (index < 0)
        fail_msg("no tensor %s", name);
    const SrParam *p = sr_params_at(t->params, index);
    double squares = 0;
    for (int64_t k = 0; k < sr_shape_count(p->shape); k++)
        squares += (double)((const float *)p->value)[k] * (double)((const float *)p->value)[k];
    return sqrt(squares / (double)sr_shape_count(p->shape));
}

// Deviations of initial values: PyTorch's Linear 1 / sqrt(3 fan_in), the transformers' 0.02,
// LeCun's 1 / sqrt(fan_in).
TEST(test_initial_values) {
    static const struct {
        const char *head, *arguments, *tensor;
        double deviation;
    } rows[] = {
        {"mlp", "{dims: [300, 200]}", "clf.0.weight", 1.0 / 30},
        {"swav_head", "{dims: [300, 200], num_clusters: [100]}", "projection_head.0.bias",
         1.0 / 30},
        {"swav_head", "{dims: [300, 300], num_clusters: [100]}", "prototypes0.weight", 1.0 / 30},
        {"swav_head", "{dims: [300, 4], num_clusters: [9], use_weight_norm_prototypes: true}",
         "prototypes0.weight_g", 1},
        {"dino_head", "{in_dim: 300, num_clusters: [9]}", "mlp.0.weight", 0.02},
        {"dino_head", "{in_dim: 300, num_clusters: [9]}", "mlp.0.bias", 0},
        {"dino_head", "{in_dim: 300, num_clusters: [9]}", "mlp.4.weight", 0.02},
        {"dino_head", "{in_dim: 300, num_clusters: [9]}", "prototypes0.weight_g", 1},
        {"ibot_head", "{in_dim: 300, out_dim: 9}", "mlp.2.weight", 0.02},
        {"vision_transformer_head", "{in_plane: 300, hidden_dim: 200, num_classes: 9}",
         "layers.pre_logits.weight", 0.0577},
        {"vision_transformer_head", "{in_plane: 300, hidden_dim: 200, num_classes: 9}",
         "layers.pre_logits.bias", 0},
        {"vision_transformer_head", "{in_plane: 300, num_classes: 9}", "layers.head.weight", 0}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        BuiltHead t;
        build(&t, rows[i].head, rows[i].arguments, SR_SHAPE(2, 300));
        // Normal numbers beyond two deviations are drawn again, which leaves 0.88 of the
        // deviation.
        double got = deviation(&t, rows[i].tensor), want = rows[i].deviation;
        if (!(got >= 0.85 * want && got <= 1.05 * want))
            fail_msg("%s of %s: deviation %g, expected %g", rows[i].tensor, rows[i].head, got,
                     want);
        built_head_deinit(&t);
    }
}

// ---- refusals

static SrStatus parse(const SrHead *head, const char *fmt, const char *key) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *map;
    char text[128];
    int len = snprintf(text, sizeof text, fmt, key);
    CHECK_OK(sr_yaml_parse(&arena, text, (size_t)len, "test.yaml", &map));
    void *params = sr_arena_alloc(&arena, head->params_bytes + 1);
    SrStatus status = sr_options_parse(head->options, map, head->name, &arena, params);
    sr_arena_deinit(&arena);
    return status;
}

// No option of any head takes a map, and an option with one letter too many gets the closest name
// in the error.
TEST(test_wrong_values) {
    int n = 0;
    for (int i = 0; sr_head_at(i); i++) {
        const SrHead *head = sr_head_at(i);
        for (const SrOption *o = head->options; o->name; o++, n++) {
            char at[128], neighbour[128];
            if (o->type == SR_OPT_IGNORED) // any value is accepted and reported as ignored
                continue;
            snprintf(at, sizeof at, "test.yaml:1: %s.%s is", head->name, o->name);
            snprintf(neighbour, sizeof neighbour, "did you mean '%s'?", o->name);
            CHECK_FAILS(parse(head, "{%s: {a: 1}}", o->name), SR_ERR_CONFIG, at);
            CHECK_FAILS(parse(head, "{%s: [x, y]}", o->name), SR_ERR_CONFIG, at);
            CHECK_FAILS(parse(head, "{%sx: 1}", o->name), SR_ERR_CONFIG, neighbour);
        }
    }
    CHECK(n > 60);
}

SR_TESTS(head_options, unit(test_mlp), unit(test_swav), unit(test_unit_prototypes),
         unit(test_tokens), unit(test_batch_norm_settings), unit(test_initial_values),
         unit(test_wrong_values))
