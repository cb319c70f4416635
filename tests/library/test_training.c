// Tests the training of sslrun.h: the bits of the program, the steps that the callback sees, a stop
// and a resume, and one run at a time.
#include "sslrun.h"

#include <pthread.h>

#include "base/log.h"
#include "base/text/json.h"
#include "tests/check.h"
#include "tests/checkpoint_pair.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"
#define LAST "model_final_checkpoint_phase2.safetensors"

enum { STEPS = 24, EPOCHS = 3, TENSORS = 60 };

static ProgramResult result; // too large for the stack of a test

typedef struct {
    int calls, stop_after; // stop_after 0: never
    SrTrainStep steps[STEPS];
    const char *dir; // tries a second run here inside the first call; NULL: does not
} Log;

static int train(const char *dir, Log *log);

static int on_step(void *arg, const SrTrainStep *step) {
    Log *log = arg;
    CHECK(log->calls < STEPS);
    log->steps[log->calls++] = *step;
    if (log->dir && log->calls == 1)
        CHECK_FAILS((SrStatus)train(log->dir, &(Log){0}), SR_ERR_CONFIG,
                    "this process trains another run");
    return log->calls == log->stop_after;
}

static int train(const char *dir, Log *log) {
    char folder[128];
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", dir);
    return sr_train(CONFIG, (const char *const[]){folder, "SEED_VALUE=5"}, 2, on_step, log);
}

static void check_same_run(const char *a, const char *b) {
    char x[128], y[128];
    snprintf(x, sizeof x, "%s/" LAST, a);
    snprintf(y, sizeof y, "%s/" LAST, b);
    check_same_checkpoint(x, y, TENSORS);
}

// Compares the losses with those of the program's stdout.json, which has every fourth step.
static void check_losses(const char *dir, const Log *log) {
    static char text[1 << 16];
    int seen = 0;
    program_read(dir, "stdout.json", text, sizeof text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        const char *iter = strstr(line, "\"iter\":"), *loss = strstr(line, "\"loss\":");
        int i = 0;
        double value = 0;
        CHECK(iter && loss && sscanf(iter + 7, "%d", &i) == 1 &&
              sscanf(loss + 7, "%lf", &value) == 1);
        CHECK_NEAR(log->steps[i].loss, value, 1e-6 * fabs(value));
        seen++;
    }
    CHECK(seen >= STEPS / 4);
}

