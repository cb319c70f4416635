// Tests keys without effect: values that matter on a GPU or a cluster only, and keys that another
// key disables. Each is accepted and reported in one line that names the key; at VISSL's default
// it is silent. test_every_key.c checks that no other key is without effect.
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/config/config.h"
#include "trainer/config/vissl/ignored.h"
#include "trainer/config/vissl/schema.h"

static const char text[] =
    "LOSS: {name: swav_loss}\n"
    "DISTRIBUTED: {NUM_NODES: 1, NUM_PROC_PER_NODE: 1}\n"
    "DATA: {TRAIN: {COLLATE_FUNCTION: multicrop_collator}}\n"
    "MODEL: {HEAD: {PARAMS: [[swav_head, {dims: [2048, 16], num_clusters: [7]}]]}}\n";

// Returns the number of lines of the log with these words.
static int count(const char *path, const char *words) {
    char *log = NULL;
    size_t bytes = 0;
    int n = 0;
    CHECK_OK(sr_file_read(path, 1 << 20, &log, &bytes));
    for (const char *line = log; line && *line;) {
        const char *end = strchr(line, '\n'), *hit = strstr(line, words);
        n += hit && (!end || hit < end);
        line = end ? end + 1 : NULL;
    }
    sr_free(log);
    return n;
}

// Returns the number of such lines while the configuration is read under the overrides.
static int lines_under(const char *const *overrides, int n_overrides, const char *words) {
    char dir[64], path[128];
    SrConfig *config = NULL;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/log.txt", dir);
    CHECK_OK(sr_log_open(path));
    CHECK_OK(sr_config_parse(text, "test.yaml", overrides, n_overrides, &config));
    sr_log_close();
    sr_config_free(config);
    int n = count(path, words);
    temp_dir_remove(dir);
    return n;
}

static int lines_with(const char *override, const char *words) {
    return lines_under(&override, override ? 1 : 0, words);
}

TEST(test_one_line_each) {
    static const struct {
        const char *override, *line;
    } rows[] = {
        {"REPRODUCIBILITY.CUDDN_DETERMINISTIC=True", "REPRODUCIBILITY is accepted"},
        {"MULTI_PROCESSING_METHOD=spawn", "MULTI_PROCESSING_METHOD is accepted"},
        {"TRAINER.TASK_NAME=self_supervision_fsdp_task", "TRAINER.TASK_NAME is accepted"},
        {"HOOKS.LOG_GPU_STATS=False", "HOOKS.LOG_GPU_STATS is accepted"},
        {"HOOKS.MEMORY_SUMMARY.DUMP_MEMORY_ON_EXCEPTION=True", "HOOKS.MEMORY_SUMMARY is accepted"},
        {"DATA.PIN_MEMORY=False", "DATA.PIN_MEMORY is accepted"},
        {"DATA.ENABLE_ASYNC_GPU_COPY=False", "DATA.ENABLE_ASYNC_GPU_COPY is accepted"},
        {"DATA.DDP_BUCKET_CAP_MB=50", "DATA.DDP_BUCKET_CAP_MB is accepted"},
        {"DATA.TRAIN.USE_STATEFUL_DISTRIBUTED_SAMPLER=True",
         "USE_STATEFUL_DISTRIBUTED_SAMPLER is accepted"},
        {"DATA.TRAIN.COPY_TO_LOCAL_DISK=True", "DATA.TRAIN.COPY_TO_LOCAL_DISK is accepted"},
        {"MODEL.CUDA_CACHE.CLEAR_CUDA_CACHE=True", "MODEL.CUDA_CACHE is accepted"},
        {"MODEL.SHARDED_DDP_SETUP.USE_SDP=True", "MODEL.SHARDED_DDP_SETUP is accepted"},
        {"MODEL.FSDP_CONFIG.AUTO_SETUP_FSDP=True", "MODEL.FSDP_CONFIG is accepted"},
        {"MODEL.SYNC_BN_CONFIG.CONVERT_BN_TO_SYNC_BN=True", "MODEL.SYNC_BN_CONFIG is accepted"},
        {"OPTIMIZER.use_zero=True", "OPTIMIZER.use_zero is accepted"},
        {"OPTIMIZER.name=sgd_fsdp", "OPTIMIZER.name: sgd_fsdp means sgd in sslrun"},
        {"MODEL.TRUNK.NAME=resnet_fsdp", "MODEL.TRUNK.NAME: resnet_fsdp means resnet in sslrun"},
        {"CHECKPOINT.APPEND_DISTR_RUN_ID=True", "CHECKPOINT.APPEND_DISTR_RUN_ID is accepted"},
        {"DISTRIBUTED.BACKEND=gloo", "DISTRIBUTED.BACKEND is accepted"},
        {"DISTRIBUTED.NUM_PROC_PER_NODE=8", "DISTRIBUTED asks for 8 processes"},
        {"DISTRIBUTED.NCCL_DEBUG=True", "DISTRIBUTED.NCCL_DEBUG is accepted"},
        {"DISTRIBUTED.RUN_ID=localhost:1234", "DISTRIBUTED.RUN_ID is accepted"},
        {"DISTRIBUTED.MANUAL_GRADIENT_REDUCTION=True", "MANUAL_GRADIENT_REDUCTION is accepted"},
        {"SLURM.USE_SLURM=True", "SLURM is accepted"},
        {"NEAREST_NEIGHBOR.USE_CUDA=False", "NEAREST_NEIGHBOR.USE_CUDA is accepted"},
        {"hydra.verbose=true", "hydra.verbose=true is accepted"},
        {"node_id=0", "node_id=0 is accepted"},
    };
    for (int i = 0; i < (int)(sizeof rows / sizeof rows[0]); i++) {
        int n = lines_with(rows[i].override, rows[i].line);
        if (n != 1)
            fail_msg("%s: %d lines with \"%s\"", rows[i].override, n, rows[i].line);
    }
    CHECK_INT(lines_with("MACHINE.DEVICE=cpu", "MACHINE.DEVICE is accepted"), 1);
}

