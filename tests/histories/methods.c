// Configurations of histories (methods.h).  Each trains two epochs of two steps, on images of 8 x 8
// pixels, in some ten milliseconds.
#include "tests/histories/methods.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/text/text.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "tests/data/fixture.h"

enum { PICTURES = 27 };

// Loading without threads: what a rank does between two calls depends on nothing but the schedule.
#define NOISE                                                                             \
    "DATA_SOURCES: [synthetic], RANDOM_SYNTHETIC_IMAGES: True, RANDOM_SYNTHETIC_LABELS: " \
    "3, DEFAULT_GRAY_IMG_SIZE: 10"
#define PHOTOS "DATA_SOURCES: [disk_folder], DATA_PATHS: [%s/photos]"
#define CROPPED(n, size)                                                                        \
    "TRANSFORMS: [{name: ImgPilToMultiCrop, total_num_crops: " n ", num_crops: [" n "], "       \
    "size_crops: [" size "], crop_scales: [[0.3, 1.0]]}, {name: RandomHorizontalFlip}, {name: " \
    "ToTensor}, {name: Normalize}"
#define VIEWS(n, size) "COLLATE_FUNCTION: multicrop_collator, " CROPPED(n, size) "]"
#define MASKED                                                              \
    "COLLATE_FUNCTION: ibot_multicrop_masking_collator, " CROPPED(          \
        "2", "16") ", {name: MaskedImageModeling, pred_ratio_mean: [0.3], " \
                   "pred_ratio_var: [0.2], patch_size: 4}]"
#define CROPS VIEWS("2", "8")
#define WHOLE                                                                               \
    "COLLATE_FUNCTION: default_collate, TRANSFORMS: [{name: Resize, size: [8, 8]}, {name: " \
    "ToTensor}, {name: Normalize}]"
#define TRAIN(images, limit, views)                                           \
    "LOG_FREQUENCY: 1\nDATA:\n  NUM_DATALOADER_WORKERS: 0\n  TRAIN: {" images \
    ", DATA_LIMIT: " limit ", BATCHSIZE_PER_REPLICA: 2, " views "}\n"
#define TESTS(images) "  TEST: {" images ", DATA_LIMIT: 7, BATCHSIZE_PER_REPLICA: 2, " WHOLE "}\n"
#define PIXELS "MODEL:\n  TRUNK: {NAME: pixels, PIXELS: {SIDE: 4}}\n  HEAD: {PARAMS: "
#define RESNET "MODEL:\n  TRUNK: {NAME: resnet_cifar, RESNET_CIFAR: {DEPTH: 8}}\n  HEAD: {PARAMS: "
#define PATCHES                                                                            \
    "MODEL:\n  TRUNK: {" SR_LOSS_EXAMPLE_VIT                                               \
    "}\n  MULTI_INPUT_HEAD_MAPPING: [[global_views, {feat_names: [lastBLK], "              \
    "additional_keys: [mask]}]]\n  HEAD: {PARAMS: [[ibot_head, {in_dim: 16, out_dim: 12, " \
    "patch_out_dim: 10, hidden_dim: 16, bottleneck_dim: 8}]]}\n"
#define END                                                                              \
    "OPTIMIZER: {num_epochs: 2, momentum: 0.9, weight_decay: 0.0001, param_schedulers: " \
    "{lr: {name: cosine, start_value: 0.01, end_value: 0.001}}}\n"                       \
    "CHECKPOINT: {CHECKPOINT_ITER_FREQUENCY: 2, KEEP_LAST: 2}\n"
#define NO_TEST "TEST_MODEL: False\n"
#define METER "METERS: {names: [accuracy_list_meter]}\n"

