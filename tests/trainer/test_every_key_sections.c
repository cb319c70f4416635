// Every key of the trainer's sections, set to another legal value, changes what a run leaves
// (parameters, figures, files, memory), or a line reports that it has no effect (every_key.h).
// Options of evaluations change their output.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "tests/trainer/every_key.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/optim/optim.h"
#include "trainer/run/run.h"
#include "trainer/train.h"

// ---- results of a run

static void add_params(SrParams *params, SrText *out) {
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        every_key_add_hash(out, p->value,
                           (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype));
    }
}

// Appends the text without the numbers after these words, which are times or sizes of files that
// contain times.
static void add_timeless(const char *text, SrText *out) {
    static const char *const words[] = {
        "\"seconds\": ", "\"btime(ms)\": ", "\"eta_s\": ", "\"images_per_s\": ", "\"data_wait\": "};
    while (*text) {
        size_t len = 0;
        for (int w = 0; w < SR_COUNT(words) && !len; w++)
            if (strncmp(text, words[w], strlen(words[w])) == 0)
                len = strlen(words[w]) + strcspn(text + strlen(words[w]), ",}");
        if (!len)
            sr_text_printf(out, "%c", *text);
        text += len ? len : 1;
    }
}

static void add_file(const char *folder, const char *name, SrText *out) {
    char path[192], *text;
    size_t bytes;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!sr_file_exists(path))
        return;
    CHECK_OK(sr_file_read(path, 1 << 22, &text, &bytes));
    add_timeless(text, out);
    sr_free(text);
}

static void add_hash(const char *folder, const char *name, SrText *out) {
    char path[192], *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!sr_file_exists(path))
        return;
    CHECK_OK(sr_file_read(path, 1 << 22, &bytes, &n));
    every_key_add_hash(out, bytes, n);
    sr_free(bytes);
}

// Appends the names of files. TensorBoard's event files have the time in their names; their size
// counts as an effect.
static void add_names(const char *folder, SrText *out) {
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[512], *text = NULL;
        size_t bytes = 0;
        bool events = strncmp(names[i]->d_name, "events.", 7) == 0;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
        if (events) {
            CHECK_OK(sr_file_read(path, 1 << 24, &text, &bytes));
            sr_free(text);
        }
        sr_text_printf(out, "%s %zu ", events ? "events" : names[i]->d_name, bytes);
        if (strncmp(names[i]->d_name, "tb_logs", 7) == 0 ||
            strncmp(names[i]->d_name, "earlier", 7) == 0)
            add_names(path, out);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

static SrStatus train_once(const char *map, const char *folder, SrText *out) {
    char dir[160];
    SrConfig *config;
    SrRun *run = NULL;
    SrTrainResult result;
    SrText test = SR_TEXT_INIT;
    snprintf(dir, sizeof dir, "CHECKPOINT.DIR=%s", folder);
    bool own = strstr(map, "DIR: ") != NULL;
    SR_TRY(sr_config_parse(map, "keys.yaml", (const char *[]){dir}, own ? 0 : 1, &config));
    SrStatus status =
        sr_train_run(config, &(SrTrainOptions){.random = true, .test = &test}, &run, &result);
    if (status == SR_OK) {
        add_params(sr_model_params(run->model), out);
        SrPlanCost cost = run->plan ? sr_plan_cost(run->plan) : (SrPlanCost){0};
        sr_text_printf(out, "%lld updates, %d calls again, %zu bytes\n",
                       (long long)result.iterations, cost.n_recompute, cost.activation_bytes);
        add_timeless(test.s ? test.s : "", out);
        add_file(config->checkpoint.dir, "metrics.json", out);
        add_file(config->checkpoint.dir, "stdout.json", out);
        add_names(config->checkpoint.dir, out);
    }
    sr_run_close(run);
    sr_config_free(config);
    sr_text_deinit(&test);
    return status;
}

static SrStatus see_run(const void *owner, int base, const char *map, SrText *out) {
    char folder[96];
    (void)owner, (void)base;
    snprintf(folder, sizeof folder, "%s/run", every_key_dir);
    temp_dir_remove(folder);
    return train_once(map, folder, out);
}

// ---- configurations to run

enum { IMAGES = 30 };

// Makes images of three classes below the folder, lists of them, and a list with a missing file.
static void make_photos(const char *folder, uint64_t seed) {
    static const char *const classes[] = {"cat", "dog", "fox"};
    char names[2048] = "", labels[256] = "";
    for (int i = 0; i < IMAGES; i++) {
        uint8_t pixels[20 * 24 * 3];
        char name[64];
        size_t n;
        fixture_noise(pixels, sizeof pixels, seed + (uint64_t)i);
        void *png = fixture_png(pixels, 20, 24, 3, &n);
        snprintf(name, sizeof name, "%s/%s/%d.png", folder, classes[i % 3], i);
        fixture_write(every_key_dir, name, png, n);
        free(png);
        snprintf(names + strlen(names), sizeof names - strlen(names), "/elsewhere/%s\n", name);
        snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%d\n", i % 3);
    }
    snprintf(names + strlen(names), sizeof names - strlen(names), "/elsewhere/photos/none.png\n");
    snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "0\n");
    fixture_write(every_key_dir, "images.txt", names, strlen(names));
    fixture_write(every_key_dir, "labels.txt", labels, strlen(labels));
}

