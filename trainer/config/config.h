// The configuration: VISSL's tree with VISSL's defaults, one YAML file merged over it, KEY=VALUE overrides, and
// the sections read into structs.  The schema is the union of the option tables; there is no second list of keys.
//
// Order: defaults (from the tables) <- file <- overrides <- inference (trainer/config/inference.c), each inferred
// value logged.  Unknown key: SR_ERR_CONFIG with file:line and the nearest known key.
#ifndef SR_TRAINER_CONFIG_CONFIG_H
#define SR_TRAINER_CONFIG_CONFIG_H

#include "base/option.h"
#include "measure/logreg.h"
#include "trainer/optim/optim.h"

typedef struct { // DATA.TRAIN or DATA.TEST
    const SrYaml *tree;
    SrStrings data_sources, data_paths, label_sources, label_paths;
    const char *label_type, *remove_img_path_prefix, *new_img_path_prefix, *collate_function;
    int batchsize_per_replica, default_gray_img_size;
    int64_t data_limit;
    int data_limit_seed;
    bool data_limit_balanced;
    int64_t data_limit_skip;
    bool drop_last, random_synthetic_images;
    int random_synthetic_labels;
    double max_bad_share; // MAX_BAD_IMAGE_SHARE, ours
    int fast_pixels;      // PIXELS, ours: 0 exact, 1 fast
    const SrYaml *collate_params;
    SrStrings input_keys;  // one: a batch has one input; several: names of the collator's or views
    SrStrings target_keys; // label, mask
    const SrYaml *transforms;
} SrSplitConfig;

typedef struct { // an entry of TEMP_FROZEN_PARAMS_ITER_MAP, "module." removed
    const char *param;
    int64_t iterations;
} SrFrozenUntil;

typedef enum { SR_INPUT_RGB, SR_INPUT_BGR, SR_INPUT_LAB } SrInputType;
typedef enum { SR_RECOMPUTE_AUTO, SR_RECOMPUTE_NEVER, SR_RECOMPUTE_ALWAYS } SrRecompute;

typedef struct {
    const char *trunk_name;
    const SrYaml *trunk_tree;  // MODEL.TRUNK
    const SrYaml *owned;       // a map below it that a trunk owns: only there to be pointed at
    const SrYaml *head_params; // MODEL.HEAD.PARAMS
    double bn_eps, bn_momentum, params_multiplier;
    bool single_pass_every_crop;
    bool use_amp; // AMP_PARAMS.USE_AMP
    bool sync_bn; // SYNC_BN_CONFIG, resolved in SrConfig.sync_bn_group
    int sync_bn_group;
    uint64_t init_seed; // _MODEL_INIT_SEED: SEED_VALUE
    bool checkpointing; // ACTIVATION_CHECKPOINTING
    int checkpointing_splits;
    const SrYaml
        *frozen_map; // TEMP_FROZEN_PARAMS_ITER_MAP as written; frozen_until is the same, read
    int n_frozen_until;
    SrFrozenUntil *frozen_until;
    SrStrings non_trainable_params;
    int input_type; // of enum SrInputType
    bool freeze_trunk_only, freeze_trunk_and_head, eval_mode_on;
    int cache_features; // CACHE_FEATURES, ours: SrCacheKind of trainer/run/feed.h
    bool extract_trunk_features_only, eval_trunk_and_head, flatten_feats;
    bool assert_head_shapes;     // ASSERT_HEAD_LAYER_SHAPE_INIT
    const SrYaml *feat_pool_ops; // LINEAR_EVAL_FEAT_POOL_OPS_MAP
    const SrYaml *input_mapping; // MULTI_INPUT_HEAD_MAPPING
    bool parallel_heads;         // HEAD.PARALLEL, ours
    double min_trunk_share;      // WEIGHTS_INIT.MIN_TRUNK_SHARE, ours
    const char *params_file;     // WEIGHTS_INIT.PARAMS_FILE
    SrStrings state_dict_keys;   // STATE_DICT_KEY_NAME
    SrStrings skip_layers;
    const char *append_prefix, *remove_prefix;
    bool grad_clip;
    double grad_clip_norm_type, grad_clip_max_norm;
} SrModelConfig;

