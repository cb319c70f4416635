// A model small enough for tests; see the header.
#include "tests/trainer/tiny_model.h"

#include <math.h>
#include <string.h>

SrStatus tiny_model_open(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                         const int *sizes) {
    SrText text = SR_TEXT_INIT;
    *t = (TinyModel){.iteration = 0};
    sr_text_printf(
        &text,
        "MODEL: {%s}\nLOSS: {%s}\nDATA: {TRAIN: {COLLATE_FUNCTION: multicrop_collator, "
        "BATCHSIZE_PER_REPLICA: %d, TRANSFORMS: [{name: ImgPilToMultiCrop, total_num_crops: %d, "
        "num_crops: [%d]}]}}\n",
        model, loss, batch, n_views, n_views);
    SrStatus status = sr_config_parse(text.s, "tiny.yaml", NULL, 0, &t->config);
    sr_text_deinit(&text);
    SR_TRY(status);
    SR_TRY(sr_model_new(t->config, &t->model));
    return sr_model_build_train(t->model, batch, n_views, sizes, sizes, 0, &t->graph);
}

SrStatus tiny_model_start(TinyModel *t, const char *model, const char *loss, int batch, int n_views,
                          const int *sizes) {
    SR_TRY(tiny_model_open(t, model, loss, batch, n_views, sizes));
    SR_TRY(sr_params_allocate(sr_model_params(t->model)));
    SR_TRY(sr_model_init(t->model, &t->graph, 1));
    SrPlanOptions options = {.mode = SR_MODE_TRAIN,
                             .outputs = t->graph.outputs,
                             .n_outputs = t->graph.n_outputs,
                             .losses = &t->graph.loss,
                             .n_losses = 1};
    SR_TRY(sr_plan_compile(t->graph.graph, &options, &t->plan));
    tiny_model_fill(t);
    return SR_OK;
}

void tiny_model_close(TinyModel *t) {
    sr_plan_free(t->plan);
    sr_model_free(t->model);
    sr_config_free(t->config);
}

void tiny_model_fill(TinyModel *t) {
    for (int v = 0; v < t->graph.n_views; v++) {
        SrTensor x = sr_plan_input(t->plan, t->graph.views[v]); // (N, H, W, 3)
        int64_t n = sr_shape_count(x.shape), image = n / x.shape.d[0];
        for (int64_t i = 0; i < n; i++) {
            double k = (double)(i / image) + 1, p = (double)(i % image) / (double)image;
            ((float *)x.data)[i] = (float)(sin(20 * k * p + k) + 0.1 * cos(17.0 * v + 300 * p));
        }
    }
    if (t->graph.labels == SR_NO_NODE)
        return;
    SrTensor labels = sr_plan_input(t->plan, t->graph.labels); // (N)
    for (int64_t i = 0; i < sr_shape_count(labels.shape); i++)
        ((int64_t *)labels.data)[i] = i % 4;
}

static void descend(SrParams *params, double lr) {
    for (int i = 0; i < sr_params_count(params); i++) {
        SrParam *p = sr_params_at(params, i);
        for (int64_t j = 0; p->grad && j < sr_shape_count(p->shape); j++)
            ((float *)p->value)[j] -= (float)(lr * (double)p->grad[j]);
    }
}

double tiny_model_step(TinyModel *t, double lr) {
    SrParams *params = sr_model_params(t->model);
    const SrLoss *kind = t->graph.loss_kind;
    SrLossStep step = {
        .params = params, .plan = t->plan, .iteration = t->iteration, .max_iterations = 100};
    if (kind->before_step)
        kind->before_step(t->graph.loss_state, &step);
    sr_params_zero_grad(params);
    sr_plan_forward(t->plan, t->iteration++);
    double loss = (double)*(const float *)sr_plan_output(t->plan, t->graph.loss).data;
    sr_plan_backward(t->plan);
    if (kind->after_backward)
        kind->after_backward(t->graph.loss_state, &step);
    descend(params, lr);
    if (kind->after_update)
        kind->after_update(t->graph.loss_state, &step);
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