#define TRANSFORMS "[{name: CenterCrop, size: 16}, {name: ToTensor}, {name: Normalize}]"
#define SPLIT                                                                           \
    "{DATA_SOURCES: [synthetic], LABEL_SOURCES: [synthetic], LABEL_TYPE: standard, "    \
    "RANDOM_SYNTHETIC_IMAGES: True, "                                                   \
    "RANDOM_SYNTHETIC_LABELS: 4, DEFAULT_GRAY_IMG_SIZE: 16, BATCHSIZE_PER_REPLICA: 8, " \
    "TRANSFORMS: " TRANSFORMS ", DATA_LIMIT: "
#define SMALL_RESNET \
    "TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, SMALL_IMAGE_STEM: True}}"
#define LEARNING                                                                                \
    "OPTIMIZER: {num_epochs: 2, momentum: 0.9, param_schedulers: {lr: {name: constant, value: " \
    "0.02}}}"
#define METERS "METERS: {names: [accuracy_list_meter], accuracy_list_meter: {topk_values: [1]}}"

// Supervised learning on classes of noise, with test images.
static const char supervised[] =
    "{DATA: {NUM_DATALOADER_WORKERS: 1, TRAIN: " SPLIT "22}, TEST: " SPLIT "12}}, " METERS
    ", MODEL: {" SMALL_RESNET ", HEAD: {PARAMS: [[mlp, {dims: [32, 16, 4], use_bn: True}]]}}, "
    "LOSS: {name: CrossEntropyLoss}, " LEARNING "}";

// Heads on layers of a frozen trunk.
static const char frozen[] =
    "{DATA: {NUM_DATALOADER_WORKERS: 1, TRAIN: " SPLIT "22}, TEST: " SPLIT "12}}, " METERS
    ", MODEL: {" SMALL_RESNET ", FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: "
    "True, LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res5, "
    "[AdaptiveAvgPool2d, [[1, 1]]]]]}, HEAD: {PARAMS: [[eval_mlp, {in_channels: 32, dims: [32, "
    "4]}]]}}, "
    "LOSS: {name: cross_entropy_multiple_output_single_target}, " LEARNING "}";

// A loss between views of one image.
static const char views[] =
    "{DATA: {NUM_DATALOADER_WORKERS: 1, TRAIN: {DATA_SOURCES: [synthetic], "
    "RANDOM_SYNTHETIC_IMAGES: True, "
    "DEFAULT_GRAY_IMG_SIZE: 16, DATA_LIMIT: 20, DROP_LAST: True, BATCHSIZE_PER_REPLICA: 4, "
    "COLLATE_FUNCTION: "
    "simclr_collator, TRANSFORMS: [{name: ImgReplicatePil, num_times: 2}, {name: "
    "RandomResizedCrop, size: 16}, {name: "
    "ToTensor}, {name: Normalize}]}}, TEST_MODEL: False, MODEL: {" SMALL_RESNET
    ", HEAD: {PARAMS: [[mlp, {dims: [32, 16], use_relu: True}], [mlp, {dims: [16, 8]}]]}}, LOSS: "
    "{name: "
    "simclr_info_nce_loss, simclr_info_nce_loss: {buffer_params: {embedding_dim: 8}}}, " LEARNING
    "}";