// Options of transforms and heads are in lists, which no section's table describes.
TEST(test_lists) {
    static const char *const rows[][2] = {
        {"DATA.TRAIN.TRANSFORMS=[{name: ImgPilColorDistortion, hue: 0.1}, {name: ToTensor}]",
         "DATA.TRAIN.TRANSFORMS[0].ImgPilColorDistortion.hue is accepted"},
        {"DATA.TEST.TRANSFORMS=[{name: ToTensor, indices: [0]}]",
         "DATA.TEST.TRANSFORMS[0].ToTensor.indices is accepted"},
        {"DATA.TRAIN.TRANSFORMS=[{name: ImgPilMultiCropRandomApply, prob: [1], transforms: "
         "[{name: RandomCrop, size: 8, pad_if_needed: false}]}]",
         "DATA.TRAIN.TRANSFORMS[0].ImgPilMultiCropRandomApply.transforms[0].RandomCrop.pad_if_"
         "needed"},
    };
    for (int i = 0; i < SR_COUNT(rows); i++)
        CHECK_INT(lines_with(rows[i][0], rows[i][1]), 1);
}

// Keys that are read only together with others.
TEST(test_without_effect) {
    static const char *const keys[][2] = {
        {"OPTIMIZER.larc_config.eps=0.5", "OPTIMIZER.larc_config"},
        {"OPTIMIZER.betas=[0.8,0.9]", "OPTIMIZER.betas"},
        {"OPTIMIZER.param_schedulers.lr_head.value=3", "OPTIMIZER.param_schedulers.lr_head"},
        {"OPTIMIZER.head_optimizer_params.weight_decay=1", "head_optimizer_params.weight_decay"},
        {"OPTIMIZER.layer_wise_lr_decay.decay=0.5", "OPTIMIZER.layer_wise_lr_decay.decay"},
        {"MODEL.GRAD_CLIP.MAX_NORM=3", "MODEL.GRAD_CLIP.MAX_NORM"},
        {"MODEL._MODEL_INIT_SEED=3", "MODEL._MODEL_INIT_SEED"},
        {"DATA.TEST.LABEL_TYPE=zero", "DATA.TEST.LABEL_TYPE"},
        {"DATA.TEST.LABEL_SOURCES=[disk_folder]", "DATA.TEST.LABEL_SOURCES"},
        {"DATA.TRAIN={DATA_SOURCES: [disk_folder], LABEL_SOURCES: [synthetic]}",
         "DATA.TRAIN.LABEL_SOURCES"},
        {"DATA.TRAIN.MMAP_MODE=False", "DATA.TRAIN.MMAP_MODE"},
        {"LOSS.swav_momentum_loss.momentum=0.5", "LOSS.swav_momentum_loss"},
        {"METERS.accuracy_list_meter.num_meters=3", "METERS.accuracy_list_meter"},
    };
    for (int i = 0; i < SR_COUNT(keys); i++) {
        char words[128];
        snprintf(words, sizeof words, "%s is accepted and changes nothing", keys[i][1]);
        if (lines_with(keys[i][0], words) != 1)
            fail_msg("%s: no line", keys[i][0]);
    }
}