typedef struct {
    const char *dir;
    bool auto_resume, overwrite_existing;
    int checkpoint_frequency;
    int64_t checkpoint_iter_frequency;
    bool keep_best; // KEEP_BEST, ours: model_best holds the best test phase
    int keep_last;  // KEEP_LAST, ours: how many phase and iteration checkpoints stay; 0: all
} SrCheckpointConfig;

enum { SR_KNN_MAX_TOPK = 16 }; // entries of NEAREST_NEIGHBOR.TOPK

typedef struct { // NEAREST_NEIGHBOR
    double sigma;
    SrInts topk;
    bool l2_norm_feats;
    const char *layer;         // LAYER, ours: the feature compared ("flatten")
    int64_t bank_limit;        // BANK_LIMIT, ours: training images compared with; 0: all
    int64_t test_limit;        // no key: test images; 0: all.  Probes set it
    const char *features_path; // FEATURES.PATH: a folder with both sides' features, "": the trunk's
} SrKnnConfig;

typedef struct {          // HOOKS.PROBE, ours
    int every_num_epochs; // 0: off
    int64_t limit;        // images on either side; 0: all
} SrProbeConfig;

typedef struct { // HOOKS.EMA_MODEL
    bool save;
    int64_t update_iter;
    double warmup, decay;
} SrEmaConfig;

typedef struct {      // HOOKS.TENSORBOARD_SETUP
    bool on;          // USE_TENSORBOARD
    double flush_min; // FLUSH_EVERY_N_MIN
    bool params, gradients;
    int64_t params_every; // LOG_PARAMS_EVERY_N_ITERS
} SrTensorboardConfig;

typedef struct {        // METERS
    SrStrings names;    // in order; the deprecated METERS.name among them
    const char *single; // METERS.name
    bool training;      // enable_training_meter
} SrMetersConfig;

typedef struct {                           // CLUSTERFIT
    const char *output_dir, *name, *layer; // FEATURES.DATASET_NAME, FEATURES.LAYER_NAME
    int iterations, clusters;
    int64_t limit; // DATA_LIMIT: rows that the centres are made from, -1: all
    int limit_seed;
    bool normalize, spherical; // ours
} SrClusterConfig;

typedef struct {           // the maps below the root
    const SrYaml *teacher; // DISTILLATION.TEACHER_MODEL
    const SrYaml *machine, *hooks, *data, *model, *optimizer, *checkpoint, *distributed, *neighbor,
        *meters, *svm, *low_shot, *cluster,
        *owned; // by trunks and losses: only there to be pointed at
} SrConfigSections;