// Lists of files; %s: the folder.
static const char listed[] =
    "{DATA: {NUM_DATALOADER_WORKERS: 1, TRAIN: &s {DATA_SOURCES: [disk_filelist], DATA_PATHS: "
    "[%s/images.txt], "
    "LABEL_SOURCES: [disk_filelist], LABEL_PATHS: [%s/labels.txt], REMOVE_IMG_PATH_PREFIX: "
    "/elsewhere, NEW_IMG_PATH_PREFIX: "
    "%s, BATCHSIZE_PER_REPLICA: 4, TRANSFORMS: " TRANSFORMS "}, TEST: *s}, " METERS
    ", MODEL: {" SMALL_RESNET
    ", HEAD: {PARAMS: [[mlp, {dims: [32, 3]}]]}}, LOSS: {name: CrossEntropyLoss}, " LEARNING "}";

// A run that starts from a checkpoint; %s: its folder.
static const char initial[] =
    "{DATA: {NUM_DATALOADER_WORKERS: 1, TRAIN: " SPLIT "22}, TEST: " SPLIT
    "12}}, TEST_MODEL: False, MODEL: {" SMALL_RESNET
    ", HEAD: {PARAMS: [[mlp, {dims: [32, 16, 4], use_bn: True}]]}, WEIGHTS_INIT: {PARAMS_FILE: "
    "%s/first/checkpoint.safetensors}}, LOSS: {name: CrossEntropyLoss}, " LEARNING "}";