// Segments of activation checkpointing decide what is kept; without them MACHINE.RECOMPUTE does.
TEST(test_recompute) {
    static const char words[] = "MACHINE.RECOMPUTE is accepted and changes nothing";
    static const char *const overrides[] = {
        "MACHINE.RECOMPUTE=never",
        "MODEL.ACTIVATION_CHECKPOINTING.USE_ACTIVATION_CHECKPOINTING=True"};
    CHECK_INT(lines_under(overrides, 1, words), 0);
    CHECK_INT(lines_under(overrides, 2, words), 1);
}

// With LABEL_TYPE zero all images have one class for a loss that learns classes. LABEL_SOURCES
// overrides LABEL_TYPE.
TEST(test_labels_of_zero) {
    static const char words[] =
        "LABEL_TYPE is zero, so LOSS.name CrossEntropyLoss sees every image as class 0";
    const char *keys[] = {"DATA.TRAIN.LABEL_TYPE=zero", "LOSS.name=CrossEntropyLoss",
                          "DATA.TRAIN.LABEL_SOURCES=[synthetic]"};
    CHECK_INT(lines_under(keys, 1, words), 0); // swav_loss needs no labels
    CHECK_INT(lines_under(keys, 2, words), 1);
    CHECK_INT(lines_under(keys, 3, words), 0);
    CHECK_INT(lines_under(keys + 1, 1, words), 0);
}

// Returns whether setting the row gives a line. All other keys have their defaults.
static bool says(const SrSection *section, const SrOption *row, const char *path) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree, *value;
    char key[256], *log = NULL;
    size_t bytes = 0;
    snprintf(key, sizeof key, "%s%s%s", section->path, *section->path ? "." : "", row->name);
    remove(path);
    CHECK_OK(sr_log_open(path));
    CHECK_OK(sr__schema_defaults(&arena, &tree));
    CHECK_OK(sr_yaml_parse(&arena, "[another]", 9, "test.yaml", &value));
    CHECK_OK(sr_yaml_put_path(&arena, tree, key, value));
    SrStatus status = sr__report_ignored(&(SrConfig){.tree = tree, .path = "test.yaml"}, &arena);
    sr_log_close();
    CHECK_OK(sr_file_read(path, 1 << 20, &log, &bytes));
    bool said = status == SR_OK
                    ? strstr(log, key) && strstr(log, " is accepted and changes nothing")
                    : strstr(sr_status_message(), key) != NULL;
    sr_free(log);
    sr_arena_deinit(&arena);
    return said;
}

// Every row marked as without effect, of every section and of every plugin's options, is
// reported.
TEST(test_every_ignored_row) {
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries;
    char dir[64], path[128];
    int n, rows = 0;
    temp_dir_make(dir);
    snprintf(path, sizeof path, "%s/log.txt", dir);
    sr_log_set_level(SR_LOG_ERROR);
    CHECK_OK(sr__schema_entries(&arena, &entries, &n));
    for (int i = 0; i < n; i++)
        for (const SrOption *row = entries[i].section.table; row && row->name; row++)
            if (row->type == SR_OPT_IGNORED) {
                rows++;
                if (!says(&entries[i].section, row, path))
                    fail_msg("%s.%s is set, and nothing is said", entries[i].section.path,
                             row->name);
            }
    sr_log_set_level(SR_LOG_INFO);
    CHECK(rows > 80);
    sr_arena_deinit(&arena);
    temp_dir_remove(dir);
}

TEST(test_defaults_are_silent) {
    CHECK_INT(lines_with(NULL, "is accepted"), 0);
    CHECK_INT(lines_with("DISTRIBUTED.BACKEND=nccl", "is accepted"), 0);
    CHECK_INT(lines_with("MODEL.FSDP_CONFIG.AUTO_SETUP_FSDP=False", "is accepted"), 0);
}

