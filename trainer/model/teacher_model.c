// Makes the model of DISTILLATION.TEACHER_MODEL: its own architecture and weights, in the student's
// parameter table and on the student's views.  A momentum encoder is something else: it has the
// student's architecture (losses/shared/momentum_encoder.h).
#include "trainer/model/teacher_model.h"

#include <stdio.h>

#include "kernels/basic/interpolate.h"
#include "trainer/config/derived_config.h"
#include "trainer/model/model_forward.h"
#include "trainer/model/model_internal.h"
#include "trainer/model/train_graph.h"
#include "trainer/model/weights_init.h"

static SrStatus open_teacher(SrModel *model, const char *prefix) {
    SR_TRY(sr_config_teacher(model->config, &model->teacher_config));
    SR_TRY(sr__model_new_over(model->teacher_config, model->params, &model->teacher));
    model->teacher_prefix = sr_arena_strdup(&model->arena, prefix);
    SR_TRY_MEMORY(model->teacher_prefix, "a teacher");
    return SR_OK;
}

// Builds what the teacher sees of a view: the view at DISTILLATION.TEACHER_INPUT_SIZE.
static SrNodeId resized(const SrModel *model, SrBuilder *b, SrNodeId view) {
    int side = model->config->distillation.teacher_side;
    SrShape shape = sr_build_shape(b, view);
    SrInterpolateParams p = {.h = side, .w = side};
    if (side == 0 || (shape.d[1] == side && shape.d[2] == side))
        return view;
    bool aside = sr_builder_set_aside(b, true);
    const char *nodes = sr_builder_set_node_prefix(b, model->teacher_prefix);
    view = sr_build(b, "interpolate", "input_size", &p, view);
    sr_builder_set_aside(b, aside);
    sr_builder_set_node_prefix(b, nodes);
    return view;
}

// Runs the teacher on views of the batch.  all: (model->n_view_nodes) nodes of every view.  views:
// (n) indices; NULL: the first n.
static SrStatus forward(SrModel *model, SrBuilder *b, const SrModelRun *run, const SrNodeId *all,
                        const int *views, int n, SrOutputs *out) {
    SrModel *teacher = model->teacher;
    SrNodeId inputs[SR_MAX_VIEWS];
    teacher->batch = model->batch;
    for (int v = 0; v < model->n_view_nodes; v++)
        SR_TRY(sr__model_map_view(teacher, v, model->n_view_nodes, all[v]));
    for (int i = 0; i < n; i++) {
        int v = views ? views[i] : i;
        inputs[i] = teacher->view_node[v] = resized(model, b, all[v]);
    }
    return sr_model_forward(teacher, b, run, inputs, n, out);
}

// Builds the teacher's own inputs of all views, once.
static SrStatus teacher_views(SrModel *model, SrBuilder *b) {
    SrTeacherGraph *t = &model->train->teacher;
    for (; t->n_views < model->n_view_nodes; t->n_views++) {
        char name[24];
        snprintf(name, sizeof name, "crop%d", t->n_views);
        SrShape shape = sr_build_shape(model->images, model->view_node[t->n_views]);
        t->views[t->n_views] = sr_build_input(b, name, shape, SR_F32);
    }
    return sr_builder_status(b);
}

// Puts an input of the images' graph in the place of each output.
static SrStatus teacher_inputs(SrModel *model, SrBuilder *b, SrOutputs *outputs) {
    SrTeacherGraph *t = &model->train->teacher;
    for (int i = 0; i < outputs->n; i++) {
        char name[24];
        if (t->n_outputs == SR_MAX_OUTPUTS)
            return sr_builder_fail(
                b, SR_ERR_CONFIG, "DISTILLATION.CACHED_VIEWS: the teacher has more than %d outputs",
                SR_MAX_OUTPUTS);
        snprintf(name, sizeof name, "teacher%d", t->n_outputs);
        SrNodeId from = outputs->v[i].node;
        const char *nodes = sr_builder_set_node_prefix(model->images, "");
        SrNodeId input = sr_build_input(model->images, name, sr_build_shape(b, from), SR_F32);
        sr_builder_set_node_prefix(model->images, nodes);
        t->outputs[t->n_outputs] = from;
        t->inputs[t->n_outputs++] = outputs->v[i].node = input;
    }
    return sr_builder_status(model->images);
}

// Builds the forward into the teacher's own graph, for DISTILLATION.CACHED_VIEWS.
static SrStatus apart(SrModel *model, const SrModelRun *run, const int *views, int n,
                      SrOutputs *out) {
    SrTeacherGraph *t = &model->train->teacher;
    SrBuilder *b = NULL;
    SrStatus status;
    if (!t->graph)
        SR_TRY(sr__model_add_graph(model, &t->graph));
    SR_TRY(sr_builder_new(t->graph, &b));
    SR_TRY_GOTO(teacher_views(model, b));
    SR_TRY_GOTO(forward(model, b, run, t->views, views, n, out));
    SR_TRY_GOTO(teacher_inputs(model, b, out));
done:
    sr_builder_free(b);
    return status;
}

SrStatus sr__model_teacher(SrModel *model, const SrModelRun *asked, int n, SrOutputs *out) {
    SrModelRun run = *asked;
    if (!model->teacher) {
        SrStatus status = open_teacher(model, run.prefix);
        if (status != SR_OK)
            return sr_fail_prefix(status, "DISTILLATION.TEACHER_MODEL");
    }
    run.trainable = run.masked = false;
    run.visible = NULL;
    run.use_running = true;
    run.running_from = 0;
    if (model->config->distillation.cached_views > 0)
        return apart(model, &run, run.views, n, out);
    return forward(model, model->images, &run, model->view_node, run.views, n, out);
}

const char *sr_model_teacher_file(const SrModel *model) {
    return model->teacher ? model->teacher_config->model.params_file : NULL;
}

SrStatus sr_model_load_teacher(SrModel *model, const char *path, bool random) {
    SrWeightsSource source = sr_weights_source(model->teacher_config);
    source.prefix = model->teacher_prefix;
    source.path = path;
    if (!*source.path && random)
        return SR_OK;
    if (!*source.path)
        SR_FAIL(SR_ERR_CONFIG,
                "DISTILLATION.TEACHER_MODEL.WEIGHTS_INIT.PARAMS_FILE is empty: name the weights of "
                "the teacher, or use an untrained teacher with --random");
    SrStatus status = sr_weights_load(&source, model->params);
    return status == SR_OK ? SR_OK : sr_fail_prefix(status, "DISTILLATION.TEACHER_MODEL");
}
