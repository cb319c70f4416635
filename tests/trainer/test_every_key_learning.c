// Every option of every loss, head, meter, collator and optimiser, set to another legal value,
// has a visible effect, or a line reports that it has none (every_key.h).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/yaml_load.h"
#include "data/collation.h"
#include "data/collator.h"
#include "data/extras.h"
#include "graph/ir/print.h"
#include "graph/plan/plan_run.h"
#include "heads/head.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "tests/heads/built_head.h"
#include "tests/trainer/every_key.h"
#include "tests/trainer/tiny_model.h"
#include "trainer/optim/optim_options.h"
#include "trainer/optim/optimizer.h"
#include "trainer/run/meters/meter_list.h"

// ---- losses: values over some steps, and every number of the parameter table afterwards

static void add_table(SrParams *params, SrText *out) {
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        size_t bytes = (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
        every_key_add_hash(out, p->value, bytes);
    }
}

// Fills the views with images that differ from those of the step and from each other.
static void fill_other(TinyModel *t, int first) {
    for (int v = 0; v < t->graph.n_views; v++) {
        SrTensor x = sr_plan_input(t->plan, t->graph.views[v]);
        for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
            ((float *)x.data)[i] = (float)sin(0.01 * (double)(i * i) + 3.0 * first + v);
    }
}

// Runs the pass over the images for losses that look at all of them before an epoch.
static SrStatus pass(const SrEpoch *epoch, SrStatus (*rows)(void *arg, const SrEpochRows *),
                     void *arg) {
    TinyModel *t = epoch->run;
    int64_t index[TINY_SAMPLES];
    for (int first = 0; first < TINY_SAMPLES; first += t->graph.batch) {
        SrEpochRows r = {
            .step = epoch->step, .index = index, .n = t->graph.batch, .batch = t->graph.batch};
        for (int i = 0; i < r.n; i++)
            index[i] = first + i;
        fill_other(t, first);
        sr_plan_forward(t->plan, 0);
        SR_TRY(rows(arg, &r));
    }
    tiny_model_fill(t);
    return SR_OK;
}

static SrStatus begin_epoch(TinyModel *t, const SrLoss *loss, int epoch) {
    SrEpoch e = {.step = sr_step_view(&t->step, t->iteration, epoch),
                 .n_samples = TINY_SAMPLES,
                 .pass = pass,
                 .run = t};
    return loss->before_epoch ? loss->before_epoch(t->graph.loss_state, &e) : SR_OK;
}

static SrStatus see_loss(const void *owner, int base, const char *map, SrText *out) {
    const SrLoss *loss = owner;
    const SrLossExample *e = &loss->examples[base];
    TinyModel t;
    SrStatus status = tiny_model_start_example(&t, loss, e, map, 1);
    for (int k = 0; status == SR_OK && k < 6; k++) {
        if (k % 3 == 0)
            status = begin_epoch(&t, loss, k / 3);
        if (status == SR_OK)
            sr_text_printf(out, "%.17g ", tiny_model_step(&t, 0.1));
    }
    if (status == SR_OK)
        add_table(sr_model_params(t.model), out);
    tiny_model_close(&t);
    return status;
}

// Sizes that the head fixes have one legal value.
static const EveryKeyGiven of_losses[] = {
    {"barlow_twins_loss.embedding_dim", "9", NULL},
    {"byol_loss.crops_for_teacher", "[1]", NULL},
    {"simdino_loss.crops_for_teacher", "[1]", NULL},
    {"cross_entropy_multiple_output_single_target.weight", "[1, 2, 3, 4]", NULL},
    {"deepclusterv2_loss.memory_params.crops_for_mb", "[1]", NULL},
    {"deepclusterv2_loss.memory_params.embedding_dim", "9", NULL},
    {"dcl_loss.embedding_dim", "9", NULL},
    {"nce_loss_with_memory.memory_params.embedding_dim", "9", NULL},
    {"nce_loss_with_memory.update_mem_with_emb_index", "0",
     "{memory_params: {update_mem_on_forward: False}}"},
    {"dino_distillation_loss.student_num_crops", "2", NULL},
    {"dino_loss.crops_for_teacher", "[1]", NULL},
    {"ibot_distillation_loss.num_global_crops", "1", NULL},
    {"ibot_distillation_loss.student_num_crops", "2", NULL},
    {"msn_distillation_loss.student_num_crops", "2", NULL},
    {"swav_distillation_loss.num_crops", "2", NULL},
    {"swav_distillation_loss.num_prototypes", "[7]", NULL},
    {"moco_loss.embedding_dim", "9", NULL},
    {"multicrop_simclr_info_nce_loss.buffer_params.embedding_dim", "9", NULL},
    {"simclr_info_nce_loss.buffer_params.embedding_dim", "9", NULL},
    {0}};