static const Method methods[] = {
    {"simclr", "embeddings", false,
     TRAIN(PHOTOS, "19", CROPS) PIXELS
     "[[mlp, {dims: [48, 8], use_bn: True}]]}\n" NO_TEST "LOSS: {name: simclr_info_nce_loss, "
     "simclr_info_nce_loss: {buffer_params: {embedding_dim: 8}}}\n" END},
    {"swav", "embeddings for Sinkhorn, a queue", false,
     TRAIN(NOISE, "19", CROPS) PIXELS
     "[[swav_head, {dims: [48, 16, 8], use_bn: True, num_clusters: [6]}]]}\n" NO_TEST
     "LOSS: {name: swav_loss, swav_loss: {queue: {start_iter: 1, queue_length: 16}}}\n" END},
    {"moco", "images in another order, keys of a queue", false,
     TRAIN(NOISE, "19", CROPS) PIXELS
     "[[mlp, {dims: [48, 16, 8], use_bn: True}]]}\n" NO_TEST
     "LOSS: {name: moco_loss, moco_loss: {embedding_dim: 8, queue_size: 32}}\n" END},
    {"clusters", "a memory that is clustered before each epoch", false,
     TRAIN(NOISE, "19", CROPS) PIXELS
     "[[mlp, {dims: [48, 16, 8], use_bn: True}]]}\n" NO_TEST
     "LOSS: {name: deepclusterv2_loss, deepclusterv2_loss: {num_clusters: [4, 3], memory_params: "
     "{embedding_dim: 8, crops_for_mb: [0, 1]}}}\n" END},
    {"dino", "a teacher and the centre of its outputs", false,
     TRAIN(NOISE, "19", CROPS) PIXELS
     "[[dino_head, {in_dim: 48, num_clusters: [12], hidden_dim: 16, bottleneck_dim: 8}]]}\n" NO_TEST
     "LOSS: {name: dino_loss, dino_loss: {output_dim: 12, num_crops: 2}}\n" END},
    {"masked", "values that a loss of independent rows keeps", false,
     TRAIN(PHOTOS, "19", VIEWS("3", "16")) "MODEL:\n  TRUNK: {" SR_LOSS_EXAMPLE_VIT
                                           "}\n  HEAD: {PARAMS: "
                                           "[[msn_head, {in_dim: 16, hidden_dim: 16, output_dim: "
                                           "8, num_prototypes: 12}]]}\n" NO_TEST
                                           "LOSS: {name: masked_siamese_loss, masked_siamese_loss: "
                                           "{patch_size: 4, patch_drop: 0.5}}\n" END},
    {"ibot", "a teacher of patches and the centres of its outputs", false,
     TRAIN(PHOTOS, "19", MASKED) PATCHES NO_TEST
     "LOSS: {name: ibot_loss, ibot_loss: {warmup_teacher_temp_epochs: 1}}\n" END},
    {"dinov2", "scores of tokens and patches for Sinkhorn", false,
     TRAIN(NOISE, "19", MASKED) PATCHES NO_TEST
     "LOSS: {name: dinov2_loss, dinov2_loss: {warmup_teacher_temp_epochs: 1, gram_loss_weight: 2, "
     "gram_update_steps: 2}}\n" END},
    {"wide", "gradients in several buckets", false,
     TRAIN(NOISE, "19", CROPS) PIXELS
     "[[mlp, {dims: [48, 520, 520, 8], use_bn: True}]]}\n" NO_TEST
     "LOSS: {name: simclr_info_nce_loss, simclr_info_nce_loss: {buffer_params: {embedding_dim: "
     "8}}}\n" END},
    {"library", "sums that the library adds", true,
     TRAIN(NOISE, "19", CROPS) PIXELS "[[mlp, {dims: [48, 8], use_bn: True}]]}\n" NO_TEST
                                      "LOSS: {name: simclr_info_nce_loss, "
                                      "simclr_info_nce_loss: {buffer_params: {embedding_dim: "
                                      "8}}}\nDISTRIBUTED: {REDUCE: mpi}\n" END},
    {"sync_norm", "sums of batch norms, figures of a test phase", true,
     TRAIN(NOISE, "19", WHOLE) TESTS(NOISE) RESNET
     "[[mlp, {dims: [64, 3]}]]}\n  SYNC_BN_CONFIG: {CONVERT_BN_TO_SYNC_BN: True, GROUP_SIZE: 0}\n"
     "LOSS: {name: CrossEntropyLoss}\nTEST_MODEL: True\n" METER END},
    {"probe", "features for kNN between epochs", false,
     TRAIN(PHOTOS, "19", CROPS) PIXELS
     "[[mlp, {dims: [48, 8], use_bn: True}]]}\n" NO_TEST "LOSS: {name: simclr_info_nce_loss, "
     "simclr_info_nce_loss: {buffer_params: {embedding_dim: 8}}}\n"
     "HOOKS: {PROBE: {EVERY_NUM_EPOCHS: 1}}\nNEAREST_NEIGHBOR: {TOPK: 3}\n" END},
    {"frozen", "features of a frozen trunk, figures of a test phase", false,
     TRAIN(PHOTOS, "19", WHOLE) TESTS(PHOTOS) RESNET
     "[[eval_mlp, {in_channels: 64, dims: [64, 2]}]]}\n"
     "  FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, FREEZE_TRUNK_ONLY: True, "
     "SHOULD_FLATTEN_FEATS: False, LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[layer3, [AdaptiveAvgPool2d, "
     "[[1, 1]]]]]}\n"
     "LOSS: {name: CrossEntropyLoss}\nTEST_MODEL: True\n" METER END},
    {"extract", "features of files", false, NULL},
};

