// Holds the tables of VISSL's keys that have no effect or have moved.  Keys without effect in a
// plugin's own map stand in the plugin's file.
#include "trainer/config/vissl/vissl_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"

#define NO_GPU "sslrun computes on the CPU only"
#define LAUNCHED "mpirun or srun starts the ranks of a run, and MPI connects them"
#define WHOLE "every rank holds the whole model, and rank 0 writes the files"

#define THROUGHPUT \
    "the progress line always shows images/s and the share of time spent waiting for data"

#define NO_EFFECT(path, initial, why) \
    { path, initial, why, false }
#define REFUSED(path, initial, why) \
    { path, initial, why, true }

// clang-format off
const SrVisslKey sr__vissl_keys[] = {
    REFUSED("VERSION", "1", "it is the version of the configuration format, and only 1 exists"),
    NO_EFFECT("VERBOSE", "False", "the log always contains all lines"),
    NO_EFFECT("MULTI_PROCESSING_METHOD", "forkserver", "the loader uses threads, not processes"),
    NO_EFFECT("MONITOR_PERF_STATS", "False", THROUGHPUT),
    NO_EFFECT("PERF_STAT_FREQUENCY", "-1", THROUGHPUT),
    NO_EFFECT("ROLLING_BTIME_FREQ", "-1", THROUGHPUT),
    NO_EFFECT("REPRODUCIBILITY", "{CUDDN_DETERMINISTIC: False}", "every run is reproducible to the bit"),
    REFUSED("TRAINER.TRAIN_STEP_NAME", "standard_train_step", "there is only one kind of training step"),
    NO_EFFECT("TRAINER.TASK_NAME", "self_supervision_task", "there is only one task"),
    NO_EFFECT("SVM_FEATURES_PATH", "\"\"", "`sslrun svm TRAIN TEST` takes folders of features"),
    NO_EFFECT("MONITORING", "{MONITOR_ACTIVATION_STATISTICS: 0}", "activation statistics are not implemented"),
    NO_EFFECT("PROFILING",
        "{START_ITERATION: 0, WARMUP_ITERATIONS: 0, NUM_ITERATIONS: 10, STOP_TRAINING_AFTER_PROFILING: False,"
        " OUTPUT_FOLDER: \".\", PROFILED_RANKS: [0, 1], MEMORY_PROFILING: {TRACK_BY_LAYER_MEMORY: False},"
        " RUNTIME_PROFILING: {USE_PROFILER: False, PROFILE_CPU: True, PROFILE_GPU: True, LEGACY_PROFILER: False}}",
        "it configures PyTorch's profiler; `sslrun bench --profile` times the kernels"),
    NO_EFFECT("SLURM", "{USE_SLURM: False, NAME: vissl, COMMENT: \"vissl job\", PARTITION: \"\", LOG_FOLDER: \".\", "
        "TIME_HOURS: 72, TIME_MINUTES: 0, NUM_CPU_PER_PROC: 8, MEM_GB: 250, PORT_ID: 40050, "
        "CONSTRAINT: \"\", ADDITIONAL_PARAMETERS: {}}",
        "sslrun submits no cluster jobs"),
    NO_EFFECT("EXTRACT_FEATURES",
        "{OUTPUT_DIR: \"\", CHUNK_THRESHOLD: -1, MAP_FEATURES_TO_IMG_NAME: False}", "not implemented"),
    NO_EFFECT("DISTILLATION.eager_teacher_init", "False", "the teacher is built before the first step in any case"),
    NO_EFFECT("RANKING.USE_GPU", "False", NO_GPU),
    NO_EFFECT("RANKING.RANKING_BACKEND", "faiss", "there is only one"),
    REFUSED("RANKING.APPLY_PCA", "False", "principal components are not implemented"),
    NO_EFFECT("RANKING.PCA_DIM", "128", "principal components are not implemented"),
    NO_EFFECT("RANKING.FEATURES",
        "{EXTRACT: False, PATH: \".\", DATA_PARTITION: TRAIN, TEST_PARTITION: TEST, DATASET_NAME: \"\", "
        "LAYER_NAME: \"\", DIMENSIONALITY_REDUCTION: 0}",
        "`sslrun retrieve DATABASE [QUERIES]` takes folders of features"),
    NO_EFFECT("IMG_RETRIEVAL", "{TRAIN_DATASET_NAME: Oxford, EVAL_DATASET_NAME: Paris, DATASET_PATH: \"\", "
        "WHITEN_IMG_LIST: \"\", EVAL_BINARY_PATH: \"\", DEBUG_MODE: False, NUM_TRAINING_SAMPLES: "
        "-1, NUM_QUERY_SAMPLES: -1, NUM_DATABASE_SAMPLES: -1, USE_DISTRACTORS: False, "
        "IMG_SCALINGS: [1], SIMILARITY_MEASURE: cosine_similarity, RESIZE_IMG: 1024, "
        "SPATIAL_LEVELS: 3, N_PCA: 512, TRAIN_PCA_WHITENING: True, FEATS_PROCESSING_TYPE: \"\", "
        "GEM_POOL_POWER: 4.0, CROP_QUERY_ROI: False, NORMALIZE_FEATURES: True, CENTER_CROP: "
        "False, SAVE_RETRIEVAL_RANKINGS_SCORES: True, SAVE_FEATURES: False, "
        "USE_FEATURE_EXTRACTION_ENGINE: False, FEATURE_EXTRACTION_DIR: \"\"}",
        "steps of VISSL's instance retrieval; `sslrun retrieve` refuses a configuration that changes them"),
    NO_EFFECT("GEO_LOCALIZATION",
        "{TRAIN_LABEL_MAPPING: \"/path/to/.json\", ACC_KM_THRESHOLDS: [1, 25, 200, 750, 2500]}",
        "not implemented"),
    REFUSED("HOOKS.EMA_MODEL.ENABLE_EMA_METERS", "False",
        "meters measure the model itself; evaluate the averaged model with"
     " MODEL.WEIGHTS_INIT.REMOVE_PREFIX=ema_model."),
    NO_EFFECT("HOOKS.EMA_MODEL.EMA_DEVICE", "gpu", NO_GPU),
    NO_EFFECT("HOOKS.PERF_STATS", "{MONITOR_PERF_STATS: False, PERF_STAT_FREQUENCY: -1, ROLLING_BTIME_FREQ: -1}",
        THROUGHPUT),
    NO_EFFECT("HOOKS.MEMORY_SUMMARY",
        "{PRINT_MEMORY_SUMMARY: True, LOG_ITERATION_NUM: 0, DUMP_MEMORY_ON_EXCEPTION: False}",
        "the memory of a step is always printed before the first step"),
    NO_EFFECT("HOOKS.LOG_GPU_STATS", "True", NO_GPU),
    NO_EFFECT("HOOKS.MODEL_COMPLEXITY", "{COMPUTE_COMPLEXITY: False, INPUT_SHAPE: [3, 224, 224]}", "not implemented"),
    NO_EFFECT("HOOKS.TENSORBOARD_SETUP.LOG_DIR",
        "\".\"", "VISSL ignores the key too: events go to tb_logs/ in the run folder"),
    NO_EFFECT("HOOKS.TENSORBOARD_SETUP.EXPERIMENT_LOG_DIR", "tensorboard",
        "VISSL ignores the key too: events go to tb_logs/ in the run folder"),
    NO_EFFECT("LOSS.msn_loss", "{momentum: 0.996, temperature: 0.1, output_dim: 1024}",
     "the loss is a placeholder in VISSL; use masked_siamese_loss"),
    NO_EFFECT("LOSS.ignore_index", "-1", "VISSL ignores the key too: it belongs into the map of the loss"),
    REFUSED("METERS.model_output_mask", "False", "not implemented"),
    NO_EFFECT("CHECKPOINT.APPEND_DISTR_RUN_ID", "False", WHOLE),
    REFUSED("CHECKPOINT.BACKEND", "disk", "checkpoints are always written to disk"),
    NO_EFFECT("CHECKPOINT.LATEST_CHECKPOINT_RESUME_FILE_NUM", "1", "the newest undamaged checkpoint is always taken"),
    NO_EFFECT("CHECKPOINT.USE_SYMLINK_CHECKPOINT_FOR_RESUME",
        "False", "the link to the newest checkpoint is always written"),
    NO_EFFECT("DISTRIBUTED.DISTR_ON", "True", LAUNCHED),
    NO_EFFECT("DISTRIBUTED.BACKEND", "nccl", LAUNCHED),
    NO_EFFECT("DISTRIBUTED.NCCL_DEBUG", "False", LAUNCHED),
    NO_EFFECT("DISTRIBUTED.NCCL_SOCKET_NTHREADS", "\"\"", LAUNCHED),
    NO_EFFECT("DISTRIBUTED.BROADCAST_BUFFERS", "True", LAUNCHED),
    NO_EFFECT("DISTRIBUTED.INIT_METHOD", "tcp", LAUNCHED),
    NO_EFFECT("DISTRIBUTED.RUN_ID", "auto", LAUNCHED),
    NO_EFFECT("DISTRIBUTED.MANUAL_GRADIENT_REDUCTION", "False", LAUNCHED),
    NO_EFFECT("NEAREST_NEIGHBOR.USE_CUDA", "True", NO_GPU),
    NO_EFFECT("NEAREST_NEIGHBOR.OPTIMIZE_MEMORY", "False", "neighbours are always searched in blocks"),
    NO_EFFECT("DATA.PIN_MEMORY", "True", "batches already lie in the memory that the step reads"),
    NO_EFFECT("DATA.ENABLE_ASYNC_GPU_COPY", "True", NO_GPU),
    NO_EFFECT("DATA.DDP_BUCKET_CAP_MB", "25", LAUNCHED),
    REFUSED("DATA.*.USE_DEBUGGING_SAMPLER", "False", "not implemented"),
    NO_EFFECT("DATA.*.USE_STATEFUL_DISTRIBUTED_SAMPLER", "False", "every run resumes within an epoch"),
    REFUSED("DATA.*.STRATIFIED_SAMPLER.ENABLED", "False", "not implemented"),
    NO_EFFECT("DATA.*.STRATIFIED_SAMPLER.CLASSES_PER_BATCH", "2", "not implemented"),
    NO_EFFECT("DATA.*.STRATIFIED_SAMPLER.STEP_PER_EPOCH", "1250", "not implemented"),
    NO_EFFECT("DATA.*.STRATIFIED_SAMPLER.UNIQUE_CLASSES", "False", "not implemented"),
    REFUSED("DATA.*.POWER_LAW_SAMPLER.ENABLED", "False", "not implemented"),
    NO_EFFECT("DATA.*.POWER_LAW_SAMPLER.POWER", "1.0", "not implemented"),
    REFUSED("DATA.*.BASE_DATASET", "generic_ssl", "there is only one base data set"),
    NO_EFFECT("DATA.*.MMAP_MODE", "True", "sslrun chooses between mapping and reading a file"),
    NO_EFFECT("DATA.*.COPY_TO_LOCAL_DISK", "False", "images are read from where they are"),
    NO_EFFECT("DATA.*.COPY_DESTINATION_DIR", "\"\"", "images are read from where they are"),
    NO_EFFECT("DATA.*.ENABLE_QUEUE_DATASET", "False", "images are always read ahead"),
    REFUSED("DATA.*.TRAIN_PHASES_PER_EPOCH", "1", "an epoch is always one train phase"),
    REFUSED("MODEL.BASE_MODEL_NAME", "multi_input_output_model", "there is only one base model"),
    NO_EFFECT("MODEL.CUDA_CACHE", "{CLEAR_CUDA_CACHE: False, CLEAR_FREQ: 100}", NO_GPU),
    NO_EFFECT("MODEL.SHARDED_DDP_SETUP", "{USE_SDP: False, reduce_buffer_size: -1}", WHOLE),
    NO_EFFECT("MODEL.FSDP_CONFIG",
        "{AUTO_SETUP_FSDP: False, AUTO_WRAP_THRESHOLD: 0, AMP_TYPE: \"01\", FORCE_SYNC_CUDA: False,"
        " flatten_parameters: True, mixed_precision: True, fp32_reduce_scatter: False, compute_dtype: float32,"
        " bucket_cap_mb: 0, clear_autocast_cache: True, verbose: True}",
        WHOLE),
    NO_EFFECT("MODEL.SYNC_BN_CONFIG.SYNC_BN_TYPE", "pytorch", "apex and pytorch mean the same here"),
    NO_EFFECT("MODEL.AMP_PARAMS.AMP_ARGS", "{opt_level: O1}", "there is only one level, without loss scaling"),
    NO_EFFECT("MODEL.AMP_PARAMS.AMP_TYPE", "apex", "apex and pytorch mean the same here: bfloat16"),
    NO_EFFECT("OPTIMIZER.use_zero", "False", WHOLE),
    NO_EFFECT("SVM.dual", "True",
     "the dual and the primal problem have the same optimum; the primal is solved where liblinear has it"),
    NO_EFFECT("SVM.max_iter", "2000", "liblinear stops by its own limits and the tolerance 1e-4"),
    NO_EFFECT("SVM.force_retrain", "False", "the classifiers are always trained again"),
    NO_EFFECT("SVM.low_shot.dataset_name", "voc", "the labels show whether images have one class or several"),
    NO_EFFECT("LOW_SHOT_BENCHMARK.METHOD",
        "logistic_regression", "`sslrun logreg` runs logistic regression, and `sslrun svm` support vector machines"),
    NO_EFFECT("LOW_SHOT_BENCHMARK.FEATURES.PATH", "\"\"", "`sslrun logreg TRAIN TEST` takes folders of features"),
    NO_EFFECT("CLUSTERFIT.CLUSTER_BACKEND", "faiss", "there is only one"),
    NO_EFFECT("CLUSTERFIT.FEATURES.EXTRACT", "False", "`sslrun extract --data` extracts the features"),
    NO_EFFECT("CLUSTERFIT.FEATURES.PATH", "\".\"", "`sslrun cluster TRAIN [TEST]` takes the folders"),
    NO_EFFECT("CLUSTERFIT.FEATURES.DATA_PARTITION", "TRAIN", "the centres come from the first folder"),
    NO_EFFECT("CLUSTERFIT.FEATURES.TEST_PARTITION", "TEST", "the second folder is only labelled"),
    REFUSED("CLUSTERFIT.FEATURES.DIMENSIONALITY_REDUCTION", "0", "principal components are not implemented"),
    {NULL, NULL, NULL, false},
};