TEST(test_losses) {
    EveryKey out = {.n = 0};
    for (int i = 0; sr_loss_at(i); i++) {
        const SrLoss *l = sr_loss_at(i);
        const char *bases[EVERY_KEY_MAX_BASES];
        int n = SR_MIN(l->n_examples, EVERY_KEY_MAX_BASES);
        for (int e = 0; e < n; e++)
            bases[e] = l->examples[e].options ? l->examples[e].options : "{}";
        every_key_try(
            &out, &(EveryKeyTable){l->name, see_loss, l, l->options, NULL, bases, n, of_losses});
    }
    every_key_finish(&out, 60);
}

// ---- heads: the graph, initial parameters, and outputs

static void add_outputs(BuiltHead *t, SrText *out) {
    SrPlanOptions options = {.mode = SR_MODE_TRAIN, .outputs = t->out, .n_outputs = t->n_out};
    CHECK_OK(sr_plan_compile(t->graph, &options, &t->plan));
    SrTensor x = sr_plan_input(t->plan, t->x);
    for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
        ((float *)x.data)[i] = (float)sin((double)(i * i));
    sr_plan_forward(t->plan, 0);
    for (int k = 0; k < t->n_out; k++) {
        SrTensor y = sr_plan_output(t->plan, t->out[k]);
        every_key_add_hash(out, y.data, (size_t)sr_shape_count(y.shape) * sizeof(float));
    }
}

// There are as many rows as tokens, so that every head gives one row per image.
static SrStatus see_head(const void *owner, int base, const char *map, SrText *out) {
    const SrHead *head = owner;
    SrHeadSettings settings = {.bn_eps = 1e-5, .bn_momentum = 0.1, .params_multiplier = 1};
    BuiltHead t;
    SrShape shape = head->examples[base].tokens ? SR_SHAPE(4, 4, 8) : SR_SHAPE(4, 8);
    SrStatus status = built_head_init(&t, &settings, head->name, map, shape);
    if (status == SR_OK) {
        CHECK_OK(sr_graph_print(t.graph, SR_GRAPH_TABLE, out));
        for (int i = 0; i < sr_params_count(t.params); i++) {
            const SrParam *p = sr_params_at(t.params, i);
            sr_text_printf(out, "%d:%g:%d ", (int)p->init.kind, p->init.value, p->trainable);
        }
        built_head_draw(&t, 3);
        add_outputs(&t, out);
        for (int i = 0; head->output && i < t.n_out; i++)
            sr_text_printf(out, "%s ", sr_graph_at(t.graph, t.out[i])->name);
    }
    built_head_deinit(&t);
    return status;
}

// Sizes that the features fix have one legal value.
static const EveryKeyGiven of_heads[] = {
    {"dino_head.in_dim", "9", NULL},
    {"eval_mlp.in_channels", "9", NULL},
    {"eval_mlp_pooled.in_channels", "9", NULL},
    {"mobilenet_v3_head.in_channels", "9", NULL},
    {"mobilenet_v3_head_timm.in_channels", "9", NULL},
    {"ibot_distillation_head.in_dim", "9", NULL},
    {"ibot_head.in_dim", "9", NULL},
    {"msn_head.in_dim", "9", NULL},
    {"vision_transformer_head.in_plane", "9", NULL},
    {"mlp.skip_last_layer_relu_bn", "false", "{use_relu: true}"},
    {"mlp_res.skip_last_layer_relu_bn", "false", "{use_relu: true}"},
    {"swav_head.normalize_last_layer", "true", "{use_weight_norm_prototypes: true}"},
    {0}};

TEST(test_heads) {
    EveryKey out = {.n = 0};
    for (int i = 0; sr_head_at(i); i++) {
        const SrHead *h = sr_head_at(i);
        const char *bases[EVERY_KEY_MAX_BASES];
        int n = SR_MIN(h->n_examples, EVERY_KEY_MAX_BASES);
        for (int e = 0; e < n; e++)
            bases[e] = h->examples[e].arguments;
        every_key_try(&out,
                      &(EveryKeyTable){h->name, see_head, h, h->options, NULL, bases, n, of_heads});
    }
    every_key_finish(&out, 60);
}

// ---- meters: the report of a phase of a model with two outputs

