// Command lines of the verbs: flags, overrides, configurations, and the command that repeats a
// call.
#include "cli/args/args.h"
#include "base/file.h"
#include "base/log.h"
#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Explains how to pass weights to a verb without --weights, because no flag has a similar spelling.
static SrStatus no_weights_flag(const SrFlag *flags) {
    for (const SrFlag *f = flags; f && f->name; f++)
        if (strcmp(f->name, "--model") == 0)
            SR_FAIL(SR_ERR_CONFIG, "unknown option '--weights': --model names the checkpoint here");
    SR_FAIL(SR_ERR_CONFIG,
            "unknown option '--weights': beside a configuration it is "
            "MODEL.WEIGHTS_INIT.PARAMS_FILE=FILE, and a checkpoint goes without an option");
}

static SrStatus unknown_flag(const char *arg, const SrFlag *flags) {
    const char *names[SR_FLAGS_MAX];
    int n = 0;
    while (flags && n < SR_FLAGS_MAX && flags[n].name) {
        names[n] = flags[n].name;
        n++;
    }
    if (sr_text_starts(arg, "--weights"))
        return no_weights_flag(flags);
    int near = sr_text_nearest(arg, names, n);
    if (near >= 0)
        SR_FAIL(SR_ERR_CONFIG, "unknown option '%s'; did you mean '%s'?", arg, names[near]);
    SrText known = SR_TEXT_INIT;
    for (int i = 0; i < n; i++)
        sr_text_printf(&known, "%s%s", i ? ", " : "", names[i]);
    SrStatus status =
        sr_fail(SR_ERR_CONFIG, "unknown option '%s' (known: %s)", arg, known.s ? known.s : "none");
    sr_text_deinit(&known);
    return status;
}

// Reads a number from 0 to the largest int.
static SrStatus parse_number(const SrFlag *flag, const char *text, int *out) {
    char *end;
    long value = strtol(text ? text : "", &end, 10);
    if (!text || end == text || *end || value < 0 || value > 1000000000)
        SR_FAIL(SR_ERR_CONFIG, "%s needs a whole number, got '%s'", flag->name,
                text ? text : "nothing");
    *out = (int)value;
    return SR_OK;
}

static SrStatus parse_text(const SrFlag *flag, const char *text, const char **out) {
    if (!text || !*text)
        SR_FAIL(SR_ERR_CONFIG, "%s needs a value: %s", flag->name, flag->help);
    *out = text;
    return SR_OK;
}

// Reads the flag at argv[*i] into its field of `options`; its value may be the next argument.
static SrStatus parse_flag(int argc, char **argv, int *i, const SrFlag *flags, void *options) {
    const char *arg = strcmp(argv[*i], "-0") == 0 ? "--null" : argv[*i], *equals = strchr(arg, '=');
    size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
    for (const SrFlag *f = flags; f && f->name; f++) {
        if (strlen(f->name) != len || strncmp(f->name, arg, len) != 0)
            continue;
        void *field = (char *)options + f->offset;
        if (f->kind == SR_FLAG_IS_ON) {
            if (equals)
                SR_FAIL(SR_ERR_CONFIG, "%s takes no value", f->name);
            *(bool *)field = true;
            return SR_OK;
        }
        const char *value = equals ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
        return f->kind == SR_FLAG_IS_TEXT ? parse_text(f, value, field)
                                          : parse_number(f, value, field);
    }
    return unknown_flag(argv[*i], flags);
}

// True: an override in VISSL's grammar: KEY=VALUE, +KEY=VALUE (new key) or ~KEY (remove a key).
static bool is_override(const char *arg) {
    return strchr(arg, '=') || arg[0] == '~' || arg[0] == '+';
}

bool sr_args_ask_help(int argc, char **argv) {
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

// Flags and overrides may stand before or after the configuration.
SrStatus sr_args_parse(int argc, char **argv, const SrFlag *flags, void *options, SrArgs *out) {
    *out = (SrArgs){.n_names = 0};
    if (argc > SR_ARGS_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%d arguments; at most %d are possible", argc, SR_ARGS_MAX);
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0 || strcmp(argv[i], "-0") == 0)
            SR_TRY(parse_flag(argc, argv, &i, flags, options));
        else if (is_override(argv[i]))
            out->overrides[out->n_overrides++] = argv[i];
        else
            out->names[out->n_names++] = argv[i];
    }
    return SR_OK;
}

// Asks the data sets themselves: their own messages name a key of a configuration, and these verbs
// read none.
SrStatus sr_args_check_images(const char *what, const char *path) {
    const SrDataset *source;
    SR_TRY(sr_file_check_known(path));
    if (!sr_file_exists(path))
        SR_FAIL(SR_ERR_CONFIG, "%s: there is no folder of images '%s'", what, path);
    if (sr_dataset_infer(path, "TRAIN", &source) == SR_OK)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s: '%s' is neither a folder of images nor an image or a list of paths (.npy, .txt)",
            what, path);
}

