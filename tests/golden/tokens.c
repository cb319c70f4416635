// Runs golden cases mae_* and ijepa*: whole training steps of the program's own model, from
// images and recorded choices of patches. Compares losses, predictions, the gradients of the
// first step, and the target encoder after the last.
#include <math.h>
#include <string.h>

#include "base/text/text.h"
#include "tests/golden/images.h"
#include "tests/golden/table.h"
#include "trainer/model/train_graph.h"
#include "trainer/run/step.h"

typedef struct {
    SrGoldenCase *c;
    SrConfig *config;
    SrModel *model;
    SrTrainGraph graph;
    SrPlan *plan;
    SrOptim *optim;
    SrStep step;
    SrLoss spy;
    SrStatus looked; // status of the hooks
    bool ijepa;
    int heads, more_heads; // attention heads of the encoder, and of the decoder or predictor
} TokensRun;

static TokensRun *running; // the run, for hooks, which get the state of the loss only

// ---- names: the first row that fits

static const struct {
    const char *theirs, *ours;
} names[] = {
    {"decoder_", "loss.heads.decoder.decoder_"},
    {"mask_token", "loss.heads.decoder.mask_token"},
    {"encoder.", "trunk."},
    {"predictor.", "loss.heads.predictor."},
    {"target.", "loss.momentum_encoder.trunk."},
    {"", "trunk."},
};

static const SrParam *entry_of(TokensRun *r, const char *name) {
    int i = 0;
    while (!sr_text_starts(name, names[i].theirs))
        i++;
    SrParams *params = sr_model_params(r->model);
    const char *ours =
        sr_arena_printf(r->c->arena, "%s%s", names[i].ours, name + strlen(names[i].theirs));
    int index = ours ? sr_params_find(params, ours) : -1;
    return index < 0 ? NULL : sr_params_at(params, index);
}

// Calls fn for every tensor "<kind><name>" with its entry of the parameter table.
static SrStatus each(TokensRun *r, const char *kind,
                     SrStatus (*fn)(TokensRun *r, const char *tensor, const SrParam *p)) {
    for (int i = 0; i < r->c->tensors->n; i++) {
        const char *tensor = r->c->tensors->tensors[i].name;
        if (!sr_text_starts(tensor, kind))
            continue;
        const SrParam *p = entry_of(r, tensor + strlen(kind));
        if (!p)
            SR_FAIL(SR_ERR_RUN, "%s has no counterpart in our table", tensor);
        SR_TRY(fn(r, tensor, p));
    }
    return SR_OK;
}

static SrStatus load(TokensRun *r, const char *tensor, const SrParam *p) {
    int64_t n;
    const float *x = golden_floats(r->c, tensor, &n);
    if (!x || n != sr_shape_count(p->shape))
        SR_FAIL(SR_ERR_RUN, "%s does not fit %s", tensor, p->name);
    // The case's position embeddings must equal the initial ones.
    if (sr_text_ends(tensor, "pos_embed"))
        SR_TRY(golden_compare(r->c, tensor, p->value, n, 1e-6));
    memcpy(p->value, x, (size_t)n * sizeof *x);
    return SR_OK;
}

static SrStatus compare_grad(TokensRun *r, const char *tensor, const SrParam *p) {
    if (!p->grad)
        SR_FAIL(SR_ERR_RUN, "%s: our parameter has no gradient", tensor);
    return golden_compare(r->c, tensor, p->grad, sr_shape_count(p->shape), GOLDEN_GRAD);
}

static SrStatus compare_value(TokensRun *r, const char *tensor, const SrParam *p) {
    return golden_compare(r->c, tensor, p->value, sr_shape_count(p->shape), 1e-5);
}

// ---- the configuration

static int dim(TokensRun *r, const char *tensor, int d) {
    const SrTensor *t = golden_tensor(r->c, tensor);
    return t && d < t->shape.rank ? t->shape.d[d] : 0;
}

static int count(TokensRun *r, const char *format) {
    int n = 0;
    while (golden_tensor(r->c, sr_arena_printf(r->c->arena, format, n)))
        n++;
    return n;
}

static double number(const SrYaml *map, const char *key) {
    const SrYaml *node = sr_yaml_find_path(map, key);
    return node ? node->f : NAN;
}

