// Tests distillation end to end: a student learns from a teacher of another architecture. The
// teacher's weights come from a checkpoint, never change, and are saved in the student's
// checkpoints, so that a resumed run does not need the file.
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

#define TRUNK(width) \
    "TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: " width ", SMALL_IMAGE_STEM: true}}"

static const char text[] =
    "DATA:\n"
    "  NUM_DATALOADER_WORKERS: 1\n"
    "  TRAIN:\n"
    "    DATA_SOURCES: [synthetic]\n"
    "    LABEL_SOURCES: [synthetic]\n"
    "    LABEL_TYPE: standard\n"
    "    RANDOM_SYNTHETIC_IMAGES: True\n"
    "    RANDOM_SYNTHETIC_LABELS: 4\n"
    "    DEFAULT_GRAY_IMG_SIZE: 16\n"
    "    DATA_LIMIT: 32\n"
    "    BATCHSIZE_PER_REPLICA: 8\n"
    "    TRANSFORMS: [{name: CenterCrop, size: 16}, {name: ToTensor}, {name: Normalize}]\n"
    "TEST_MODEL: False\n"
    "MODEL: {" TRUNK("0.0625") ", HEAD: {PARAMS: [[mlp, {dims: [32, 4]}]]}}\n"
                               "LOSS: {name: cross_entropy_multiple_output_single_target}\n"
                               "OPTIMIZER: {num_epochs: 1, momentum: 0.9, param_schedulers: {lr: "
                               "{name: constant, value: "
                               "0.02}}}\n";

static char dir[64];

static SrStatus train(const char *folder, const char *const *more, int n, SrRun **run,
                      SrConfig **config) {
    const char *all[8];
    char at[128];
    SrTrainResult result;
    snprintf(at, sizeof at, "CHECKPOINT.DIR=%s/%s", dir, folder);
    all[0] = at;
    for (int i = 0; i < n; i++)
        all[1 + i] = more[i];
    *run = NULL;
    SR_TRY(sr_config_parse(text, "distil.yaml", all, 1 + n, config));
    return sr_train_run(*config, &(SrTrainOptions){0}, run, &result);
}

static void finish(SrRun *run, SrConfig *config) {
    sr_run_close(run);
    sr_config_free(config);
    sr_log_close();
}

// Fails unless every entry of the teacher inside `student` equals the same entry of `teacher`.
// Returns how many there are.
static int check_teacher(SrRun *student, SrRun *teacher) {
    static const char prefix[] = "loss.teacher_model.";
    SrParams *params = sr_model_params(student->model), *from = sr_model_params(teacher->model);
    int n = 0;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        if (strncmp(p->name, prefix, strlen(prefix)) != 0)
            continue;
        int at = sr_params_find(from, p->name + strlen(prefix));
        CHECK(at >= 0 && !p->trainable);
        if (strstr(p->name, "num_batches_tracked")) // SKIP_LAYERS leaves it out
            continue;
        if (memcmp(p->value, sr_params_at(from, at)->value,
                   (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype)) != 0)
            fail_msg("%s is not the teacher's", p->name);
        n++;
    }
    return n;
}

TEST(test_teacher) {
    enum { TEACHERS = 20 + 4 * 20 + 2 }; // convolutions, norms, its head
    SrRun *teacher, *student, *again;
    SrConfig *configs[3];
    char weights[256];
    const char *wide[] = {"MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.125",
                          "MODEL.HEAD.PARAMS=[[mlp, {dims: [64, 4]}]]"};
    temp_dir_make(dir);
    CHECK_OK(train("teacher", wide, 2, &teacher, &configs[0]));
    snprintf(weights, sizeof weights,
             "+DISTILLATION.TEACHER_MODEL.WEIGHTS_INIT={PARAMS_FILE: %s/teacher}", dir);
    const char *small[] = {"LOSS.name=distillation_loss",
                           "LOSS.distillation_loss.soft_target_alpha=0.5",
                           "+DISTILLATION.TEACHER_MODEL.TRUNK={RESNETS: {WIDTH_MULTIPLIER: 0.125}}",
                           "+DISTILLATION.TEACHER_MODEL.HEAD={PARAMS: [[mlp, {dims: [64, 4]}]]}",
                           weights,
                           "OPTIMIZER.num_epochs=2"};
    CHECK_OK(train("student", small, 6, &student, &configs[1]));
    CHECK_INT(check_teacher(student, teacher), TEACHERS);
    finish(student, configs[1]);
    // The run resumes from its own checkpoint, so that a missing file of the teacher does not
    // matter.
    small[4] = "+DISTILLATION.TEACHER_MODEL.WEIGHTS_INIT={PARAMS_FILE: /gone.safetensors}";
    small[5] = "OPTIMIZER.num_epochs=3";
    CHECK_OK(train("student", small, 6, &again, &configs[2]));
    CHECK_INT(check_teacher(again, teacher), TEACHERS);
    finish(again, configs[2]);
    finish(teacher, configs[0]);
    temp_dir_remove(dir);
}

TEST(test_refusals) {
    SrRun *run;
    SrConfig *config = NULL;
    temp_dir_make(dir);
    const char *without[] = {"LOSS.name=distillation_loss"};
    CHECK_FAILS(train("a", without, 1, &run, &config), SR_ERR_CONFIG,
                "TEACHER_MODEL.WEIGHTS_INIT.PARAMS_FILE is empty");
    finish(run, config);
    const char *other[] = {"LOSS.name=distillation_loss",
                           "+DISTILLATION.TEACHER_MODEL.HEAD={PARAMS: [[mlp, {dims: [32, 5]}]]}"};
    CHECK_FAILS(train("b", other, 2, &run, &config), SR_ERR_CONFIG, "the student gives 4 scores");
    finish(run, config);
    temp_dir_remove(dir);
}

// Counts the nodes of `graph` that resize views, whose results must have `side` rows and columns.
static int count_resized(const SrGraph *graph, int side) {
    int n = 0;
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        const SrNode *node = sr_graph_at(graph, id);
        if (!node->op || strcmp(node->op->name, "interpolate") != 0)
            continue;
        CHECK_INT(node->shape.d[1], side);
        CHECK_INT(node->shape.d[2], side);
        n++;
    }
    return n;
}

// The teacher alone sees another size: in the step's graph, and in its own graph if its outputs are
// cached.  A size that the views have already needs no node.
TEST(test_input_size) {
    const char *more[] = {"LOSS.name=distillation_loss", "DISTILLATION.TEACHER_INPUT_SIZE=24",
                          "DISTILLATION.CACHED_VIEWS=0"};
    SrConfig *config;
    SrRun *run;
    for (int i = 0; i < 3; i++) {
        more[1] =
            i < 2 ? "DISTILLATION.TEACHER_INPUT_SIZE=24" : "DISTILLATION.TEACHER_INPUT_SIZE=16";
        more[2] = i == 1 ? "DISTILLATION.CACHED_VIEWS=2" : "DISTILLATION.CACHED_VIEWS=0";
        CHECK_OK(sr_config_parse(text, "distil.yaml", more, 3, &config));
        CHECK_OK(sr_run_open(config, SR_RUN_CHECK, &run));
        CHECK_INT(count_resized(run->graph.graph, 24), i == 0);
        if (i == 1)
            CHECK_INT(count_resized(run->graph.teacher.graph, 24), 1);
        sr_run_close(run);
        sr_config_free(config);
    }
}

SR_TESTS(distillation, unit(test_teacher), unit(test_refusals), unit(test_input_size))