static const EveryKeyGiven given[] = {
    {"root.LOG_FREQUENCY", "1", NULL},
    {"root.TEST_EVERY_NUM_EPOCH", "2", "{OPTIMIZER: {num_epochs: 3}}"},
    {"root.DISTILLATION.TEACHER_MODEL", "{TRUNK: {NAME: nosuch}}", NULL},
    {"root.DISTILLATION.CACHE_FILE", "teacher.cache", NULL},
    {"root.DISTILLATION.TEACHER_INPUT_SIZE", "24", NULL},
    {"HOOKS.PROBE.LIMIT", "5", "{HOOKS: {PROBE: {EVERY_NUM_EPOCHS: 1}}}"},
    {"HOOKS.TENSORBOARD_SETUP.LOG_PARAMS", "False",
     "{HOOKS: {TENSORBOARD_SETUP: {USE_TENSORBOARD: True, LOG_PARAMS_EVERY_N_ITERS: 1}}}"},
    {"HOOKS.TENSORBOARD_SETUP.LOG_PARAMS_GRADIENTS", "False",
     "{HOOKS: {TENSORBOARD_SETUP: {USE_TENSORBOARD: True, LOG_PARAMS_EVERY_N_ITERS: 1}}}"},
    {"HOOKS.TENSORBOARD_SETUP.LOG_PARAMS_EVERY_N_ITERS", "2",
     "{HOOKS: {TENSORBOARD_SETUP: {USE_TENSORBOARD: True, LOG_PARAMS_EVERY_N_ITERS: 1}}}"},
    {"DATA.CHANNELS", "1", NULL},
    {"DATA.STAGES",
     "[{until: 0.5, set: [\"DATA.TRAIN.TRANSFORMS=[{name: CenterCrop, size: 12}, {name: "
     "ToTensor}]\"]}]",
     NULL},
    {"DATA.COLOR_TRANSFORMS", "skip",
     "{DATA: {TRAIN: {TRANSFORMS: [{name: ColorJitter, brightness: 0.4}, {name: CenterCrop, size: "
     "16}, {name: ToTensor}]}}}"},
    {"DATA.TRAIN.DATASET_NAMES", "[photos]", NULL},
    {"DATA.TEST.DATASET_NAMES", "[photos]", NULL},
    {"MACHINE.RECOMPUTE", "always", "{DATA: {TRAIN: {BATCHSIZE_PER_REPLICA: 20}}}"},
    {"MODEL.SINGLE_PASS_EVERY_CROP", "True", NULL},
    {"MODEL.NON_TRAINABLE_PARAMS", "[heads.0.clf.0.weight]", NULL},
    {"MODEL.TEMP_FROZEN_PARAMS_ITER_MAP", "[[heads.0.clf.0.weight, 2]]", NULL},
    {"MODEL.LORA.USE_LORA", "True", "{MODEL: {LORA: {TARGETS: [conv1x1]}}}"},
    {"MODEL.LORA.TARGETS", "[qv]", "{MODEL: {LORA: {USE_LORA: True, TARGETS: [conv1x1]}}}"},
    {"MODEL.MULTI_INPUT_HEAD_MAPPING", "[[nosuch, [[res5avg, [Identity, []]]]]]", NULL},
    {"MODEL.FEATURE_EVAL_SETTINGS.FREEZE_TRUNK_AND_HEAD", "True",
     "{TEST_ONLY: True, MODEL: {FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True}}}"},
    {"MODEL.HEAD.PARAMS", "[[mlp, {dims: [32, 4]}]]", NULL},
    {"MODEL.HEAD.PARALLEL", "True",
     "{LOSS: {name: cross_entropy_multiple_output_single_target}, MODEL: {HEAD: {PARAMS: [[mlp, "
     "{dims: [32, 32]}], [mlp, {dims: [32, 32]}]]}}}"},
    {"MODEL.WEIGHTS_INIT.PARAMS_FILE", "/nosuch.safetensors", NULL},
    {"MODEL.WEIGHTS_INIT.STATE_DICT_KEY_NAME", "[nosuch]", NULL},
    {"MODEL.WEIGHTS_INIT.SKIP_LAYERS", "[conv1]", NULL},
    {"MODEL.WEIGHTS_INIT.REMOVE_PREFIX", "trunk.", NULL},
    {"MODEL.WEIGHTS_INIT.APPEND_PREFIX", "nosuch.", NULL},
    {"MODEL.WEIGHTS_INIT.MIN_TRUNK_SHARE", "1", "{MODEL: {TRUNK: {RESNETS: {DEPTH: 34}}}}"},
    {"MODEL.TRUNK.NAME", "resnet_cifar", NULL},
    {"LOSS.name", "multi_label_soft_margin", NULL},
    {"OPTIMIZER.name", "adam", NULL},
    {"OPTIMIZER.gradient_accumulation_steps", "2", NULL},
    {"OPTIMIZER.non_regularized_parameters", "[clf]", NULL},
    {"OPTIMIZER.param_group_constructor", "lr_decay", NULL},
    {"OPTIMIZER.linear_eval_heads", "[{lr: 0.4, weight_decay: 0.0}]",
     "{OPTIMIZER: {param_group_constructor: linear_eval_heads, linear_eval_heads: [{lr: 0.1, "
     "weight_decay: 0.0}]}}"},
    {"OPTIMIZER.head_optimizer_params.use_different_lr", "True",
     "{OPTIMIZER: {param_schedulers: {lr_head: {name: constant, value: 0.5}}}}"},
    {"OPTIMIZER.head_optimizer_params.use_different_wd", "True",
     "{OPTIMIZER: {head_optimizer_params: {weight_decay: 0.3}}}"},
    {"OPTIMIZER.head_optimizer_params.weight_decay", "0.3",
     "{OPTIMIZER: {head_optimizer_params: {use_different_wd: True}}}"},
    {"OPTIMIZER.param_schedulers.lr", "{name: constant, value: 0.5}", NULL},
    {"OPTIMIZER.param_schedulers.lr_head", "{name: constant, value: 0.5}",
     "{OPTIMIZER: {head_optimizer_params: {use_different_lr: True}, param_schedulers: {lr_head: "
     "{name: constant, value: 0.1}}}}"},
    {"OPTIMIZER.param_schedulers.weight_decay", "{name: constant, value: 0.3}", NULL},
    {"OPTIMIZER.param_schedulers.weight_decay_head", "{name: constant, value: 0.3}", NULL},
    {"OPTIMIZER.larc_config.clip", "True", "{OPTIMIZER: {use_larc: True}}"},
    {"OPTIMIZER.larc_config.eps", "0.5", "{OPTIMIZER: {use_larc: True}}"},
    {"OPTIMIZER.larc_config.trust_coefficient", "0.5", "{OPTIMIZER: {use_larc: True}}"},
    {"OPTIMIZER.layer_wise_lr_decay.decay", "0.5",
     "{OPTIMIZER: {param_group_constructor: lr_decay}}"},
    {"CHECKPOINT.CHECKPOINT_ITER_FREQUENCY", "1", NULL},
    {"CHECKPOINT.KEEP_LAST", "1", "{CHECKPOINT: {CHECKPOINT_ITER_FREQUENCY: 1}}"},
    {"DISTRIBUTED.NUM_NODES", "2", "{DISTRIBUTED: {REPLICAS: recipe, NUM_PROC_PER_NODE: 1}}"},
    {"DISTRIBUTED.NUM_PROC_PER_NODE", "2",
     "{DISTRIBUTED: {REPLICAS: recipe, NUM_PROC_PER_NODE: 1}}"},
    {"DISTRIBUTED.REPLICAS", "2", NULL},
    {"MODEL.SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN", "True", "{DISTRIBUTED: {REPLICAS: 2}}"},
    {"MODEL.SYNC_BN_CONFIG.GROUP_SIZE", "1",
     "{DISTRIBUTED: {REPLICAS: 2, NUM_PROC_PER_NODE: 2}, MODEL: {SYNC_BN_CONFIG: "
     "{CONVERT_BN_TO_SYNC_BN: True}}}"},
    {"DISTRIBUTED.REDUCE", "mpi", NULL},
    {"METERS.name", "accuracy_list_meter", "{METERS: {names: []}}"},
    {"METERS.names", "[]", NULL},
    {"MODEL.FEATURE_EVAL_SETTINGS.LINEAR_EVAL_FEAT_POOL_OPS_MAP",
     "[[res4, [AdaptiveAvgPool2d, [[1, 1]]]]]",
     "{MODEL: {HEAD: {PARAMS: [[eval_mlp, {in_channels: 16, dims: [16, 4]}]]}}}"},
    {"MODEL.FEATURE_EVAL_SETTINGS.SHOULD_FLATTEN_FEATS", "True",
     "{MODEL: {FEATURE_EVAL_SETTINGS: {SHOULD_FLATTEN_FEATS: False, LINEAR_EVAL_FEAT_POOL_OPS_MAP: "
     "[[res5, [AdaptiveAvgPool2d, [[2, 2]]]]]}, HEAD: {PARAMS: [[eval_mlp, {in_channels: 32, dims: "
     "[128, 4]}]]}}}"},
    {"MODEL.FEATURE_EVAL_SETTINGS.ASSERT_HEAD_LAYER_SHAPE_INIT", "True",
     "{MODEL: {FEATURE_EVAL_SETTINGS: {ASSERT_HEAD_LAYER_SHAPE_INIT: False}, HEAD: {PARAMS: [[mlp, "
     "{dims: [32, 8, 4], use_bn: True}]]}}}"},
    {"DATA.TRAIN.REMOVE_IMG_PATH_PREFIX", "/nosuch", NULL},
    {"DATA.TRAIN.NEW_IMG_PATH_PREFIX", "/nosuch", NULL},
    {"DATA.TRAIN.DATA_SOURCES", "[nosuch]", NULL},
    {"DATA.TRAIN.DATA_PATHS", "[/nosuch]", NULL},
    {"DATA.TRAIN.LABEL_SOURCES", "[nosuch]", NULL},
    {"DATA.TRAIN.LABEL_PATHS", "[/nosuch]", NULL},
    {"DATA.TRAIN.LABEL_TYPE", "zero", NULL},
    {"DATA.TRAIN.MAX_BAD_IMAGE_SHARE", "0.01", NULL},
    {"DATA.TRAIN.PIXELS", "fast",
     "{DATA: {TRAIN: {TRANSFORMS: [{name: RandomResizedCrop, size: 16}, {name: ToTensor}]}}}"},
    {"DATA.TRAIN.TRANSFORMS", "[{name: CenterCrop, size: 12}, {name: ToTensor}]", NULL},
    {"DATA.TRAIN.COLLATE_FUNCTION", "nosuch", NULL},
    {"DATA.TRAIN.COLLATE_FUNCTION_PARAMS", "{mixup_alpha: 0.9}",
     "{DATA: {TRAIN: {COLLATE_FUNCTION: cutmixup_collator, COLLATE_FUNCTION_PARAMS: {num_classes: "
     "4, mixup_alpha: 0.1, cutmix_alpha: 0.1}}}}"},
    {"DATA.TRAIN.INPUT_KEY_NAMES", "[a, b]", NULL},
    {"DATA.TRAIN.TARGET_KEY_NAMES", "[mask]", NULL},
    {"DATA.TEST.REMOVE_IMG_PATH_PREFIX", "/nosuch", NULL},
    {"DATA.TEST.NEW_IMG_PATH_PREFIX", "/nosuch", NULL},
    {"DATA.TEST.DATA_SOURCES", "[nosuch]", NULL},
    {"DATA.TEST.DATA_PATHS", "[/nosuch]", NULL},
    {"DATA.TEST.LABEL_SOURCES", "[nosuch]", NULL},
    {"DATA.TEST.LABEL_PATHS", "[/nosuch]", NULL},
    {"DATA.TEST.LABEL_TYPE", "zero", NULL},
    {"DATA.TEST.MAX_BAD_IMAGE_SHARE", "0.01", NULL},
    {"DATA.TEST.TRANSFORMS", "[{name: CenterCrop, size: 12}, {name: ToTensor}]", NULL},
    {"DATA.TEST.COLLATE_FUNCTION", "simclr_collator", NULL},
    {"DATA.TEST.COLLATE_FUNCTION_PARAMS", "{a: 1}", NULL},
    {"DATA.TEST.INPUT_KEY_NAMES", "[a, b]", NULL},
    {"DATA.TEST.TARGET_KEY_NAMES", "[mask]", NULL},
    {"MODEL.FEATURE_EVAL_SETTINGS.EXTRACT_TRUNK_FEATURES_ONLY", "True", NULL},
    {"MODEL.ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING", "True",
     "{DATA: {TRAIN: {DEFAULT_GRAY_IMG_SIZE: 32, TRANSFORMS: [{name: CenterCrop, size: 32}, {name: "
     "ToTensor}]}}, MODEL: {ACTIVATION_CHECKPOINTING: {NUM_ACTIVATION_CHECKPOINTING_SPLITS: 4}}}"},
    {NULL, NULL, NULL},
};

