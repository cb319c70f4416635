// Makes the model of DISTILLATION.TEACHER_MODEL: its own architecture and weights, in the student's
// parameter table and on the student's views.  A momentum encoder is something else: it has the
// student's architecture (losses/shared/momentum_encoder.h).
#include "trainer/model/model_internal.h"
#include "trainer/model/weights_init.h"

static SrStatus open_teacher(SrModel *model, const char *prefix) {
    SR_TRY(sr_config_teacher(model->config, &model->teacher_config));
    SR_TRY(sr__model_new_over(model->teacher_config, model->params, &model->teacher));
    model->teacher_prefix = sr_arena_strdup(&model->arena, prefix);
    if (!model->teacher_prefix)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a teacher");
    return SR_OK;
}

SrStatus sr__model_teacher(SrModel *model, const char *prefix, SrModel **out) {
    if (!model->teacher) {
        SrStatus status = open_teacher(model, prefix);
        if (status != SR_OK)
            return sr_fail_prefix(status, "DISTILLATION.TEACHER_MODEL");
    }
    *out = model->teacher;
    (*out)->batch = model->batch;
    for (int v = 0; v < model->n_view_nodes; v++)
        SR_TRY(sr__model_map_view(*out, v, model->n_view_nodes, model->view_node[v]));
    return SR_OK;
}

const char *sr_model_teacher_file(const SrModel *model) {
    return model->teacher ? model->teacher_config->model.params_file : NULL;
}

SrStatus sr_model_load_teacher(SrModel *model, const char *path, bool random) {
    SrWeightsSource source = sr_weights_source(&model->teacher_config->model);
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