// Returns the MLP ratio, slightly enlarged, since the model truncates the product to a whole
// number.
static double mlp_ratio(TokensRun *r, const char *hidden, const char *width) {
    return (dim(r, hidden, 0) + 0.01) / dim(r, width, 0);
}

// Returns height / width of a block of `target` patches that is smaller than the image in both
// directions. 1 if there is none; the predictions then have another size and the case fails.
static double block_aspect(int target, int side) {
    for (int h = (int)sqrt(target); h >= 1; h--)
        if (target % h == 0 && target / h < side)
            return (double)h / (target / h);
    return 1;
}

static const char *loss_text(TokensRun *r) {
    SrArena *arena = r->c->arena;
    const SrYaml *config = r->c->config, *norm = sr_yaml_find(config, "norm_pix_loss");
    double patches = dim(r, "x0", 2) / number(config, "patch");
    patches *= patches;
    if (!r->ijepa)
        return sr_arena_printf(
            arena,
            "name: mae_loss, mae_loss: {mask_ratio: %.9g, norm_pix_loss: %s, decoder_embed_dim: "
            "%d, decoder_depth: %d, decoder_num_heads: %d, mlp_ratio: %.9g}",
            1 - (number(config, "keep") + 0.01) / patches, norm && norm->b ? "True" : "False",
            dim(r, "param.decoder_embed.bias", 0), count(r, "param.decoder_blocks.%d.norm1.bias"),
            r->more_heads,
            mlp_ratio(r, "param.decoder_blocks.0.mlp.fc1.bias", "param.decoder_embed.bias"));
    int target = dim(r, "target_index0_0", 1);
    double aspect = block_aspect(target, dim(r, "x0", 2) / (int)number(config, "patch"));
    return sr_arena_printf(
        arena,
        "name: ijepa_loss, ijepa_loss: {pred_emb_dim: %d, pred_depth: %d, pred_num_heads: %d, "
        "pred_mlp_ratio: %.9g, num_pred_masks: %d, pred_mask_scale: [%.9g, %.9g], aspect_ratio: "
        "[%.9g, %.9g], enc_keep: %.9g, ema: [%.9g, %.9g]}",
        dim(r, "param.predictor.predictor_embed.bias", 0),
        count(r, "param.predictor.predictor_blocks.%d.norm1.bias"), r->more_heads,
        mlp_ratio(r, "param.predictor.predictor_blocks.0.mlp.fc1.bias",
                  "param.predictor.predictor_embed.bias"),
        count(r, "target_index0_%d"), (target + 0.01) / patches, (target + 0.01) / patches, aspect,
        aspect, (dim(r, "context0", 1) + 0.01) / patches, number(config, "ema"),
        number(config, "ema"));
}

// Returns the number of attention heads, which no tensor shows. Cases that do not record it use
// `missing`.
static int heads(TokensRun *r, const char *key, int missing) {
    double value = missing;
    if (!golden_value(r->c, key, &value))
        value = golden_setting(r->c, key, missing);
    return (int)value;
}

static SrStatus configure(TokensRun *r) {
    r->heads = heads(r, "heads", 2);
    r->more_heads = heads(r, r->ijepa ? "predictor_heads" : "decoder_heads", 2);
    const char *in = r->ijepa ? "param.encoder." : "param.";
    const char *dims = sr_arena_printf(r->c->arena, "%snorm.bias", in),
               *mlp = sr_arena_printf(r->c->arena, "%sblocks.0.mlp.fc1.bias", in),
               *block = sr_arena_printf(r->c->arena, "%sblocks.%%d.norm1.bias", in);
    SrText text = SR_TEXT_INIT;
    sr_text_printf(
        &text,
        "MODEL: {TRUNK: {NAME: vision_transformer, VISION_TRANSFORMERS: {IMAGE_SIZE: %d, "
        "PATCH_SIZE: %d, NUM_LAYERS: %d, NUM_HEADS: %d, HIDDEN_DIM: %d, MLP_DIM: %d, "
        "QKV_BIAS: True, POS_EMBED: sincos, USE_CLASS_TOKEN: %s}}, HEAD: {PARAMS: [[identity, "
        "{}]]}}\nLOSS: {%s}\nOPTIMIZER: {name: sgd, momentum: %.9g, weight_decay: 0, nesterov: "
        "False}\nDATA: {TRAIN: {BATCHSIZE_PER_REPLICA: %d}}\n",
        dim(r, "x0", 2), (int)number(r->c->config, "patch"), count(r, block), r->heads,
        dim(r, dims, 0), dim(r, mlp, 0), golden_tensor(r->c, "param.cls_token") ? "True" : "False",
        loss_text(r), number(r->c->config, "optimiser.momentum"), dim(r, "x0", 0));
    SrStatus status = sr_config_parse(text.s ? text.s : "", r->c->name, NULL, 0, &r->config);
    sr_text_deinit(&text);
    return status;
}