// Keys whose effect another test checks, or that must not change the results of a run.
static const char *const elsewhere[] = {
    "HOOKS.CHECK_NAN",   // test_check_nan below checks it
    "OPTIMIZER.MINUTES", // a clock decides the number of epochs (tests/cli/test_minutes.c)
    "HOOKS.TENSORBOARD_SETUP.FLUSH_EVERY_N_MIN", // decides when lines reach the disk
    "DATA.NUM_DATALOADER_WORKERS",               // the same images, faster
    "DATA.SANDBOX",       // the same pixels by other processes (test_sandbox.c, test_train.c)
    "DISTRIBUTED.MEMORY", // the same bits; check reports it (test_activations.c)
    "DATA.TEST.BATCHSIZE_PER_REPLICA", // images are classified one by one
    "DATA.TEST.PIXELS",                // a grey level or two changes no class
    // Kept and computed features give the same bits; test_linear_probes.c checks that.
    "MODEL.FEATURE_EVAL_SETTINGS.CACHE_FEATURES",
    // Keeps weights of heads where nothing learns (test_weights_init.c).
    "MODEL.FEATURE_EVAL_SETTINGS.EVAL_TRUNK_AND_HEAD",
    "CHECKPOINT.DIR", // every run here has its own
    "CHECKPOINT.AUTO_RESUME",
    "CHECKPOINT.OVERWRITE_EXISTING", // test_used_folder below checks it
    "RANKING.NORMALIZE_FEATS",       // test_evaluations below checks it
};