// Maps that moved when VISSL was young.  VISSL itself ignores the old places without a word.
static const struct {
    const char *map, *nested; // the map itself, and the path at which old files have it
} moved[] = {
    {"MODEL.TRUNK", "MODEL.TRUNK.TRUNK_PARAMS"},
    {"MODEL.TRUNK.CONVIT", "MODEL.TRUNK.VISION_TRANSFORMERS.CONVIT"},
};
// clang-format on

int sr__vissl_keys_count(void) { return SR_COUNT(sr__vissl_keys) - 1; }

// Returns the part of `key` below `section`; "*" in a key matches one part of a path.  NULL: the
// key lies elsewhere.
static const char *name_inside(const char *key, const char *section) {
    if (!*section)
        return key;
    while (*key && *section && (*key == *section || *key == '*')) {
        bool any = *key++ == '*';
        section++;
        while (any && *section && *section != '.')
            section++;
    }
    return !*section && *key == '.' ? key + 1 : NULL;
}

// True if a deeper section holds the key: "HOOKS.PERF_STATS" belongs to HOOKS, not to the root.
// Whatever "*" stands for is a section too.
static bool lies_deeper(const char *name, const char *section, bool (*deeper)(const char *path)) {
    char path[128];
    if (*name == '*')
        return true;
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.')) {
        snprintf(path, sizeof path, "%s%s%.*s", section, *section ? "." : "", (int)(dot - name),
                 name);
        if (deeper(path))
            return true;
    }
    return false;
}