static SrStatus see_meter(const void *owner, int base, const char *map, SrText *out) {
    enum { ROWS = 16, CLASSES = 6, OUTPUTS = 2 };
    const SrMeter *meter = owner;
    const int classes[OUTPUTS] = {CLASSES, CLASSES};
    SrMeterList *list;
    SrConfig *config;
    char text[1024];
    float scores[ROWS * CLASSES];
    int64_t target[ROWS];
    (void)base;
    snprintf(text, sizeof text, "{METERS: {names: [%s], %s: %s}, LOSS: {name: CrossEntropyLoss}}",
             meter->name, strchr(meter->subtree, '.') + 1, map);
    SR_TRY(sr_config_parse(text, "test.yaml", NULL, 0, &config));
    SrStatus status = sr_meter_list_new(config, OUTPUTS, classes, ROWS, &list);
    for (int i = 0; status == SR_OK && i < OUTPUTS; i++) {
        for (int k = 0; k < ROWS * CLASSES; k++)
            scores[k] = (float)sin(7.0 * k + i);
        for (int k = 0; k < ROWS; k++)
            target[k] = k % CLASSES;
        sr_meter_list_update(list, i, &(SrMeterRows){ROWS, CLASSES, scores, target, false});
    }
    if (status == SR_OK) {
        sr_meter_list_json(list, "test", out);
        sr_meter_list_free(list);
    }
    sr_config_free(config);
    return status;
}

TEST(test_meters) {
    static const char *const base = "{num_meters: 2}";
    EveryKey out = {.n = 0};
    for (int i = 0; sr_meter_at(i); i++) {
        const SrMeter *m = sr_meter_at(i);
        char number[64], names[64];
        snprintf(number, sizeof number, "%s.num_meters", m->name);
        snprintf(names, sizeof names, "%s.meter_names", m->name);
        const EveryKeyGiven given[] = {{number, "3", NULL}, {names, "[res4, res5]", NULL}, {0}};
        every_key_try(&out,
                      &(EveryKeyTable){m->name, see_meter, m, m->options, NULL, &base, 1, given});
    }
    every_key_finish(&out, 8);
}

// ---- collators: places of views, and a batch

static void see_plan(const SrBatchPlan *plan, SrText *out) {
    for (int i = 0; i < plan->n_inputs; i++) {
        const SrBatchInput *input = &plan->input[i];
        sr_text_printf(out, "%s %dx%d %d ", input->name, input->h, input->w, input->rows);
    }
    for (int v = 0; v < plan->n_views; v++)
        sr_text_printf(out, "%d:%d ", plan->place[v].input, plan->place[v].k);
    sr_text_printf(out, "%d targets ", plan->n_targets);
}

// Looks at several batches, since a random draw may leave one as it is.
static void see_batch(const SrCollation *c, int number, SrArena *arena, SrText *out) {
    enum { IMAGES = 6 };
    const SrBatchPlan *plan = &c->plan;
    int64_t label[IMAGES], index[IMAGES] = {0};
    int8_t valid[IMAGES] = {0};
    SrBatch batch = {
        .n_views = plan->n_inputs, .batch = IMAGES, .label = label, .index = index, .valid = valid};
    for (int i = 0; i < IMAGES; i++)
        label[i] = i % 3;
    for (int i = 0; i < plan->n_inputs; i++) {
        int n = IMAGES * plan->input[i].rows * plan->input[i].h * plan->input[i].w * 3;
        batch.view[i] = sr_arena_alloc(arena, (size_t)n * sizeof(float));
        batch.h[i] = plan->input[i].h;
        batch.w[i] = plan->input[i].w;
        batch.rows[i] = plan->input[i].rows;
        for (int k = 0; k < n; k++)
            batch.view[i][k] = (float)sin(0.7 * k);
    }
    for (int i = 0; i < plan->extras.n; i++)
        batch.extra[i] = sr_arena_alloc(arena, IMAGES * sr_batch_extra_bytes(&plan->extras.v[i]));
    SrCollateContext ctx = {.seed = 3, .number = number};
    if (c->collator->fill)
        c->collator->fill(c->params, plan, &ctx, &batch);
    for (int i = 0; i < plan->n_inputs; i++)
        every_key_add_hash(out, batch.view[i],
                           (size_t)(batch.batch * batch.h[i] * batch.w[i] * 3) * sizeof(float));
    for (int i = 0; i < plan->extras.n; i++)
        every_key_add_hash(out, batch.extra[i],
                           (size_t)batch.batch * sr_batch_extra_bytes(&plan->extras.v[i]));
}