static bool is_elsewhere(const char *path) {
    for (int i = 0; i < SR_COUNT(elsewhere); i++)
        if (strcmp(elsewhere[i], path) == 0)
            return true;
    return false;
}

static bool is_section(const char *path, const SrSchemaEntry *entries, int n) {
    for (int i = 0; i < n; i++)
        if (strcmp(entries[i].section.path, path) == 0)
            return true;
    return false;
}

// Returns the rows of a section except subsections and keys in `elsewhere`.
static SrOption *rows_of(const SrSchemaEntry *e, const SrSchemaEntry *entries, int n,
                         SrArena *arena) {
    int rows = 0, kept = 0;
    while (e->section.table[rows].name)
        rows++;
    SrOption *own = sr_arena_alloc(arena, sizeof *own * (size_t)(rows + 1));
    CHECK(own != NULL);
    for (int i = 0; i <= rows; i++) {
        char path[256];
        const SrOption *o = &e->section.table[i];
        snprintf(path, sizeof path, "%s%s%s", e->section.path, *e->section.path ? "." : "",
                 o->name ? o->name : "");
        if (!o->name || !(is_section(path, entries, n) || is_elsewhere(path)))
            own[kept++] = *o;
    }
    return own;
}

TEST(test_sections) {
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries;
    EveryKey out = {.n = 0};
    char lists[2048], start[2048], folder[96];
    int n, threads = sr_parallel_threads();
    sr_parallel_set_threads(1); // hundreds of runs of a few milliseconds each
    make_photos("photos", 0);
    snprintf(lists, sizeof lists, listed, every_key_dir, every_key_dir, every_key_dir);
    snprintf(start, sizeof start, initial, every_key_dir);
    snprintf(folder, sizeof folder, "%s/first", every_key_dir);
    SrText unused = SR_TEXT_INIT;
    CHECK_OK(train_once(supervised, folder, &unused));
    sr_text_deinit(&unused);
    const char *bases[] = {supervised, views, frozen, lists, start};
    CHECK_OK(sr__schema_entries(&arena, &entries, &n));
    for (int i = 0; i < n; i++) {
        const char *path = entries[i].section.path;
        if (entries[i].owned || strcmp(path, "SVM") == 0 || strcmp(path, "NEAREST_NEIGHBOR") == 0 ||
            strcmp(path, "LOW_SHOT_BENCHMARK") == 0 || strcmp(path, "CLUSTERFIT") == 0)
            continue;
        every_key_try(&out, &(EveryKeyTable){*path ? path : "root", see_run, NULL,
                                             rows_of(&entries[i], entries, n, &arena), path, bases,
                                             SR_COUNT(bases), given});
    }
    sr_arena_deinit(&arena);
    sr_parallel_set_threads(threads);
    every_key_finish(&out, 100);
}

