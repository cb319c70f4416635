// Implements the training of sslrun.h over the trainer's loop.  Log, request to stop and messages
// of a run belong to the process, so that one run trains at a time.
#include <pthread.h>

#include "base/log.h"
#include "base/text/text.h"
#include "library/arguments.h"
#include "library/trunk_source.h"
#include "sslrun.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

_Static_assert(SR_STOPPED == SR_ERR_INTERRUPT, "the status of sslrun.h");

static pthread_mutex_t one_run = PTHREAD_MUTEX_INITIALIZER;

typedef struct {
    int (*on_step)(void *arg, const SrTrainStep *step);
    void *arg;
    int stop; // the caller asked to stop
} Caller;

static void stepped(void *arg, const SrTrainStep *step) {
    Caller *caller = arg;
    if (caller->on_step && caller->on_step(caller->arg, step) != 0)
        caller->stop = 1;
}

static int stop_asked(void *arg) { return ((Caller *)arg)->stop; }

// Writes the call as the heading of this start into log.txt.
static void say_heading(const char *config, const char *const *overrides, int n) {
    SrText call = SR_TEXT_INIT;
    sr_text_printf(&call, "sr_train %s", config);
    for (int i = 0; i < n; i++) {
        sr_text_add(&call, " ");
        sr_text_add_word(&call, overrides[i]);
    }
    sr_train_heading(call.s ? call.s : "");
    sr_text_deinit(&call);
}

static SrStatus train(const SrConfig *config, Caller *caller) {
    SrRun *run;
    SrTrainResult result;
    SrTrainOptions options = {.stop = stop_asked,
                              .stop_arg = caller,
                              .stepped = stepped,
                              .stepped_arg = caller,
                              .again = "call sr_train with the same arguments"};
    if (!config->learns || config->test_only)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: nothing learns in this configuration of an evaluation; `sslrun` runs it",
                config->path);
    SrStatus status = sr_train_run(config, &options, &run, &result);
    sr_run_close(run);
    return status;
}

static SrStatus load_and_train(const char *path, const char *const *overrides, int n,
                               Caller *caller) {
    SrConfig *config;
    sr__library_start();
    say_heading(path, overrides, n);
    SrStatus status = sr_config_load(path, overrides, n, &config);
    if (status == SR_OK) {
        status = train(config, caller);
        sr_config_free(config);
    }
    if (status != SR_OK)
        sr_log_file("%s", sr_status_message());
    sr_log_close();
    return status;
}

int sr_train(const char *config, const char *const *overrides, int n,
             int (*on_step)(void *arg, const SrTrainStep *step), void *arg) {
    SR_NEED(config, "config");
    for (int i = 0; i < n; i++)
        SR_NEED(overrides && overrides[i], "overrides");
    if (pthread_mutex_trylock(&one_run) != 0)
        return (int)sr_fail(SR_ERR_CONFIG,
                            "%s: this process trains another run; call sr_train "
                            "when that has ended, or from another process",
                            config);
    SrStatus status = load_and_train(config, overrides, n > 0 ? n : 0, &(Caller){on_step, arg, 0});
    pthread_mutex_unlock(&one_run);
    return (int)status;
}
