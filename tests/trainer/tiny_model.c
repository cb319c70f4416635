// A model small enough for tests; see the header.
#include "tests/trainer/tiny_model.h"

#include <math.h>
#include <string.h>

static SrStatus open_world(TinyModel *t, int replicas, const char *model, const char *loss,
                           int batch, int n_views, const int *sizes) {
    SrText text = SR_TEXT_INIT;
    *t = (TinyModel){.iteration = 0};
    sr_text_printf(
        &text,
        "MODEL: {%s}\nLOSS: {%s}\nOPTIMIZER: {momentum: 0.0, weight_decay: 0.0}\nDISTRIBUTED: "
        "{REPLICAS: %d}\nDATA: {TRAIN: "
        "{COLLATE_FUNCTION: multicrop_collator, "
        "BATCHSIZE_PER_REPLICA: %d, TRANSFORMS: [{name: ImgPilToMultiCrop, total_num_crops: %d, "
        "num_crops: [%d]}]}}\n",
        model, loss, replicas, batch, n_views, n_views);
    SrStatus status = sr_config_parse(text.s, "tiny.yaml", NULL, 0, &t->config);
    sr_text_deinit(&text);
    SR_TRY(status);
    SR_TRY(sr_model_new(t->config, &t->model));
    return sr_model_build_train(t->model, batch, n_views, sizes, sizes, TINY_SAMPLES, &t->graph);
}

SrStatus tiny_model_open(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                         const int *sizes) {
    return open_world(t, 1, model, loss, batch, n_views, sizes);
}

SrStatus tiny_model_start(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                          const int *sizes) {
    return tiny_model_start_world(t, 1, model, loss, batch, n_views, sizes);
}

SrStatus tiny_model_start_world(TinyModel *t, int replicas, const char *model, const char *loss,
                                int batch, int n_views, const int *sizes) {
    SR_TRY(open_world(t, replicas, model, loss, batch, n_views, sizes));
    SrParams *params = sr_model_params(t->model);
    SR_TRY(sr_params_allocate(params));
    sr_params_init(params, 1);
    SR_TRY(sr_optim_new(params, &t->config->optimizer, &t->optim));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN};
    SR_TRY(sr_replicas_compile(&t->graph, &options, &t->plan, &t->loss_plan));
    if (replicas > 1)
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

void tiny_model_close(TinyModel *t) {
    sr_replicas_free(t->replicas);
    sr_plan_free(t->plan);
    sr_plan_free(t->loss_plan);
    sr_optim_free(t->optim);
    sr_model_free(t->model);
    sr_config_free(t->config);
}

// first, first + 1, .. modulo `limit`; a plan has no memory for an input that nothing reads.
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

void tiny_model_fill(TinyModel *t) {
    for (int r = 0; r < t->graph.replicas; r++) {
        int64_t first = (int64_t)r * t->graph.batch;
        fill_images(t, first);
        fill_numbers(t, t->graph.labels, first, 4);
        fill_numbers(t, t->graph.sample_index, first, TINY_SAMPLES);
        if (t->replicas)
            sr_replicas_take(t->replicas, r);
    }
}

double tiny_model_step(TinyModel *t, double lr) {
    SrStepArgs args = {.lr = lr, .lr_head = lr, .iteration = t->iteration++};
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
