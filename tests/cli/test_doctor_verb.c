// Tests sslrun doctor on three runs of the program: a healthy one, one whose teacher does not
// change, one that stops at a NaN.
#include <stdio.h>

#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define CONFIG "tests/cli/tiny.yaml"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 1, (const char *const[]){__VA_ARGS__, NULL})

TEST(test_well) {
    char dir[64], run[96];
    temp_dir_make(dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s", dir);
    RUN(CONFIG, run, "OPTIMIZER.num_epochs=2");
    CHECK_INT(result.code, 0);
    RUN("doctor", dir);
    if (result.code != 0 || !strstr(result.out, "no problems were found in 2 epochs"))
        fail_msg("exit code %d: %s%s", result.code, result.out, result.err);
    temp_dir_remove(dir);
}

TEST(test_teacher_still) {
    char dir[64], run[96];
    temp_dir_make(dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s", dir);
    RUN(CONFIG, run, "OPTIMIZER.num_epochs=3", "LOSS.name=byol_loss", "LOSS.byol_loss.momentum=1",
        "LOSS.byol_loss.predictor_hidden_dim=16", "MODEL.HEAD.PARAMS=[[mlp, {dims: [32, 16]}]]",
        "MODEL.TEMP_FROZEN_PARAMS_ITER_MAP=[]");
    CHECK_INT(result.code, 0);
    RUN("doctor", dir);
    if (result.code != 1 || !strstr(result.out, "teacher_still (epoch 1 to 2, 2 times)") ||
        !strstr(result.out, "LOSS.byol_loss.momentum=0.996"))
        fail_msg("exit code %d: %s%s", result.code, result.out, result.err);
    temp_dir_remove(dir);
}

TEST(test_not_finite) {
    char dir[64], run[96];
    temp_dir_make(dir);
    snprintf(run, sizeof run, "CHECKPOINT.DIR=%s", dir);
    RUN(CONFIG, run, "OPTIMIZER.num_epochs=2", "OPTIMIZER.use_larc=False",
        "OPTIMIZER.weight_decay=1e6", "OPTIMIZER.param_schedulers.lr.start_value=1e6");
    CHECK_INT(result.code, 1);
    RUN("doctor", dir);
    if (result.code != 1 || !strstr(result.out, "not_finite"))
        fail_msg("exit code %d: %s%s", result.code, result.out, result.err);
    temp_dir_remove(dir);
}

// The verdict of an evaluation is a finding: a run that learned nothing is not healthy.
TEST(test_verdict) {
    static const char *const ends[] = {"17.5", "77.5"};
    char dir[64], lines[512];
    temp_dir_make(dir);
    for (int i = 0; i < 2; i++) {
        snprintf(lines, sizeof lines,
                 "{\"train_phase_idx\": 0, \"train_loss\": 1.5}\n"
                 "{\"labels\": true, \"test_images\": 372, \"layer\": \"flatten\", "
                 "\"trained_top1_k20\": %s, \"untrained_top1_k20\": 22.5, "
                 "\"pixels_top1_k20\": 40.25, \"majority_top1_k20\": 19.5}\n",
                 ends[i]);
        fixture_write(dir, "metrics.json", lines, strlen(lines));
        RUN("doctor", dir);
        CHECK_INT(result.code, i == 0);
        CHECK(strstr(result.out,
                     i ? "evaluation: Training helped" : "evaluation: Training did not help"));
        CHECK_INT(strstr(result.out, "no problems were found in 1 epoch") != NULL, i);
        CHECK_INT(strstr(result.err, "1 problem in ") != NULL, !i);
    }
    temp_dir_remove(dir);
}

TEST(test_refused) {
    char dir[64];
    temp_dir_make(dir);
    fixture_write(dir, "metrics.json",
                  "{\"iteration\": ", 14); // killed while it wrote the line of its first epoch
    RUN("doctor", dir);
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "metrics.json: the file has no line of a finished epoch"));
    temp_dir_remove(dir);
    RUN("doctor", "no/such/run");
    CHECK_INT(result.code, 2);
    RUN("doctor");
    CHECK_INT(result.code, 2);
}

SR_TESTS(doctor_verb, unit(test_well), unit(test_teacher_still), unit(test_not_finite),
         unit(test_verdict), unit(test_refused))
