// Builds small models with a training plan and computes steps of them (tiny_model.h).
#include "tests/trainer/tiny_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/collator.h"
#include "trainer/model/train_graph.h"

// Plans masks as the masking collator lays out batches.
static void plan_masks(TinyModel *t, const TinyWorld *w) {
    for (int v = 0; v < w->n_views; v++) {
        bool global = w->sizes[v] == w->sizes[0];
        int side = w->sizes[v] / w->patch;
        t->batch.input[t->batch.n_inputs++] =
            (SrBatchInput){global ? "global_views" : "local_views", w->sizes[v], w->sizes[v], 1};
        if (global)
            t->batch.extras.v[t->batch.extras.n++] =
                (SrBatchExtra){"mask", v, SR_SHAPE(side * side), SR_F32, -1};
    }
    sr_model_set_batch(t->model, &t->batch);
}

static SrStatus open_world(TinyModel *t, const TinyWorld *w) {
    SrText text = SR_TEXT_INIT;
    int first = 0;
    while (first < w->n_views && w->sizes[first] == w->sizes[0])
        first++;
    char groups[128]; // groups of crops; each has at least one
    snprintf(groups, sizeof groups, "num_crops: [%d]", first);
    if (first < w->n_views)
        snprintf(groups, sizeof groups,
                 "num_crops: [%d, %d], size_crops: [%d, %d], crop_scales: [[0.3, 1], [0.1, 0.4]]",
                 first, w->n_views - first, w->sizes[0], w->sizes[first]);
    *t = (TinyModel){.iteration = 0};
    sr_text_printf(
        &text,
        "SEED_VALUE: %d\nMODEL: {%s}\nLOSS: {%s}\nOPTIMIZER: {momentum: 0.0, weight_decay: 0.0, "
        "gradient_accumulation_steps: %d}\nDISTRIBUTED: "
        "{REPLICAS: %d}\nDATA: {TRAIN: "
        "{COLLATE_FUNCTION: %s, "
        "BATCHSIZE_PER_REPLICA: %d, TRANSFORMS: [{name: ImgPilToMultiCrop, total_num_crops: %d, "
        "%s}]}}\n",
        w->seed, w->model, w->loss, SR_MAX(w->rounds, 1), w->replicas,
        w->patch > 0 ? "ibot_multicrop_masking_collator" : "multicrop_collator", w->batch,
        w->n_views, groups);
    SrStatus status = sr_config_parse(text.s, "tiny.yaml", NULL, 0, &t->config);
    sr_text_deinit(&text);
    SR_TRY(status);
    SR_TRY(sr_model_new(t->config, &t->model));
    if (w->patch > 0)
        plan_masks(t, w);
    return sr_model_build_train(t->model, t->config->batch, w->n_views, w->sizes,
                                w->widths ? w->widths : w->sizes,
                                w->unknown_samples ? 0 : TINY_SAMPLES, &t->graph);
}

SrStatus tiny_model_open(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                         const int *sizes) {
    return open_world(t, &(TinyWorld){model, loss, batch, 1, n_views, sizes, 0, 0, 0, NULL, false});
}

SrStatus tiny_model_start(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                          const int *sizes) {
    return tiny_model_start_world(t, 1, model, loss, batch, n_views, sizes);
}

SrStatus tiny_model_start_world(TinyModel *t, int replicas, const char *model, const char *loss,
                                int batch, int n_views, const int *sizes) {
    return tiny_model_start_of(
        t, &(TinyWorld){model, loss, batch, replicas, n_views, sizes, 0, 0, 0, NULL, false});
}

SrStatus tiny_model_start_of(TinyModel *t, const TinyWorld *world) {
    SR_TRY(open_world(t, world));
    SrParams *params = sr_model_params(t->model);
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, 1);
    SR_TRY(sr_optim_new(params, &t->config->optimizer, &t->optim));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN};
    SR_TRY(sr_replicas_compile(&t->graph, &options, &t->plan, &t->loss_plan));
    if (t->graph.replicas > 1)
        SR_TRY(sr_replicas_new(&t->graph, t->plan, t->loss_plan, 1, &t->replicas));
    t->step = (SrStep){.params = params,
                       .graph = &t->graph,
                       .plan = t->plan,
                       .loss_plan = t->loss_plan,
                       .replicas = t->replicas,
                       .optim = t->optim,
                       .max_iterations = 100};
    sr_step_start(&t->step, 0, false);
    tiny_model_fill(t);
    return SR_OK;
}

SrStatus tiny_model_start_example(TinyModel *t, const SrLoss *loss, const SrLossExample *e,
                                  const char *options, int replicas) {
    return tiny_model_start_batch(t, loss, e, options, replicas, 8 / replicas);
}