// ---- recorded choices

static int64_t *input_of(TokensRun *r, const char *name) {
    return sr_plan_input(r->plan, sr_graph_find(r->graph.graph, name)).data;
}

// The patches with the least noise are visible, the least first.
static SrStatus fill_mae(TokensRun *r, int step) {
    int64_t n, *visible = input_of(r, "loss.visible");
    float *mask = (float *)input_of(r, "loss.mask");
    const float *noise = golden_floats(r->c, golden_numbered(r->c, "noise", step), &n);
    int N = dim(r, "noise0", 0), L = dim(r, "noise0", 1), keep = dim(r, "latent0", 1) - 1;
    for (int i = 0; noise && i < N * L; i++) {
        int rank = 0;
        for (int k = 0; k < L; k++)
            rank += noise[i / L * L + k] < noise[i];
        mask[i] = rank < keep ? 0 : 1;
        if (rank < keep)
            visible[i / L * keep + rank] = i % L;
    }
    return golden_compare(r->c, golden_numbered(r->c, "mask", step), mask, (int64_t)N * L, 1e-6);
}

static SrStatus fill_ijepa(TokensRun *r, int step) {
    int64_t n, *visible = input_of(r, "loss.visible"), *targets = input_of(r, "loss.targets"),
               *places = input_of(r, "loss.places");
    int N = dim(r, "context0", 0), C = dim(r, "context0", 1), T = dim(r, "target_index0_0", 1);
    const float *context = golden_floats(r->c, golden_numbered(r->c, "context", step), &n);
    for (int m = 0; m < count(r, "target_index0_%d"); m++) {
        const char *name = sr_arena_printf(r->c->arena, "target_index%d_%d", step, m);
        const float *target = golden_floats(r->c, name, &n);
        if (!context || !target)
            SR_FAIL(SR_ERR_RUN, "no context%d or %s", step, name);
        for (int i = 0; i < N * T; i++)
            targets[m * N * T + i] = (int64_t)target[i];
        for (int i = 0; i < N * (C + T); i++) {
            int image = i / (C + T), k = i % (C + T);
            places[m * N * (C + T) + i] =
                (int64_t)(k < C ? context[image * C + k] : target[image * T + k - C]);
        }
    }
    for (int i = 0; i < N * C; i++)
        visible[i] = (int64_t)context[i];
    return SR_OK;
}

static void recorded(void *state, const SrLossStep *step, int64_t first) {
    TokensRun *r = running;
    (void)state, (void)first;
    SrStatus status = (r->ijepa ? fill_ijepa : fill_mae)(r, (int)step->iteration);
    r->looked = r->looked == SR_OK ? status : r->looked;
}

static void look(void *state, const SrLossStep *step) {
    TokensRun *r = running;
    (void)state;
    if (step->iteration == 0 && r->looked == SR_OK)
        r->looked = each(r, r->ijepa ? "grad0." : "grad.", compare_grad);
}

// ---- a run

