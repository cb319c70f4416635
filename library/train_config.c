// Implements the configuration from values of sslrun.h: a draft, and the calls that made it.
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml_print.h"
#include "base/text/yaml_scalar.h"
#include "library/arguments.h"
#include "library/training.h"
#include "library/trunk_source.h"
#include "sslrun.h"
#include "trainer/config/config.h"
#include "trainer/config/config_draft.h"

struct SrTrainConfig {
    SrConfigDraft *draft;
    SrText call; // file and values as words of a command line, for log.txt
};

int sr_train_config_open(const char *config, SrTrainConfig **out) {
    SR_NEED(out, "out");
    sr__library_start();
    SrTrainConfig *c = sr_calloc(1, sizeof *c);
    SR_TRY_MEMORY(c, "a configuration");
    SrStatus status = sr_config_draft_new(config, &c->draft);
    if (status != SR_OK) {
        sr_train_config_close(c);
        return (int)status;
    }
    sr_text_printf(&c->call, "sr_train_config_run%s%s", config ? " " : "", config ? config : "");
    *out = c;
    return 0;
}

void sr_train_config_close(SrTrainConfig *config) {
    if (!config)
        return;
    sr_config_draft_free(config->draft);
    sr_text_deinit(&config->call);
    sr_free(config);
}

static SrArena *arena(const SrTrainConfig *config) { return &config->draft->config.arena; }

// Sets a value that was made in the configuration's arena.
static int set(SrTrainConfig *config, const char *key, SrYaml *value) {
    SrText word = SR_TEXT_INIT;
    SrStatus status = sr_config_draft_set(config->draft, key, value);
    if (status != SR_OK)
        return (int)status;
    sr_text_printf(&word, "%s=", key);
    sr_yaml_print_flow(value, &word);
    sr_text_add(&config->call, " ");
    sr_text_add_word(&config->call, word.s ? word.s : "");
    sr_text_deinit(&word);
    return 0;
}

#define SET(value)                      \
    do {                                \
        SR_NEED(config, "config");      \
        SR_NEED(key, "key");            \
        return set(config, key, value); \
    } while (0)

int sr_train_config_bool(SrTrainConfig *config, const char *key, int value) {
    SET(sr_yaml_bool(arena(config), value != 0));
}

int sr_train_config_int(SrTrainConfig *config, const char *key, int64_t value) {
    SET(sr_yaml_int(arena(config), value));
}

int sr_train_config_number(SrTrainConfig *config, const char *key, double value) {
    SET(sr_yaml_float(arena(config), value));
}

int sr_train_config_text(SrTrainConfig *config, const char *key, const char *value) {
    SET(sr_yaml_string(arena(config), value));
}

// Makes a list of the n items of the one array that is not NULL; NULL: memory is out.
static SrYaml *list_of(SrArena *to, const int64_t *ints, const double *numbers,
                       const char *const *texts, int n) {
    SrYaml *list = sr_yaml_new(to, SR_YAML_LIST, "", 0);
    for (int i = 0; list && i < n; i++) {
        SrYaml *item = ints      ? sr_yaml_int(to, ints[i])
                       : numbers ? sr_yaml_float(to, numbers[i])
                                 : sr_yaml_string(to, texts[i]);
        if (sr_yaml_append(to, list, item) != SR_OK)
            return NULL;
    }
    return list;
}

#define SET_LIST(ints, numbers, texts)                        \
    do {                                                      \
        if (n > 0)                                            \
            SR_NEED(values, "values");                        \
        SET(list_of(arena(config), ints, numbers, texts, n)); \
    } while (0)

int sr_train_config_ints(SrTrainConfig *config, const char *key, const int64_t *values, int n) {
    SET_LIST(values, NULL, NULL);
}

int sr_train_config_numbers(SrTrainConfig *config, const char *key, const double *values, int n) {
    SET_LIST(NULL, values, NULL);
}

int sr_train_config_texts(SrTrainConfig *config, const char *key, const char *const *values,
                          int n) {
    SET_LIST(NULL, NULL, values);
}

static SrStatus load_draft(const void *arg, SrConfig **out) {
    SR_TRY(sr_config_draft_resolve(((const SrTrainConfig *)arg)->draft, out));
    if ((*out)->optimizer.minutes == 0)
        return SR_OK;
    sr_config_free(*out);
    SR_FAIL(SR_ERR_CONFIG,
            "OPTIMIZER.MINUTES is for `sslrun train` and sr_train: set OPTIMIZER.num_epochs");
}

int sr_train_config_run(const SrTrainConfig *config,
                        int (*on_step)(void *arg, const SrTrainStep *step), void *arg) {
    SR_NEED(config, "config");
    return (int)sr__library_train(
        &(SrLibraryTraining){.path = config->draft->config.path,
                             .call = config->call.s ? config->call.s : "",
                             .again = "call sr_train_config_run with the same configuration",
                             .load = load_draft,
                             .load_arg = config,
                             .on_step = on_step,
                             .arg = arg});
}
