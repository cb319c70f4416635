// The fields of a configuration.
//
// Fields have the names of VISSL's keys; a comment names the key where the field has another name.
// "ours" marks keys that VISSL does not have.  Strings and trees belong to SrConfig.arena.
#ifndef SR_TRAINER_CONFIG_CONFIG_TYPES_H
#define SR_TRAINER_CONFIG_CONFIG_TYPES_H

#include "base/plugin/option.h"
#include "kernels/machine.h"
#include "measure/probes/logreg.h"
#include "trainer/optim/optim_options.h"

// Each enum lists the words of its key in the order of the key's option row.
typedef enum { SR_PIXELS_EXACT, SR_PIXELS_FAST } SrPixels;
typedef enum { SR_COLORS_KEEP, SR_COLORS_SKIP } SrColorTransforms;
typedef enum { SR_WINOGRAD_NONE, SR_WINOGRAD_F2, SR_WINOGRAD_F4 } SrWinograd;
typedef enum { SR_RECOMPUTE_AUTO, SR_RECOMPUTE_NEVER, SR_RECOMPUTE_ALWAYS } SrRecompute;
typedef enum { SR_REDUCE_TREE, SR_REDUCE_MPI } SrReduce;
typedef enum { SR_REPLICAS_AUTO, SR_REPLICAS_AGAIN, SR_REPLICAS_KEEP } SrReplicaMemory;
typedef enum { SR_TEACHER_CACHE_ON, SR_TEACHER_CACHE_OFF } SrTeacherCacheUse;

typedef struct { // DATA.TRAIN or DATA.TEST
    const SrYaml *tree;
    SrStrings data_sources, data_paths, label_sources, label_paths;
    SrStrings dataset_names; // names in VISSL's catalogue (trainer/config/vissl/dataset_catalog.h)
    const char *label_type, *remove_img_path_prefix, *new_img_path_prefix, *collate_function;
    int batchsize_per_replica, default_gray_img_size;
    int64_t data_limit;
    int data_limit_seed;
    bool data_limit_balanced;
    int64_t data_limit_skip;
    bool drop_last, random_synthetic_images;
    int random_synthetic_labels;
    double max_bad_share; // MAX_BAD_IMAGE_SHARE, ours
    SrPixels pixels;      // PIXELS, ours
    const SrYaml *collate_params;
    // INPUT_KEY_NAMES.  One name: a batch has one input.  Several: names of the collator's
    // inputs, or of the views.
    SrStrings input_keys;
    SrStrings target_keys; // TARGET_KEY_NAMES: label, mask
    const SrYaml *transforms;
} SrSplitConfig;

typedef struct {        // an entry of TEMP_FROZEN_PARAMS_ITER_MAP
    const char *param;  // name of the parameter, without "module."
    int64_t iterations; // steps in which the optimiser leaves it alone
} SrFrozenUntil;

typedef enum { SR_INPUT_RGB, SR_INPUT_BGR, SR_INPUT_LAB } SrInputType;
// Place in which a frozen trunk's features stay between epochs; auto: memory if they fit.
typedef enum { SR_CACHE_AUTO, SR_CACHE_MEMORY, SR_CACHE_DISK, SR_CACHE_OFF } SrCacheKind;

typedef struct {
    const char *trunk_name;
    const SrYaml *trunk_tree;  // MODEL.TRUNK
    const SrYaml *owned;       // target of rows for maps that trunks own; nobody reads it
    const SrYaml *head_params; // MODEL.HEAD.PARAMS
    double bn_eps, bn_momentum, params_multiplier;
    bool single_pass_every_crop;
    bool use_amp; // AMP_PARAMS.USE_AMP
    bool sync_bn; // CONVERT_BN_TO_SYNC_BN; SrConfig.sync_bn_group is the outcome
    // GROUP_SIZE: replicas per batch-norm group.  0: all replicas.  -1: those of one machine.
    int sync_bn_group;
    uint64_t init_seed; // _MODEL_INIT_SEED, inferred from SEED_VALUE
    bool checkpointing; // ACTIVATION_CHECKPOINTING
    int checkpointing_splits;
    // TEMP_FROZEN_PARAMS_ITER_MAP as written; the fields below hold its entries
    const SrYaml *frozen_map;
    int n_frozen_until;
    SrFrozenUntil *frozen_until;
    SrStrings non_trainable_params;
    SrInputType input_type;
    bool freeze_trunk_only, freeze_trunk_and_head, eval_mode_on;
    SrCacheKind cache_features; // CACHE_FEATURES, ours
    bool extract_trunk_features_only, eval_trunk_and_head, flatten_feats;
    bool assert_head_shapes;     // ASSERT_HEAD_LAYER_SHAPE_INIT
    const SrYaml *feat_pool_ops; // LINEAR_EVAL_FEAT_POOL_OPS_MAP
    const SrYaml *input_mapping; // MULTI_INPUT_HEAD_MAPPING
    bool parallel_heads;         // HEAD.PARALLEL, ours
    double min_trunk_share;      // WEIGHTS_INIT.MIN_TRUNK_SHARE, ours: 0 to 1
    const char *params_file;     // WEIGHTS_INIT.PARAMS_FILE
    SrStrings state_dict_keys;   // STATE_DICT_KEY_NAME
    SrStrings skip_layers;
    const char *append_prefix, *remove_prefix;
    // params_file is a checkpoint of this run, whose names the other keys of WEIGHTS_INIT do not
    // change.  No key sets it; evaluations of a run do
    bool own_checkpoint;
    bool use_lora; // LORA, ours
    int lora_rank, lora_unfreeze_last;
    double lora_alpha;
    SrStrings lora_targets;
    bool grad_clip;
    double grad_clip_norm_type, grad_clip_max_norm;
} SrModelConfig;