// The line about an option map without effect points to a key that the user wrote, and not to a
// default around it.
TEST(test_place_of_a_map) {
    static const char *const overrides[] = {"LOSS.swav_momentum_loss.queue.queue_length=8",
                                            "METERS.accuracy_list_meter.num_meters=3",
                                            "MODEL.TRUNK.VISION_TRANSFORMERS.NUM_LAYERS=3"};
    for (int i = 0; i < SR_COUNT(overrides); i++) {
        CHECK_INT(lines_with(overrides[i], "defaults: "), 0);
        CHECK_INT(lines_with(overrides[i], "is accepted and changes nothing"), 1);
    }
}

// Returns the number of lines with these words while a file of the folder is read under an
// override (NULL: none).
static int lines_of(const char *dir, const char *file, const char *override, const char *words) {
    char path[128], log[128];
    SrConfig *config = NULL;
    snprintf(path, sizeof path, "%s/%s.yaml", dir, file);
    snprintf(log, sizeof log, "%s/log.txt", dir);
    remove(log);
    CHECK_OK(sr_log_open(log));
    CHECK_OK(sr_config_load(path, &override, override ? 1 : 0, &config));
    sr_log_close();
    sr_config_free(config);
    return count(log, words);
}

static void put(const char *dir, const char *name, const char *content) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s.yaml", dir, name);
    CHECK_OK(sr_file_write(path, content, strlen(content)));
}

// Options of Gram anchoring need its weight. A loss that was not chosen is named as a whole.
TEST(test_gram_anchor) {
    static const char *const keys[] = {"LOSS.dinov2_loss.gram_enlarge",
                                       "LOSS.dinov2_loss.gram_update_steps"};
    char dir[64];
    temp_dir_make(dir);
    put(dir, "plain", "defaults: [pretrain/dinov2/dinov2_cifar10]\n");
    put(dir, "anchored",
        "defaults: [pretrain/dinov2/dinov2_cifar10]\n"
        "config: {LOSS: {dinov2_loss: {gram_loss_weight: 0.5}}}\n");
    for (int i = 0; i < SR_COUNT(keys); i++) {
        char override[96], words[128];
        snprintf(override, sizeof override, "%s=4", keys[i]);
        snprintf(words, sizeof words, "%s is accepted and changes nothing", keys[i]);
        CHECK_INT(lines_of(dir, "plain", override, words), 1);
        CHECK_INT(lines_of(dir, "anchored", override, words), 0);
        CHECK_INT(lines_with(override, words), 0);
    }
    temp_dir_remove(dir);
}

// SrOption.needs names a switch or a weight of the same table.
TEST(test_needs) {
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries = NULL;
    int n = 0, found = 0;
    CHECK_OK(sr__schema_entries(&arena, &entries, &n));
    for (int i = 0; i < n; i++)
        for (const SrOption *o = entries[i].section.table; o && o->name; o++) {
            const SrOption *needed =
                o->needs ? sr_options_find(entries[i].section.table, o->needs) : NULL;
            found += needed != NULL;
            if (o->needs && (!needed || (needed->type != SR_OPT_BOOL && needed->min != 0)))
                fail_msg("%s.%s needs %s", entries[i].section.path, o->name, o->needs);
        }
    CHECK(found > 10);
    sr_arena_deinit(&arena);
}