static SrStatus build(TokensRun *r) {
    int side = dim(r, "x0", 2);
    const char *nodes[2] = {r->ijepa ? "loss.heads.predictor.predictor_proj" : "loss.pixels",
                            r->ijepa ? "loss.target" : "norm"};
    SrNodeId outputs[2];
    SR_TRY(sr_model_new(r->config, &r->model));
    SR_TRY(sr_model_build_train(r->model, dim(r, "x0", 0), 1, &side, &side, 0, &r->graph));
    SrParams *params = sr_model_params(r->model);
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, 1);
    SR_TRY(each(r, "param.", load));
    SR_TRY(sr_optim_new(params, &r->config->optimizer, &r->optim));
    for (int i = 0; i < 2; i++)
        if ((outputs[i] = sr_graph_find(r->graph.graph, nodes[i])) == SR_NO_NODE)
            SR_FAIL(SR_ERR_RUN, "there is no node '%s'", nodes[i]);
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = outputs,
                             .n_outputs = 2,
                             .losses = &r->graph.loss,
                             .n_losses = 1};
    SR_TRY(sr_plan_compile(r->graph.graph, &options, &r->plan));
    r->spy = *r->graph.loss_kind;
    r->spy.before_rows = recorded;
    r->spy.after_backward = look;
    r->graph.loss_kind = &r->spy;
    r->step = (SrStep){.params = params,
                       .graph = &r->graph,
                       .plan = r->plan,
                       .optim = r->optim,
                       .max_iterations = 100};
    sr_step_start(&r->step, 0, false);
    return SR_OK;
}

static SrStatus compare_node(TokensRun *r, const char *node, const char *tensor, int64_t first) {
    SrTensor y = sr_plan_output(r->plan, sr_graph_find(r->graph.graph, node));
    const SrTensor *t = golden_tensor(r->c, tensor);
    int64_t n = t ? sr_shape_count(t->shape) : 0;
    if (first + n > sr_shape_count(y.shape))
        SR_FAIL(SR_ERR_RUN, "%s: our node %s is smaller", tensor, node);
    return golden_compare(r->c, tensor, (const float *)y.data + first, n, GOLDEN_TAP);
}

static SrStatus compare_nodes(TokensRun *r, int step) {
    SrGoldenCase *c = r->c;
    if (!r->ijepa) {
        SR_TRY(compare_node(r, "norm", golden_numbered(c, "latent", step), 0));
        return compare_node(r, "loss.pixels", golden_numbered(c, "pred", step), 0);
    }
    SR_TRY(compare_node(r, "loss.target", golden_numbered(c, "target", step), 0));
    int64_t part = sr_shape_count(golden_tensor(c, "pred0_0")->shape);
    for (int m = 0; m < count(r, "target_index0_%d"); m++)
        SR_TRY(compare_node(r, "loss.heads.predictor.predictor_proj",
                            sr_arena_printf(c->arena, "pred%d_%d", step, m), m * part));
    return SR_OK;
}

static SrStatus run_step(TokensRun *r, int step) {
    const char *x = golden_numbered(r->c, "x", step), *name = golden_numbered(r->c, "loss", step);
    const SrTensor *t = golden_tensor(r->c, x);
    int64_t n;
    double loss, lr = number(r->c->config, "optimiser.lr");
    SrTensor to = sr_plan_input(r->plan, r->graph.views[0]);
    const float *nhwc = golden_to_nhwc(r->c, golden_floats(r->c, x, &n), t->shape);
    memcpy(to.data, nhwc, (size_t)n * sizeof(float));
    SrStepArgs args = {.lr = lr, .lr_head = lr, .iteration = step};
    SR_TRY(sr_step_run(&r->step, &args, &loss));
    SR_TRY(r->looked);
    SR_TRY(golden_number(r->c, name, loss, (double)*golden_floats(r->c, name, &n), 2e-5));
    return compare_nodes(r, step);
}

static SrStatus run_steps(TokensRun *r) {
    SR_TRY(configure(r));
    SR_TRY(build(r));
    int step = 0;
    for (; golden_tensor(r->c, golden_numbered(r->c, "x", step)); step++)
        SR_TRY(run_step(r, step));
    return each(r, sr_arena_printf(r->c->arena, "after%d.", step - 1), compare_value);
}

static SrStatus run(SrGoldenCase *c) {
    TokensRun r = {.c = c, .ijepa = sr_text_starts(c->name, "ijepa")};
    running = &r;
    SrStatus status = run_steps(&r);
    sr_plan_free(r.plan);
    sr_optim_free(r.optim);
    sr_model_free(r.model);
    sr_config_free(r.config);
    return status;
}

const SrGolden sr_golden_tokens = {.prefixes = {"mae_", "ijepa"}, .run = run};