typedef struct {
    const char *dir;
    bool auto_resume, overwrite_existing;
    int checkpoint_frequency;
    int64_t checkpoint_iter_frequency;
    bool keep_best; // KEEP_BEST, ours: model_best holds the best test phase
    int keep_last;  // KEEP_LAST, ours: phase and iteration checkpoints that stay.  0: all
} SrCheckpointConfig;

enum { SR_KNN_MAX_TOPK = 16 }; // entries of NEAREST_NEIGHBOR.TOPK

typedef struct { // NEAREST_NEIGHBOR
    double sigma;
    SrInts topk;
    bool l2_norm_feats;
    const char *layer;  // LAYER, ours: layer whose features are compared ("flatten")
    int64_t bank_limit; // BANK_LIMIT, ours: training images in the bank.  0: all
    int64_t test_limit; // test images.  0: all.  No key sets it; probes do
    // Random crops per image, whose features are averaged (trainer/data/eval_crops.h).  0: whole
    // images by the transforms of evaluation.  No key sets it; `sslrun knn --crops` does.
    int crops;
    // FEATURES.PATH: folder with the features of both splits.  "": the trunk computes them
    const char *features_path;
} SrKnnConfig;

typedef struct {          // HOOKS.PROBE, ours
    int every_num_epochs; // 0: off
    int64_t limit;        // images of either split.  0: all
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
    SrStrings names;    // in order; the deprecated METERS.name is one of them
    const char *single; // METERS.name
    bool training;      // enable_training_meter
} SrMetersConfig;

typedef struct {                           // CLUSTERFIT
    const char *output_dir, *name, *layer; // FEATURES.DATASET_NAME, FEATURES.LAYER_NAME
    int iterations, clusters;
    int64_t limit; // DATA_LIMIT: rows that the centroids are computed from.  -1: all
    int limit_seed;
    bool normalize, spherical; // ours
} SrClusterConfig;

typedef struct {             // DISTILLATION
    int teacher_side;        // TEACHER_INPUT_SIZE: pixels of the teacher's views.  0: the student's
    int cached_views;        // CACHED_VIEWS: epochs after which views repeat.  0: never
    SrTeacherCacheUse cache; // CACHE
    const char *cache_file;  // CACHE_FILE.  "": in CHECKPOINT.DIR
} SrDistillationConfig;

typedef struct {           // maps below the root
    const SrYaml *teacher; // DISTILLATION.TEACHER_MODEL
    // `owned` is the target of rows for maps that trunks and losses own; nobody reads it.
    const SrYaml *machine, *hooks, *data, *model, *optimizer, *checkpoint, *distributed, *neighbor,
        *meters, *svm, *low_shot, *cluster, *owned;
} SrConfigSections;

typedef struct SrConfig {
    SrArena arena;    // holds everything below
    const char *path; // the file's, for messages; SR_YAML_COMMAND_LINE without a file
    SrStrings layers; // files that were merged, the lowest first
    SrYaml *tree;     // resolved: every key, after inference, without "config:"
    uint64_t seed;
    int log_frequency, num_dataloader_workers;
    int channels;                       // DATA.CHANNELS
    bool keep_bits;                     // DATA.KEEP_BITS
    bool sandbox;                       // DATA.SANDBOX
    SrColorTransforms color_transforms; // DATA.COLOR_TRANSFORMS
    const SrYaml *stages;               // DATA.STAGES (trainer/config/stages.h)
    int device;                         // MACHINE.DEVICE: both "gpu" and "cpu" mean the CPU
    SrWinograd winograd;                // MACHINE.WINOGRAD.  F4: F(2x2), F(3x3) and F(4x4)
    SrConvFp32 fp32;                    // MACHINE.FP32
    SrRecompute recompute;              // MACHINE.RECOMPUTE
    // DISTRIBUTED.NUM_NODES and NUM_PROC_PER_NODE, as the file asks
    int num_nodes, num_proc_per_node;
    const SrYaml *replicas_given; // DISTRIBUTED.REPLICAS: auto, recipe or a number
    SrReduce reduce;              // DISTRIBUTED.REDUCE
    SrReplicaMemory memory;       // DISTRIBUTED.MEMORY
    // Batches of a step, each with its own batch norms (trainer/run/ranks/replicas.h): VISSL's
    // replicas divided by sync_bn_group, times OPTIMIZER.gradient_accumulation_steps.
    // sync_bn_group: VISSL's replicas that a rank computes as one batch, because they share batch
    // norms.  1: none do
    int replicas, sync_bn_group;
    // Neighbouring ranks that share a batch-norm group, each with sync_bn_group of it.  1: no
    // sharing
    int sync_bn_ranks;
    int batch; // images: sync_bn_group * DATA.TRAIN.BATCHSIZE_PER_REPLICA
    bool test_model, test_only, check_nan;
    bool supervised; // the loss needs labels: train and test phases have meters
    // Reason why the loss takes batches of one size only.  NULL: it takes any size
    const char *whole_batches;
    bool learns; // false: FEATURE_EVAL_SETTINGS freezes everything, and there is no loss
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
    SrDistillationConfig distillation;
    bool rank_normalized; // RANKING.NORMALIZE_FEATS
} SrConfig;

#endif