// A recipe that builds on another one and chooses another plugin leaves the old plugin's options
// without effect: no line, since nobody made a mistake. Options next to the choice, in a file
// over it or on the command line are reported.
TEST(test_files_below) {
    static const struct {
        const char *file, *override, *line;
        int lines;
    } rows[] = {
        {"below", "METERS.names=[accuracy_list_meter]", "is accepted", 0},
        {"below", NULL, "below.yaml:4: METERS.accuracy_list_meter is accepted", 1},
        {"below", "LOSS.name=vicreg_loss", "below.yaml:1: LOSS.simclr_info_nce_loss is accepted",
         1},
        {"above", NULL, "is accepted", 0},
        {"above", "LOSS.name=vicreg_loss", "is accepted", 0},
        {"above", "LOSS.simclr_info_nce_loss.temperature=0.5",
         "command line: LOSS.simclr_info_nce_loss is accepted", 1},
        {"above", "OPTIMIZER.larc_config.eps=1", "command line: OPTIMIZER.larc_config is", 1},
        {"above", "OPTIMIZER.momentum=0.5", "command line: OPTIMIZER.momentum is accepted", 1},
        {"beside", NULL, "beside.yaml:3: LOSS.simclr_info_nce_loss is accepted", 1},
        {"beside", NULL, "is accepted", 1},
    };
    char dir[64], over[96];
    temp_dir_make(dir);
    put(dir, "below",
        "LOSS: {name: simclr_info_nce_loss, simclr_info_nce_loss: {temperature: 0.3}}\n"
        "MODEL: {TRUNK: {RESNETS: {DEPTH: 34}}, HEAD: {PARAMS: [[mlp, {dims: [512, 64]}]]}}\n"
        "OPTIMIZER: {use_larc: True, larc_config: {eps: 0.5}, momentum: 0.7}\n"
        "METERS: {accuracy_list_meter: {num_meters: 3}}\n");
    put(dir, "above",
        "defaults: [below]\n"
        "config:\n"
        "  LOSS: {name: barlow_twins_loss}\n"
        "  MODEL: {TRUNK: {NAME: convnext}, HEAD: {PARAMS: [[mlp, {dims: [768, 64]}]]}}\n"
        "  OPTIMIZER: {use_larc: False, name: adam}\n"
        "  METERS: {names: [mean_ap_list_meter]}\n");
    put(dir, "beside",
        "defaults: [above]\n"
        "config:\n"
        "  LOSS: {name: vicreg_loss, simclr_info_nce_loss: {temperature: 0.5}}\n");
    put(dir, "over", "LOSS: {simclr_info_nce_loss: {temperature: 0.5}}\n");
    for (int i = 0; i < SR_COUNT(rows); i++) {
        int n = lines_of(dir, rows[i].file, rows[i].override, rows[i].line);
        if (n != rows[i].lines)
            fail_msg("%s with %s: %d lines with \"%s\"", rows[i].file,
                     rows[i].override ? rows[i].override : "nothing", n, rows[i].line);
    }
    snprintf(over, sizeof over, "+config/%s=over", dir);
    CHECK_INT(lines_of(dir, "above", over, "over.yaml:1: LOSS.simclr_info_nce_loss is accepted"),
              1);
    temp_dir_remove(dir);
}

// MobileNetV3's two trunks share one option map. The chosen trunk reports options of the other
// once, and a key that neither has is an error.
TEST(test_shared_maps) {
    static const char key[] = "MODEL.TRUNK.MOBILE_NET.TIMM_BN=True";
    const char *overrides[3] = {key, "MODEL.TRUNK.NAME=mobilenetv3_timm",
                                "+MODEL.TRUNK.ALEXNETS.WIDTHS=2"};
    SrConfig *config = NULL;
    CHECK_INT(lines_with(key, "MODEL.TRUNK.MOBILE_NET is accepted and changes nothing"), 1);
    CHECK_OK(sr_config_parse(text, "test.yaml", overrides, 2, &config));
    sr_config_free(config);
    CHECK_FAILS(sr_config_parse(text, "test.yaml", &overrides[2], 1, &config), SR_ERR_CONFIG,
                "unknown key 'MODEL.TRUNK.ALEXNETS.WIDTHS'");
}

// `~KEY` removes a key from the tree before the lines are written.
TEST(test_removed_keys) {
    static const char *const overrides[][2] = {
        {"~OPTIMIZER.param_schedulers",
         "+OPTIMIZER.param_schedulers.lr={name: constant, value: 1}"},
        {"~OPTIMIZER.larc_config", "SEED_VALUE=1"},
        {"~DATA.TRAIN.LABEL_SOURCES", "SEED_VALUE=1"}};
    for (int i = 0; i < SR_COUNT(overrides); i++) {
        SrConfig *config = NULL;
        CHECK_OK(sr_config_parse(text, "test.yaml", overrides[i], 2, &config));
        sr_config_free(config);
    }
}

// A section without keys, such as "OPTIMIZER:" at the end of a file that was cut off, is read to
// its end: its values are in no list of words.
TEST(test_empty_section) {
    const char *override = "OPTIMIZER=null";
    SrConfig *config = NULL;
    if (sr_config_parse(text, "test.yaml", &override, 1, &config) == SR_OK)
        sr_config_free(config);
    else
        CHECK(strstr(sr_status_message(), "OPTIMIZER"));
}

SR_TESTS(ignored, unit(test_shared_maps), unit(test_one_line_each), unit(test_removed_keys),
         unit(test_empty_section), unit(test_lists), unit(test_without_effect),
         unit(test_gram_anchor), unit(test_needs), unit(test_recompute), unit(test_labels_of_zero),
         unit(test_place_of_a_map), unit(test_files_below), unit(test_every_ignored_row),
         unit(test_defaults_are_silent))