void sr__vissl_keys_rows(const char *section, bool (*deeper)(const char *path), SrOption *rows,
                         int *n) {
    for (const SrVisslKey *key = sr__vissl_keys; key->path; key++) {
        const char *name = name_inside(key->path, section);
        if (name && !lies_deeper(name, section, deeper))
            rows[(*n)++] = (SrOption){.name = name,
                                      .type = SR_OPT_IGNORED,
                                      .initial = key->initial,
                                      .choices = key->refused ? SR_REFUSED : NULL,
                                      .help = key->why};
    }
}

SrStatus sr__vissl_keys_move(SrYaml *tree, SrArena *arena) {
    for (int i = 0; i < SR_COUNT(moved); i++) {
        const char *leaf = strrchr(moved[i].nested, '.') + 1;
        char above[128];
        snprintf(above, sizeof above, "%.*s", (int)(leaf - moved[i].nested - 1), moved[i].nested);
        SrYaml *map = sr_yaml_find_path(tree, moved[i].map),
               *holder = sr_yaml_find_path(tree, above);
        const SrYaml *old = holder ? sr_yaml_find(holder, leaf) : NULL;
        if (!map || !old || old->type != SR_YAML_MAP)
            continue;
        SR_TRY(sr_yaml_merge(arena, map, old));
        sr_info("%s: %s: sslrun reads its keys as keys of %s", sr_yaml_place(old).text,
                moved[i].nested, moved[i].map);
        sr_yaml_remove(holder, leaf);
    }
    return SR_OK;
}