// Writes an example's model and loss as configuration, and what they say of the world.
static void describe_example(const SrLoss *loss, const SrLossExample *e, const char *options,
                             TinyWorld *w, char model[2048], char text[2048]) {
    snprintf(model, 2048, "%s%s%s, HEAD: {PARAMS: %s}%s%s", e->trunk ? "TRUNK: {" : "",
             e->trunk ? e->trunk : TINY_TRUNK, e->trunk ? "}" : "", e->heads, e->more ? ", " : "",
             e->more ? e->more : "");
    snprintf(text, 2048, "name: %s, %s: %s", loss->name, strchr(loss->subtree, '.') + 1, options);
    w->model = model;
    w->loss = text;
    w->sizes = e->sizes;
    w->patch = e->patch;
    while (e->sizes[w->n_views])
        w->n_views++;
}

SrStatus tiny_model_start_batch(TinyModel *t, const SrLoss *loss, const SrLossExample *e,
                                const char *options, int replicas, int batch) {
    char model[2048], text[2048];
    TinyWorld w = {.batch = batch, .replicas = replicas};
    describe_example(loss, e, options, &w, model, text);
    return tiny_model_start_of(t, &w);
}

SrStatus tiny_model_start_seed(TinyModel *t, const SrLoss *loss, const SrLossExample *e, int seed) {
    char model[2048], text[2048];
    TinyWorld w = {.batch = 8, .replicas = 1, .seed = seed};
    describe_example(loss, e, e->options ? e->options : "{}", &w, model, text);
    return tiny_model_start_of(t, &w);
}

SrStatus tiny_model_start_wide(TinyModel *t, const SrLoss *loss, const SrLossExample *e) {
    char model[2048], text[2048];
    int widths[SR_MAX_VIEWS];
    TinyWorld w = {.batch = 8, .replicas = 1, .widths = widths};
    describe_example(loss, e, e->options ? e->options : "{}", &w, model, text);
    for (int v = 0; v < w.n_views; v++)
        widths[v] = e->sizes[v] * 3 / 2;
    return tiny_model_start_of(t, &w);
}

SrStatus tiny_model_open_unknown(TinyModel *t, const SrLoss *loss, const SrLossExample *e,
                                 const char *options) {
    char model[2048], text[2048];
    TinyWorld w = {.batch = 8, .replicas = 1, .unknown_samples = true};
    describe_example(loss, e, options, &w, model, text);
    return open_world(t, &w);
}

void tiny_model_close(TinyModel *t) {
    sr_replicas_free(t->replicas);
    sr_plan_free(t->plan);
    sr_plan_free(t->loss_plan);
    sr_optim_free(t->optim);
    sr_model_free(t->model);
    sr_config_free(t->config);
}

// Fills an input with first, first + 1, ... modulo `limit`. A plan has no memory for an input
// that no node reads.
static void fill_numbers(TinyModel *t, SrNodeId input, int64_t first, int limit) {
    SrTensor x = {.data = NULL};
    if (input != SR_NO_NODE)
        x = sr_plan_input(t->plan, input);
    for (int64_t i = 0; x.data && i < sr_shape_count(x.shape); i++)
        ((int64_t *)x.data)[i] = (first + i) % limit;
}

static void fill_images(TinyModel *t, int64_t first) {
    for (int v = 0; v < t->graph.n_views; v++) {
        SrTensor x = sr_plan_input(t->plan, t->graph.views[v]); // (N, H, W, 3)
        int64_t n = sr_shape_count(x.shape), image = n / x.shape.d[0];
        for (int64_t i = 0; i < n; i++) {
            double k = (double)(first + i / image) + 1, p = (double)(i % image) / (double)image;
            ((float *)x.data)[i] = (float)(sin(20 * k * p + k) + 0.1 * cos(17.0 * v + 300 * p));
        }
    }
}

// Masks a third of the patches, different ones in every image and view.
static void fill_masks(TinyModel *t, int64_t first) {
    for (int e = 0; e < t->graph.n_extras; e++) {
        SrTensor x = sr_plan_input(t->plan, t->graph.extras[e].input); // (N, patches)
        for (int64_t i = 0; i < sr_shape_count(x.shape); i++)
            ((float *)x.data)[i] = (float)((i + first + i / x.shape.d[1] + e) % 3 == 0);
    }
}

void tiny_model_fill(TinyModel *t) {
    for (int r = 0; r < t->graph.replicas; r++) {
        int64_t first = (int64_t)r * t->graph.batch;
        fill_images(t, first);
        fill_masks(t, first);
        fill_numbers(t, t->graph.labels, first, 4);
        fill_numbers(t, t->graph.sample_index, first, TINY_SAMPLES);
        if (t->replicas)
            sr_replicas_take(t->replicas, r, NULL);
    }
}

double tiny_model_step(TinyModel *t, double lr) {
    SrStepArgs args = {
        .lr = lr, .lr_head = lr, .iteration = t->iteration, .epoch = (int)(t->iteration / 3)};
    t->iteration++;
    double loss;
    sr_step_run(&t->step, &args, &loss);
    return loss;
}

bool tiny_model_has_node(const TinyModel *t, const char *name) {
    return sr_graph_find(t->graph.graph, name) != SR_NO_NODE;
}

const SrParam *tiny_model_param(TinyModel *t, const char *name) {
    SrParams *params = sr_model_params(t->model);
    int index = sr_params_find(params, name);
    return index < 0 ? NULL : sr_params_at(params, index);
}