typedef struct SrConfig {
    SrArena arena;
    const char *path; // of the file
    SrStrings layers; // the files it is composed of, each lying over those before it
    SrYaml *tree;     // resolved: every key, after inference ("config:" removed)
    uint64_t seed;
    int log_frequency, num_dataloader_workers;
    int device;    // MACHINE.DEVICE: both "gpu" and "cpu" run here, on the CPU
    int winograd;  // MACHINE.WINOGRAD: 0 none, 1 F(2x2), 2 F(3x3) and F(4x4) too
    int fp32;      // MACHINE.FP32: SrConvFp32
    int recompute; // MACHINE.RECOMPUTE, an SrRecompute
    int num_nodes,
        num_proc_per_node;        // as the file asks; their product is written back as `replicas`
    const SrYaml *replicas_given; // DISTRIBUTED.REPLICAS: auto, recipe or a number
    int reduce;                   // DISTRIBUTED.REDUCE: 0 tree, 1 mpi
    int memory;                   // DISTRIBUTED.MEMORY: 0 auto, 1 again, 2 keep
    // A step has this many batches, each with batch norms of its own (run/replicas.h): DISTRIBUTED's replicas, or with
    // SYNC_BN_CONFIG groups of so many of them, times OPTIMIZER.gradient_accumulation_steps.
    int replicas, sync_bn_group;
    int sync_bn_ranks; // a group that neighbouring ranks share: so many, each with sync_bn_group of it; 1: none does
    int batch; // images of such a batch: sync_bn_group * DATA.TRAIN.BATCHSIZE_PER_REPLICA
    bool test_model, test_only, check_nan;
    bool supervised;           // the loss needs labels: train and test phases with meters
    const char *whole_batches; // why the loss takes batches of one size only; NULL: of any
    bool learns; // false: FEATURE_EVAL_SETTINGS freezes everything, so that there is no loss
    int test_every_num_epoch;
    SrConfigSections sections;
    const char *loss_name;
    const SrYaml *loss_tree; // LOSS
    SrModelConfig model;
    SrOptimizerConfig optimizer;
    SrSplitConfig train, test;
    SrCheckpointConfig checkpoint;
    SrKnnConfig knn;
    SrProbeConfig probe;
    SrEmaConfig ema;
    SrTensorboardConfig tensorboard;
    SrMetersConfig meters;
    SrSvmConfig svm;
    SrLowShotConfig low_shot;
    SrClusterConfig cluster;
    bool rank_normalized; // RANKING.NORMALIZE_FEATS
} SrConfig;

// `path`: a file, or a name below configs/ as VISSL writes it (trainer/config/compose.h).  overrides: "+config/DIR=FILE"
// first, then "A.B=v", "config.A.B=v", "+A.B=v" (new key), "~A.B" (remove), each in order.  Everything wrong with file or overrides is SR_ERR_CONFIG, in one line.
SrStatus sr_config_load(const char *path, const char *const *overrides, int n_overrides,
                        SrConfig **out);
// The same from text, for tests and the golden runner; `name` stands for the file in messages.
SrStatus sr_config_parse(const char *text, const char *name, const char *const *overrides,
                         int n_overrides, SrConfig **out);
// What a run keeps in its checkpoints: what there is to say of its keys was said when the run began.
SrStatus sr_config_parse_saved(const char *text, const char *name, SrConfig **out);
// Names of the configurations below configs/ here, beside the program and where it was installed, each once: "pretrain/swav/x".
SrStatus sr_config_names(SrArena *arena, SrStrings *out);
// Whether sr_config_load would find a file under this name.
bool sr_config_found(const char *name);
// Adds to `problems` each file or folder that the configuration names and that is not there; warns of placeholders.
SrStatus sr_config_check_paths(const SrConfig *config, SrProblems *problems);
// Whether a sentence ("specify the model weights") stands where a file of weights belongs, as in VISSL's files.
bool sr_weights_are_placeholder(const char *path);
// The defaults with overrides and no file: keys are checked, but there need be nothing to train.  For what works on
// files of features and reads sections such as SVM.
SrStatus sr_config_options(const char *const *overrides, int n_overrides, SrConfig **out);
// Only composed (defaults, file, overrides): nothing checked, inferred or read.  For tools that look at trees.
SrStatus sr_config_compose(const char *path, const char *const *overrides, int n_overrides,
                           SrArena *arena, SrYaml **tree);
// A configuration of its own with the same keys, for whoever needs one with other limits: its fields may be changed (its
// tree then says what they were).  To be freed; `config` may be freed before it.
SrStatus sr_config_copy(const SrConfig *config, SrConfig **out);
// The configuration of DISTILLATION.TEACHER_MODEL, whose `model` is the teacher's.
SrStatus sr_config_teacher(const SrConfig *config, SrConfig **out);
void sr_config_free(SrConfig *config); // NULL is fine
// Writes the resolved tree (YAML that loads again) to <dir>/train_config.yaml.
SrStatus sr_config_save(const SrConfig *config, const char *dir);

#endif