int methods_count(void) { return SR_COUNT(methods); }
const Method *method_at(int i) { return &methods[i]; }

static void write_config(const Method *m, const char *folder) {
    char path[METHOD_PATH];
    SrText text = SR_TEXT_INIT;
    const char *at = m->config, *gap;
    for (; (gap = strstr(at, "%s")); at = gap + 2) {
        sr_text_addn(&text, at, (size_t)(gap - at));
        sr_text_add(&text, folder);
    }
    sr_text_add(&text, at);
    snprintf(path, sizeof path, "%s/%s.yaml", folder, m->name);
    CHECK_OK(sr_file_write_text(path, &text));
    sr_text_deinit(&text);
}

void methods_prepare(const char *folder) {
    fixture_class_folder(folder, "photos", PICTURES);
    for (int i = 0; i < SR_COUNT(methods); i++)
        if (methods[i].config)
            write_config(&methods[i], folder);
}

// Four replicas on 2 or 4 ranks, and three on 3: trees of gradients are equal where the number of
// replicas of a rank is a power of two.
void method_command(const Method *m, const char *folder, const char *out, int ranks,
                    char *argv[METHOD_WORDS], char room[3][METHOD_PATH]) {
    static char *const extraction[] = {
        "--random", "--nodes", "layer1,avg_pool2d", "--size", "8", "--batch", "2",
        "--shard",  "12",      "--threads",         "0"};
    int n = 0;
    argv[n++] = "sslrun";
    argv[n++] = "-q";
    if (m->config) {
        snprintf(room[0], METHOD_PATH, "%s/%s.yaml", folder, m->name);
        snprintf(room[1], METHOD_PATH, "CHECKPOINT.DIR=%s", out);
        snprintf(room[2], METHOD_PATH, "DISTRIBUTED.REPLICAS=%d", ranks == 3 ? 3 : 4);
        argv[n++] = "train";
        argv[n++] = room[0];
        argv[n++] = room[1];
        argv[n++] = room[2];
        argv[n++] = "--random";
    } else {
        snprintf(room[0], METHOD_PATH, "%s/photos", folder);
        snprintf(room[1], METHOD_PATH, "%s", out);
        char *const words[] = {"extract", "resnet20", "--data", room[0], "--out", room[1]};
        for (int i = 0; i < SR_COUNT(words); i++)
            argv[n++] = words[i];
        for (int i = 0; i < SR_COUNT(extraction); i++)
            argv[n++] = extraction[i];
    }
    argv[n] = NULL;
}
