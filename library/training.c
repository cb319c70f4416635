// Implements the training of sslrun.h over the trainer's loop.
#include "library/training.h"

#include <pthread.h>

#include "base/log.h"
#include "base/text/text.h"
#include "library/arguments.h"
#include "library/trunk_source.h"
#include "trainer/bench/minutes.h"
#include "trainer/config/config.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

_Static_assert(SR_STOPPED == SR_ERR_INTERRUPT, "the status of sslrun.h");

static pthread_mutex_t one_run = PTHREAD_MUTEX_INITIALIZER;

typedef struct {
    const SrLibraryTraining *training;
    int stop; // the caller asked to stop
} Caller;

static void stepped(void *arg, const SrTrainStep *step) {
    Caller *caller = arg;
    const SrLibraryTraining *t = caller->training;
    if (t->on_step && t->on_step(t->arg, step) != 0)
        caller->stop = 1;
}

static int stop_asked(void *arg) { return ((Caller *)arg)->stop; }

static SrStatus train(const SrConfig *config, Caller *caller) {
    SrRun *run;
    SrTrainResult result;
    SrTrainOptions options = {.stop = stop_asked,
                              .stop_arg = caller,
                              .stepped = stepped,
                              .stepped_arg = caller,
                              .again = caller->training->again};
    if (!config->learns || config->test_only)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: nothing learns in this configuration of an evaluation; `sslrun` runs it",
                config->path);
    SrStatus status = sr_train_run(config, &options, &run, &result);
    sr_run_close(run);
    return status;
}

static SrStatus load_and_train(const SrLibraryTraining *t) {
    SrConfig *config;
    sr__library_start();
    sr_train_heading(t->call);
    SrStatus status = t->load(t->load_arg, &config);
    if (status == SR_OK) {
        status = train(config, &(Caller){t, 0});
        sr_config_free(config);
    }
    if (status != SR_OK)
        sr_log_file("%s", sr_status_message());
    sr_log_close();
    return status;
}

SrStatus sr__library_train(const SrLibraryTraining *training) {
    if (pthread_mutex_trylock(&one_run) != 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: this process trains another run; train this one when that has ended, or from "
                "another process",
                training->path);
    SrStatus status = load_and_train(training);
    pthread_mutex_unlock(&one_run);
    return status;
}

// ---- from a file

typedef struct {
    const char *config;
    const char *const *overrides; // (n)
    int n;
} File;

static SrStatus load_file(const void *arg, SrConfig **out) {
    const File *f = arg;
    SR_TRY(sr_config_load(f->config, f->overrides, f->n, out));
    return sr_minutes_fit(f->config, f->overrides, f->n, false, out);
}

int sr_train(const char *config, const char *const *overrides, int n,
             int (*on_step)(void *arg, const SrTrainStep *step), void *arg) {
    SrText call = SR_TEXT_INIT;
    SR_NEED(config, "config");
    for (int i = 0; i < n; i++)
        SR_NEED(overrides && overrides[i], "overrides");
    sr_text_printf(&call, "sr_train %s", config);
    for (int i = 0; i < n; i++) {
        sr_text_add(&call, " ");
        sr_text_add_word(&call, overrides[i]);
    }
    SrStatus status = sr__library_train(
        &(SrLibraryTraining){.path = config,
                             .call = call.s ? call.s : "",
                             .again = "call sr_train with the same arguments",
                             .load = load_file,
                             .load_arg = &(File){config, overrides, n > 0 ? n : 0},
                             .on_step = on_step,
                             .arg = arg});
    sr_text_deinit(&call);
    return (int)status;
}