// Without HOOKS.CHECK_NAN a run continues after a NaN; with it the first NaN ends the run.
TEST(test_check_nan) {
    static const char *const checks[] = {"HOOKS: {CHECK_NAN: False}", "HOOKS: {CHECK_NAN: True}"};
    for (int i = 0; i < SR_COUNT(checks); i++) {
        SrText map = SR_TEXT_INIT, seen = SR_TEXT_INIT;
        char folder[96];
        snprintf(folder, sizeof folder, "%s/nan%d", every_key_dir, i);
        const char *rate = strstr(supervised, "param_schedulers:"),
                   *value = strstr(supervised, "value: 0.02");
        CHECK(rate && value);
        // A decay of 1e6 at this rate multiplies the weights by -1e12 in each step.
        sr_text_printf(&map, "{%s, %.*sweight_decay: 1e6, %.*svalue: 1e6%s", checks[i],
                       (int)(rate - supervised) - 1, supervised + 1, (int)(value - rate), rate,
                       value + strlen("value: 0.02"));
        SrStatus status = train_once(map.s, folder, &seen);
        CHECK_INT(status, i ? SR_ERR_RUN : SR_OK);
        sr_text_deinit(&map);
        sr_text_deinit(&seen);
    }
}

// In the folder of a finished run a resume ends at once; the other two settings restart and move
// the old results aside.
TEST(test_used_folder) {
    static const char *const keys[] = {"CHECKPOINT: {KEEP_BEST: True}",
                                       "CHECKPOINT: {AUTO_RESUME: False}",
                                       "CHECKPOINT: {OVERWRITE_EXISTING: True}"};
    for (int i = 0; i < SR_COUNT(keys); i++) {
        SrText map = SR_TEXT_INIT, seen = SR_TEXT_INIT;
        char folder[96], earlier[128];
        snprintf(folder, sizeof folder, "%s/used%d", every_key_dir, i);
        snprintf(earlier, sizeof earlier, "%s/earlier-1", folder);
        sr_text_printf(&map, "{%s, %s", keys[i], supervised + 1);
        CHECK_OK(train_once(supervised, folder, &seen));
        CHECK_OK(train_once(map.s, folder, &seen));
        CHECK_INT(sr_file_exists(earlier), i > 0);
        sr_text_deinit(&map);
        sr_text_deinit(&seen);
    }
}

// ---- evaluations of features in files, by the program

typedef struct {
    const char *verb, *section, *flag; // flag: for the first base only; NULL: none
} Evaluation;

// map: the whole configuration, of which only this section is used
static SrStatus see_evaluation(const void *owner, int base, const char *map, SrText *out) {
    static ProgramResult r;
    const Evaluation *e = owner;
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree;
    SrText section = SR_TEXT_INIT;
    char train[96], test[96], clusters[96];
    snprintf(train, sizeof train, "%s/photos-features", every_key_dir);
    snprintf(test, sizeof test, "%s/others-features", every_key_dir);
    snprintf(clusters, sizeof clusters, "%s/clusters", every_key_dir);
    temp_dir_remove(clusters);
    CHECK_OK(sr_yaml_parse(&arena, map, strlen(map), "test", &tree));
    sr_text_printf(&section, "%s=", e->section);
    sr_yaml_print_flow(sr_yaml_find_path(tree, e->section), &section);
    bool kept = base == 1 && strcmp(e->verb, "svm") == 0; // svm writes its choices to files
    const char *args[] = {e->verb,
                          train,
                          test,
                          section.s,
                          "--json",
                          kept   ? "--out"
                          : base ? NULL
                                 : e->flag,
                          kept ? clusters : NULL,
                          NULL};
    program_run(&r, 1, args);
    add_timeless(r.out, out);
    sr_text_add(out, r.err);
    add_names(clusters, out);
    add_hash(clusters, "crossval_ap.npy", out);
    sr_text_deinit(&section);
    sr_arena_deinit(&arena);
    return r.code ? sr_fail(SR_ERR_CONFIG, "%.400s", r.err) : SR_OK;
}