static SrStatus see_collator(const void *owner, int base, const char *map, SrText *out) {
    const SrCollator *c = owner;
    const SrCollatorExample *e = &c->examples[base];
    SrArena arena = SR_ARENA_INIT;
    SrCollation collation;
    SrCollateViews views = {.n = 0};
    SrYaml *tree;
    for (; views.n < 8 && e->sizes[views.n]; views.n++) {
        views.h[views.n] = views.w[views.n] = e->sizes[views.n];
        if (e->masks)
            CHECK_OK(sr_extras_add(&views.extras,
                                   &(SrBatchExtra){"mask", views.n, SR_SHAPE(4), SR_F32, 0}));
    }
    CHECK_OK(sr_yaml_parse(&arena, map, strlen(map), "test.yaml", &tree));
    SrStatus status = sr_collation_new(c->name, tree, "DATA.TRAIN", &views, &arena, &collation);
    if (status == SR_OK)
        see_plan(&collation.plan, out);
    for (int k = 0; status == SR_OK && k < 8; k++)
        see_batch(&collation, k, &arena, out);
    sr_arena_deinit(&arena);
    return status;
}

static const EveryKeyGiven of_collators[] = {
    {"cutmixup_collator.cutmix_minmax", "[0.1, 0.4]", NULL}, {0}};

TEST(test_collators) {
    EveryKey out = {.n = 0};
    for (int i = 0; sr_collator_at(i); i++) {
        const SrCollator *c = sr_collator_at(i);
        const char *bases[EVERY_KEY_MAX_BASES];
        int n = SR_MIN(c->n_examples, EVERY_KEY_MAX_BASES);
        for (int e = 0; e < n; e++)
            bases[e] = c->examples[e].options ? c->examples[e].options : "{}";
        every_key_try(&out, &(EveryKeyTable){c->name, see_collator, c, c->options, NULL, bases, n,
                                             of_collators});
    }
    every_key_finish(&out, 12);
}

// ---- optimisers: parameters after some steps

static const SrSlot weight = {.shape = {.rank = 2, .d = {7, 5}},
                              .dtype = SR_F32,
                              .kind = SR_SLOT_PARAM,
                              .role = SR_ROLE_WEIGHT,
                              .init = {SR_INIT_CONSTANT, 0.5}},
                    bias = {.shape = {.rank = 1, .d = {5}},
                            .dtype = SR_F32,
                            .kind = SR_SLOT_PARAM,
                            .role = SR_ROLE_BIAS,
                            .init = {SR_INIT_CONSTANT, 0.25}};

static SrStatus see_optimizer(const void *owner, int base, const char *map, SrText *out) {
    const SrOptimizer *kind = owner;
    SrArena arena = SR_ARENA_INIT;
    SrParams *params;
    SrOptim *optim = NULL;
    SrYaml *tree;
    int index;
    (void)base;
    CHECK_OK(sr_yaml_parse(&arena, map, strlen(map), "test.yaml", &tree));
    CHECK_OK(sr_params_new(&params));
    CHECK_OK(sr_params_add(params, "trunk.weight", &weight, &index));
    CHECK_OK(sr_params_add(params, "heads.0.bias", &bias, &index));
    CHECK_OK(sr_params_allocate(params));
    sr_params_init(params, 1);
    SrOptimizerConfig config = {.name = kind->name,
                                .options = tree,
                                .weight_decay = 0.01,
                                .num_epochs = 1,
                                .param_group_constructor = "default"};
    SrStatus status = sr_optim_new(params, &config, &optim);
    for (int step = 0; status == SR_OK && step < 4; step++) {
        for (int i = 0; i < 2; i++) {
            const SrParam *p = sr_params_at(params, i);
            for (int64_t k = 0; k < sr_shape_count(p->shape); k++)
                p->grad[k] = (float)(cos((double)(5 * k + i)) * (step == 0 ? 3 : 0.1));
        }
        sr_optim_step(optim, 0.1, 0.1, NULL);
    }
    if (status == SR_OK)
        add_table(params, out);
    sr_optim_free(optim);
    sr_params_free(params);
    sr_arena_deinit(&arena);
    return status;
}

TEST(test_optimizers) {
    EveryKey out = {.n = 0};
    for (int i = 0; sr_optimizer_at(i); i++) {
        const SrOptimizer *o = sr_optimizer_at(i);
        int n = 0;
        while (o->examples[n])
            n++;
        every_key_try(&out, &(EveryKeyTable){o->name, see_optimizer, o, o->options, NULL,
                                             o->examples, n, NULL});
    }
    every_key_finish(&out, 12);
}

SR_TESTS(every_key_learning, every_key_test(test_losses), every_key_test(test_heads),
         every_key_test(test_meters), every_key_test(test_collators),
         every_key_test(test_optimizers))