SrStatus sr_args_override(SrArgs *args, const char *text) {
    if (args->n_overrides == SR_ARGS_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%s: there is no room beside %d other KEY=VALUE", text, SR_ARGS_MAX);
    args->overrides[args->n_overrides++] = text;
    return SR_OK;
}

SrStatus sr_args_no_overrides(const SrArgs *args, const char *verb) {
    if (args->n_overrides == 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "sslrun %s reads no configuration, so there is nothing for '%s'", verb,
            args->overrides[0]);
}

void sr_args_take_config(SrArgs *args) {
    int kept = 0;
    for (int i = 0; i < args->n_overrides; i++) {
        if (strncmp(args->overrides[i], "config=", 7) == 0 && args->n_names < SR_ARGS_MAX)
            args->names[args->n_names++] = args->overrides[i] + 7;
        else
            args->overrides[kept++] = args->overrides[i];
    }
    args->n_overrides = kept;
}

// Refuses another engine than the verb's: VISSL chooses its program by this key, and training
// instead of extracting features would surprise.
static SrStatus check_engine(const SrArgs *args, const char *verb) {
    for (int i = 0; i < args->n_overrides; i++) {
        const char *text = args->overrides[i];
        text += *text == '+' ? 1 : 0;
        if (sr_text_starts(text, "engine_name=") && strcmp(verb, "train") == 0 &&
            strcmp(text, "engine_name=train") != 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: `sslrun train` only trains; `sslrun extract` writes features and "
                    "`sslrun knn` evaluates",
                    text);
    }
    return SR_OK;
}

// Loads one configuration; further files are overrides of the form +config/DIR=FILE.
SrStatus sr_args_load_config(const SrArgs *given, const char *verb, SrConfig **out) {
    SrArgs args = *given;
    sr_args_take_config(&args);
    SR_TRY(check_engine(&args, verb));
    if (args.n_names == 0 || !*args.names[0])
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: which configuration? Give a YAML file such as configs/swav.yaml", verb);
    if (args.n_names > 1)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun %s: '%s' stands beside '%s': one YAML file and KEY=VALUE overrides "
                "are expected; "
                "further files are merged with +config/DIR=FILE",
                verb, args.names[1], args.names[0]);
    return sr_config_load(args.names[0], args.overrides, args.n_overrides, out);
}

static const char *command_argv[SR_ARGS_MAX + 2]; // from the program's name on
static int command_argc;

void sr_args_remember(int argc, char **argv) {
    command_argc = SR_MIN(argc, SR_COUNT(command_argv));
    for (int i = 0; i < command_argc; i++)
        command_argv[i] = argv[i];
}

int sr_args_words(const char *leave_out, const char *words[SR_ARGS_MAX]) {
    int n = 0;
    for (int i = 0; i < command_argc && n < SR_ARGS_MAX; i++)
        if (i == 0 || !leave_out || strcmp(command_argv[i], leave_out) != 0)
            words[n++] = command_argv[i];
    return n;
}

void sr_args_command(const char *leave_out, SrText *out) {
    const char *words[SR_ARGS_MAX];
    int n = sr_args_words(leave_out, words);
    for (int i = 0; i < n; i++) {
        sr_text_add(out, i ? " " : "");
        sr_text_add_word(out, words[i]);
    }
}

const char *sr_args_program(void) { return command_argc ? command_argv[0] : "sslrun"; }

// Names of strangers' files and tensors must not control a terminal.  Files and pipes get every
// byte.
static void disarm_for_terminal(SrText *text) {
    if (!text->s || !isatty(STDOUT_FILENO))
        return;
    for (char *at = text->s; at < text->s + text->len; at += strlen(at) + 1) // --null writes NULs
        sr_text_disarm(at, "\n\t");
}

// Fails if stdout is a full disk or a closed pipe.
SrStatus sr_args_print(SrText *text) {
    SrStatus status = SR_OK;
    sr_log_end_live();
    disarm_for_terminal(text);
    if (text->failed)
        status = sr_out_of_memory("the output");
    else if (text->s && (fwrite(text->s, 1, text->len, stdout) < text->len || fflush(stdout) != 0))
        status = sr_fail(SR_ERR_IO, "cannot write to standard output");
    sr_text_deinit(text);
    return status;
}

SrStatus sr_args_print_done(SrText *text, const char *path) {
    SrStatus status = sr_args_print(text);
    if (status != SR_ERR_IO && status != SR_ERR_MEMORY)
        return status;
    // A failed stream drops the rest of its buffer.
    if (status == SR_ERR_IO && !freopen("/dev/null", "w", stdout))
        return status;
    sr_warn("%s, but %s is written and whole", sr_status_message(), path);
    sr_status_clear();
    return SR_OK;
}