TEST(test_bits) {
    char dir[64], by_program[96], by_call[96], folder[128];
    temp_dir_make(dir);
    snprintf(by_program, sizeof by_program, "%s/program", dir);
    snprintf(by_call, sizeof by_call, "%s/call", dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", by_program);
    program_run(&result, 1, (const char *const[]){CONFIG, folder, "SEED_VALUE=5", NULL});
    CHECK_INT(result.code, 0);
    Log log = {.dir = by_program}, after = {0};
    CHECK_OK((SrStatus)train(by_call, &log));
    check_same_run(by_program, by_call);
    CHECK_INT(log.calls, STEPS);
    for (int i = 0; i < STEPS; i++) {
        const SrTrainStep *s = &log.steps[i];
        CHECK_INT(s->step, i + 1);
        CHECK_INT(s->total_steps, STEPS);
        CHECK_INT(s->epoch, i / (STEPS / EPOCHS));
        CHECK(isfinite(s->loss) && s->lr > 0 && s->lr <= 0.3 && s->seconds > 0);
    }
    check_losses(by_program, &log);
    CHECK_OK((SrStatus)train(by_call, &after)); // it has finished
    CHECK_INT(after.calls, 0);
    char text[4096];
    program_read(by_call, "log.txt", text, sizeof text);
    CHECK(strstr(text, "==== sr_train " CONFIG " CHECKPOINT.DIR="));
    temp_dir_remove(dir);
}

TEST(test_stop_and_resume) {
    char dir[64], whole[96], parts[96];
    temp_dir_make(dir);
    snprintf(whole, sizeof whole, "%s/whole", dir);
    snprintf(parts, sizeof parts, "%s/parts", dir);
    Log log = {0};
    CHECK_OK((SrStatus)train(whole, &log));
    for (int begin = 0; begin < STEPS;) { // stops inside an epoch and at its end
        Log part = {.stop_after = begin ? 9 : 7};
        int status = train(parts, &part);
        CHECK_INT(part.calls, SR_MIN(part.stop_after, STEPS - begin));
        for (int i = 0; i < part.calls; i++) {
            CHECK_INT(part.steps[i].step, begin + i + 1);
            CHECK_NEAR(part.steps[i].loss, log.steps[begin + i].loss, 0);
        }
        begin += part.calls;
        CHECK_INT(status, begin < STEPS ? SR_STOPPED : 0);
        if (status)
            CHECK(strstr(sr_status_message(), "of 24 updates and saved") &&
                  strstr(sr_status_message(), "call sr_train with the same arguments"));
    }
    check_same_run(whole, parts);
    temp_dir_remove(dir);
}

// OPTIMIZER.MINUTES holds here too: a run that exists keeps its epochs.
TEST(test_minutes) {
    char dir[64], folder[128];
    Log first = {.stop_after = 3}, rest = {0};
    temp_dir_make(dir);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s/run", dir);
    CHECK_INT(train(folder + strlen("CHECKPOINT.DIR="), &first), SR_STOPPED);
    CHECK_OK((SrStatus)sr_train(
        CONFIG, (const char *const[]){folder, "SEED_VALUE=5", "OPTIMIZER.MINUTES=60"}, 3, on_step,
        &rest));
    CHECK_INT(first.calls + rest.calls, STEPS);
    CHECK_FAILS((SrStatus)sr_train(
                    CONFIG,
                    (const char *const[]){folder, "OPTIMIZER.MINUTES=60", "OPTIMIZER.num_epochs=3"},
                    3, NULL, NULL),
                SR_ERR_CONFIG, "leave it or OPTIMIZER.num_epochs=3 out");
    temp_dir_remove(dir);
}

// A trained run is a graph's and a model's trunk, with equal features.
TEST(test_run_as_trunk) {
    static float x[3 * 16 * 16];
    float a[32], b[32], *f = a, *g = b;
    char dir[64];
    SrFeatureModel *run, *of_graph;
    SrModelGraph *graph;
    temp_dir_make(dir);
    CHECK_OK((SrStatus)train(dir, &(Log){0}));
    for (int i = 0; i < SR_COUNT(x); i++)
        x[i] = sinf((float)i);
    CHECK_OK((SrStatus)sr_feature_model_open(dir, 1, 0, 0, &run));
    CHECK_OK((SrStatus)sr_feature_model_tap(run, "flatten", NULL, 0));
    CHECK_OK((SrStatus)sr_feature_model_features(run, x, 1, &f));
    CHECK_OK((SrStatus)sr_model_graph_open(dir, NULL, 1, 0, 0, &graph));
    CHECK_OK((SrStatus)sr_feature_model_open_graph(graph, &of_graph));
    sr_model_graph_close(graph);
    CHECK_OK((SrStatus)sr_feature_model_tap(of_graph, "flatten", NULL, 0));
    CHECK_OK((SrStatus)sr_feature_model_features(of_graph, x, 1, &g));
    CHECK(memcmp(a, b, sizeof a) == 0);
    sr_feature_model_close(run);
    sr_feature_model_close(of_graph);
    temp_dir_remove(dir);
}

typedef struct {
    SrFeatureModel *model;
    float x[3 * 16 * 16], f[32];
    int failed, turns;
} User;

static int compute(void *arg, const SrTrainStep *step) {
    User *user = arg;
    float *f = user->f;
    (void)step;
    user->failed |= sr_feature_model_features(user->model, user->x, 1, &f);
    user->turns++;
    return 0;
}

static void *compute_often(void *arg) {
    for (int i = 0; i < 200; i++)
        compute(arg, NULL);
    return NULL;
}

// Models compute in the callback and in another thread during a training, with the bits that they
// have alone, and the training has its own.
TEST(test_models_meanwhile) {
    static User users[3];
    char dir[64], alone[96], busy[96], folder[128];
    pthread_t thread;
    temp_dir_make(dir);
    snprintf(alone, sizeof alone, "%s/alone", dir);
    snprintf(busy, sizeof busy, "%s/busy", dir);
    CHECK_OK((SrStatus)train(alone, &(Log){0}));
    for (int i = 0; i < 3; i++) {
        CHECK_OK((SrStatus)sr_feature_model_open(CONFIG, 1, 0, 0, &users[i].model));
        CHECK_OK((SrStatus)sr_feature_model_tap(users[i].model, "flatten", NULL, 0));
        for (int k = 0; k < SR_COUNT(users[i].x); k++)
            users[i].x[k] = sinf((float)k);
    }
    compute(&users[0], NULL);
    snprintf(folder, sizeof folder, "CHECKPOINT.DIR=%s", busy);
    pthread_create(&thread, NULL, compute_often, &users[2]);
    CHECK_OK((SrStatus)sr_train(CONFIG, (const char *const[]){folder, "SEED_VALUE=5"}, 2, compute,
                                &users[1]));
    pthread_join(thread, NULL);
    CHECK_INT(users[1].turns, STEPS);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(users[i].failed, 0);
        CHECK(memcmp(users[i].f, users[0].f, sizeof users[i].f) == 0);
        sr_feature_model_close(users[i].model);
    }
    check_same_run(alone, busy);
    temp_dir_remove(dir);
}

TEST(test_mistakes) {
    CHECK_FAILS((SrStatus)sr_train("configs/none.yaml", NULL, 0, NULL, NULL), SR_ERR_CONFIG,
                "configs/none.yaml");
    CHECK_FAILS(
        (SrStatus)sr_train(CONFIG, (const char *const[]){"OPTIMIZER.num_epoch=1"}, 1, NULL, NULL),
        SR_ERR_CONFIG, "num_epochs");
    CHECK_FAILS((SrStatus)sr_train(CONFIG, (const char *const[]){"TEST_ONLY=True"}, 1, NULL, NULL),
                SR_ERR_CONFIG, "nothing learns");
    CHECK_FAILS((SrStatus)sr_train(NULL, NULL, 0, NULL, NULL), SR_ERR_CONFIG, "config` is NULL");
    CHECK_FAILS((SrStatus)sr_train(CONFIG, NULL, 1, NULL, NULL), SR_ERR_CONFIG,
                "overrides` is NULL");
    CHECK_INT(sr_log_level(), SR_LOG_WARN);
}

SR_TESTS(training, unit(test_bits), unit(test_stop_and_resume), unit(test_minutes),
         unit(test_run_as_trunk), unit(test_models_meanwhile), unit(test_mistakes))