static const EveryKeyGiven evaluation_given[] = {
    {"NEAREST_NEIGHBOR.SIGMA", "1000000", "{NEAREST_NEIGHBOR: {TOPK: [20], L2_NORM_FEATS: False}}"},
    {"NEAREST_NEIGHBOR.LAYER", "nosuch", NULL},
    {"NEAREST_NEIGHBOR.BANK_LIMIT", "5", NULL},
    {"NEAREST_NEIGHBOR.FEATURES.PATH", "/nosuch", NULL},
    {"NEAREST_NEIGHBOR.L2_NORM_FEATS", "False", "{NEAREST_NEIGHBOR: {TOPK: [20], SIGMA: 1}}"},
    {"SVM.cls_list", "[1]", NULL},
    {"SVM.cross_val_folds", "5", NULL},
    {"LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.SEEDS", "[3]",
     "{LOW_SHOT_BENCHMARK: {LOGISTIC_REGRESSION: {SAMPLES_PER_CLASS: 2}}}"},
    {"LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.MAX_ITER", "1",
     "{LOW_SHOT_BENCHMARK: {LOGISTIC_REGRESSION: {LAMBDA: [1.0e-6]}}}"},
    {"LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.MULTI_CLASS", "ovr",
     "{LOW_SHOT_BENCHMARK: {LOGISTIC_REGRESSION: {LAMBDA: [1.0e-4, 0.01, 0.1, 1.0, 10.0]}}}"},
    {"CLUSTERFIT.OUTPUT_DIR", "/proc/nosuch", NULL},
    {"CLUSTERFIT.NUM_ITER", "0", NULL},
    {"CLUSTERFIT.DATA_LIMIT_SAMPLING.SEED", "3", "{CLUSTERFIT: {DATA_LIMIT: 6}}"},
    {"CLUSTERFIT.FEATURES.DATASET_NAME", "nosuch", NULL},
    {"CLUSTERFIT.FEATURES.LAYER_NAME", "nosuch", NULL},
    {NULL, NULL, NULL},
};

TEST(test_evaluations) {
    static const Evaluation evaluations[] = {
        {"knn", "NEAREST_NEIGHBOR", NULL},
        {"svm", "SVM", "--low-shot"},
        {"logreg", "LOW_SHOT_BENCHMARK", NULL},
        {"cluster", "CLUSTERFIT", "--force"},
    };
    static ProgramResult r;
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries;
    EveryKey out = {.n = 0};
    char photos[96], features[96], base[512];
    int n;
    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"photos", "others"};
        make_photos(names[i], (uint64_t)i * 1000);
        snprintf(photos, sizeof photos, "%s/%s", every_key_dir, names[i]);
        snprintf(features, sizeof features, "%s/%s-features", every_key_dir, names[i]);
        program_run(&r, 1,
                    (const char *[]){"extract", "resnet18", "--random", "--nodes", "layer1",
                                     "--size", "20", "--data", photos, "--out", features, NULL});
        CHECK_INT(r.code, 0);
    }
    CHECK_OK(sr__schema_entries(&arena, &entries, &n));
    for (int i = 0; i < SR_COUNT(evaluations); i++) {
        const Evaluation *e = &evaluations[i];
        snprintf(base, sizeof base,
                 "{NEAREST_NEIGHBOR: {TOPK: [3]}, SVM: {costs: {costs_list: [0.1], base: 2, "
                 "power_range: [0, 3]}, "
                 "low_shot: {k_values: [1, 2], sample_inds: [1]}}, LOW_SHOT_BENCHMARK: {}, "
                 "CLUSTERFIT: {NUM_CLUSTERS: 3, OUTPUT_DIR: %s/clusters}}",
                 every_key_dir);
        const char *bases[] = {base, base};
        for (int k = 0; k < n; k++)
            if (strcmp(entries[k].section.path, e->section) == 0)
                every_key_try(&out, &(EveryKeyTable){e->section, see_evaluation, e,
                                                     rows_of(&entries[k], entries, n, &arena),
                                                     e->section, bases, 2, evaluation_given});
    }
    sr_arena_deinit(&arena);
    every_key_finish(&out, 25);
}

SR_TESTS(every_key_sections, every_key_test(test_sections), every_key_test(test_check_nan),
         every_key_test(test_used_folder), every_key_test(test_evaluations))
