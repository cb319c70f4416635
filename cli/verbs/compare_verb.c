// sslrun compare A B: the features of two trunks on the same labelled images; sslrun compare RUN:
// the trunk of a run before and after training.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/args/eval_sets_args.h"
#include "cli/args/model_file.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "trainer/data/eval_transforms.h"
#include "trainer/eval/model_comparison.h"
#include "trainer/run/run_folder.h"
#include "trunks/presets.h"

enum { NAME_BYTES = 512, TEXT_BYTES = 4352, OWN_SIZE = -1 };

typedef struct {
    const char *data;
    int size; // pixels per side of the images of MODEL:FILE
    bool json;
} Options;

typedef struct {
    SrConfig *config;
    SrModel *model;
    char label[NAME_BYTES];
} Side;

// Replaces the images of a configuration by those of a folder; a tenth is held out as test images
// unless the folder has its own.
static SrStatus use_folder(SrArgs *args, const char *data, char text[TEXT_BYTES]) {
    static const char *const others[] = {"DATA.TRAIN.DATA_SOURCES=[]",  "DATA.TRAIN.LABEL_PATHS=[]",
                                         "DATA.TRAIN.LABEL_SOURCES=[]", "DATA.TEST.DATA_SOURCES=[]",
                                         "DATA.TEST.DATA_PATHS=[]",     "DATA.TEST.LABEL_PATHS=[]",
                                         "DATA.TEST.LABEL_SOURCES=[]"};
    SR_TRY(sr_args_check_images("--data", data));
    snprintf(text, TEXT_BYTES, "DATA.TRAIN.DATA_PATHS=[\"%.4096s\"]", data);
    SR_TRY(sr_args_override(args, text));
    for (int i = 0; i < SR_COUNT(others); i++)
        SR_TRY(sr_args_override(args, others[i]));
    return SR_OK;
}

// Loads a run or a configuration.
static SrStatus load_config(const SrArgs *args, const char *name, SrConfig **out) {
    SrArgs one = *args;
    SrEvalSets sets = {.baselines = true};
    one.names[0] = name;
    one.n_names = 1;
    SR_TRY(sr_args_eval_sets(&one, "compare", out, &sets));
    if (sets.train)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds features; sslrun compare takes runs, configurations and MODEL:FILE",
                name);
    return SR_OK;
}

// Loads the configuration of a model's name: images and labels of `frame`, the transforms with
// which the model's publisher measures it.  KEY=VALUE of the command line come last and win.
static SrStatus load_model_config(const SrArgs *args, const char *model, int size,
                                  const char *frame, SrConfig **out) {
    char trunk[SR_ARGS_MODEL_BYTES + 32];
    SrText test = SR_TEXT_INIT;
    const SrPreset *preset;
    SrArgs own = *args;
    own.n_overrides = 0;
    SR_TRY(sr_preset_find(model, &preset));
    snprintf(trunk, sizeof trunk, "MODEL.TRUNK.NAME=%s", model);
    size = size > 0 ? size : sr_preset_pixels(preset)->side;
    sr_text_add(&test, "DATA.TEST.TRANSFORMS=");
    sr_eval_transforms_preset(preset, size, size, &test);
    SrStatus status =
        test.failed ? sr_out_of_memory("the transforms") : sr_args_override(&own, trunk);
    if (status == SR_OK)
        status = sr_args_override(&own, test.s);
    for (int i = 0; status == SR_OK && i < args->n_overrides; i++)
        status = sr_args_override(&own, args->overrides[i]);
    if (status == SR_OK)
        status = load_config(&own, frame, out);
    sr_text_deinit(&test);
    SR_TRY(status);
    (*out)->train.transforms = (*out)->test.transforms; // they tell the size of the model's images
    return SR_OK;
}

// Loads the weights that a model's name or a run asks for.  frame: run or configuration from which
// a named model takes its images.
static SrStatus open_side(const SrArgs *args, const char *name, int size, const char *frame,
                          Side *side) {
    char model[SR_ARGS_MODEL_BYTES];
    const char *file;
    snprintf(side->label, sizeof side->label, "%s", name);
    if (sr_args_model_file(name, model, &file)) {
        SR_TRY(load_model_config(args, model, size, frame, &side->config));
        side->config->model.params_file = file;
    } else {
        SR_TRY(load_config(args, name, &side->config));
    }
    return sr_baselines_model(side->config, side->config->knn.layer, NULL, &side->model);
}

// Opens the trunk of a run with the weights that the run began from.
static SrStatus open_start(const SrArgs *args, const char *run, Side *side) {
    SR_TRY(load_config(args, run, &side->config));
    const SrYaml *file = sr_yaml_find_path(side->config->tree, "MODEL.WEIGHTS_INIT.PARAMS_FILE");
    if (!file || file->type != SR_YAML_STRING || !*file->text)
        SR_FAIL(SR_ERR_CONFIG,
                "%s began from random weights, so that there is no model before training; name a "
                "second one: sslrun compare A B",
                run);
    side->config->model.params_file = file->text;
    side->config->model.own_checkpoint = false;
    snprintf(side->label, sizeof side->label, "before");
    return sr_baselines_model(side->config, side->config->knn.layer, NULL, &side->model);
}

static SrStatus open_sides(const SrArgs *args, int size, Side sides[2]) {
    char model[SR_ARGS_MODEL_BYTES];
    const char *file, *frame = NULL;
    for (int i = args->n_names - 1; i >= 0; i--)
        if (!sr_args_model_file(args->names[i], model, &file))
            frame = args->names[i];
    if (!frame)
        SR_FAIL(SR_ERR_CONFIG, "sslrun compare: one of the names must be a run or a configuration, "
                               "which has images");
    if (args->n_names == 1) {
        SR_TRY(open_start(args, args->names[0], &sides[0]));
        SR_TRY(open_side(args, args->names[0], size, frame, &sides[1]));
        snprintf(sides[1].label, sizeof sides[1].label, "after");
        return SR_OK;
    }
    for (int i = 0; i < 2; i++)
        SR_TRY(open_side(args, args->names[i], size, frame, &sides[i]));
    return SR_OK;
}

// Suggests a classifier on the better model, if that is a run.
static void say_next(const SrArgs *args, const Options *o, int sign) {
    const char *better = args->names[args->n_names == 2 && sign > 0 ? 1 : 0];
    SrText next = SR_TEXT_INIT;
    if (sr_file_is_dir(better))
        SR_NEXT(&next, "trains a classifier on its best layer and evaluates it per class", "linear",
                better, o->data ? "--data" : NULL, o->data);
    sr_next_say(&next);
}

static SrStatus compare(const SrArgs *args, const Options *o) {
    Side sides[2] = {{.config = NULL}, {.config = NULL}};
    SrModelComparison result;
    SrText out = SR_TEXT_INIT;
    SrStatus status;
    SR_TRY_GOTO(open_sides(args, o->size, sides));
    SrComparedModel models[2];
    for (int i = 0; i < 2; i++)
        models[i] = (SrComparedModel){sides[i].label, sides[i].config, sides[i].model};
    SR_TRY_GOTO(sr_model_comparison(models, args->n_names == 1, &result));
    (o->json ? sr_model_comparison_json : sr_model_comparison_text)(&result, &out);
    SR_TRY_GOTO(sr_args_print(&out));
    if (!o->json)
        say_next(args, o, sr_model_comparison_sign(&result));
done:
    for (int i = 0; i < 2; i++) {
        sr_model_free(sides[i].model);
        sr_config_free(sides[i].config);
    }
    return status;
}

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, data, "--data", "DIR",
                 "compare on the images of this folder, with one sub-folder per class"),
    SR_FLAG_NUMBER(Options, size, "--size",
                   "pixels per side of the images of MODEL:FILE (the model's own)"),
    SR_FLAG_ON(Options, json, "--json", "print results as one JSON line"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.size = OWN_SIZE};
    SrArgs args;
    char text[TEXT_BYTES];
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (args.n_names < 1 || args.n_names > 2)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun compare: expected two runs, configurations or MODEL:FILE, or one run that "
                "began from weights");
    if (o.data)
        SR_TRY(use_folder(&args, o.data, text));
    if (o.size < 1 && o.size != OWN_SIZE)
        SR_FAIL(SR_ERR_CONFIG, "--size needs at least 1");
    return compare(&args, &o);
}

const SrVerb sr_verb_compare = {
    .name = "compare",
    .group = SR_VERB_EVALUATE,
    .args = "A [B] [KEY=VALUE ...]",
    .summary = "says which of two models has the better features for your pictures",
    .help =
        "A and B are run folders, configurations, or MODEL:FILE, a model's name and its weights. "
        "With A alone, a run that began from weights, the trunk is compared before and after "
        "training. Both see the same images, those of A or of --data, each through its own "
        "transforms: MODEL:FILE sees them as its publisher does, at --size pixels. kNN, linear "
        "probe and five images per class stand next to raw pixels and an untrained trunk, each "
        "with its standard error. The linear probe decides, by two standard errors.",
    .examples = {{"sslrun compare runs/photos photos.yaml",
                  "Compares a run with its configuration's untrained network."},
                 {"sslrun compare runs/photos photos.yaml --data new-photos",
                  "Compares them on other images."}},
    .flags = flags,
    .run = run_verb,
};
