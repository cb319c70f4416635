// Tests inference rules of configurations: what each rule writes, that it writes existing keys
// only, and what it refuses.
#include <stdio.h>

#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/config/vissl/inference.h"
#include "trainer/config/vissl/schema.h"

typedef struct {
    SrArena arena;
    SrYaml *tree;
} Tree;

static Tree parse(const char *text) {
    Tree t = {0};
    CHECK_OK(sr_yaml_parse(&t.arena, text, strlen(text), "test.yaml", &t.tree));
    return t;
}

static SrStatus infer(const char *text, int world) {
    Tree t = parse(text);
    SrStatus status = sr__infer(t.tree, world, &t.arena);
    sr_arena_deinit(&t.arena);
    return status;
}

#define SWAV_LOSS(name)                                                               \
    "LOSS: {name: " name ", " name                                                    \
    ": {num_prototypes: [3000], embedding_dim: 128, num_crops: 2, output_dir: \".\"," \
    " queue: {queue_length: 1000, local_queue_length: 0}}}\n"
#define SWAV_HEAD \
    "MODEL: {HEAD: {PARAMS: [[swav_head, {dims: [64, 32, 16], num_clusters: [7, 9]}]]}}\n"
#define DATA(collator)                                                              \
    "DATA: {TRAIN: {BATCHSIZE_PER_REPLICA: 24, COLLATE_FUNCTION: " collator         \
    ", DROP_LAST: True, LABEL_TYPE: standard,"                                      \
    " LABEL_SOURCES: [], TRANSFORMS: [{name: ToTensor}, {name: ImgPilToMultiCrop, " \
    "total_num_crops: 6,"                                                           \
    " num_crops: [2, 4]}]}, TEST: {LABEL_TYPE: standard, LABEL_SOURCES: "           \
    "[disk_folder]}}\nCHECKPOINT: {DIR: run}\n"

TEST(test_swav) {
    Tree t = parse(SWAV_LOSS("swav_loss") SWAV_HEAD DATA("multicrop_collator"));
    CHECK_OK(sr__infer(t.tree, 2, &t.arena));
    const SrYaml *loss = sr_yaml_find_path(t.tree, "LOSS.swav_loss");
    CHECK_INT(sr_yaml_find(loss, "num_prototypes")->n, 2);
    CHECK_INT(sr_yaml_find(loss, "num_prototypes")->items[1]->i, 9);
    CHECK_INT(sr_tree_int(loss, "embedding_dim", 0), 16);
    CHECK_INT(sr_tree_int(loss, "num_crops", 0), 6);
    CHECK_INT(sr_tree_int(loss, "queue.queue_length", 0), 960); // 20 batches of 2 x 24 rows
    CHECK_INT(sr_tree_int(loss, "queue.local_queue_length", 0), 480);
    sr_arena_deinit(&t.arena);
}

TEST(test_swav_refuses) {
    CHECK_FAILS(infer(SWAV_LOSS("swav_loss") SWAV_HEAD DATA("default_collate"), 1), SR_ERR_CONFIG,
                "COLLATE_FUNCTION");
    CHECK_FAILS(
        infer(SWAV_LOSS("swav_loss") "MODEL: {HEAD: {PARAMS: []}}\n" DATA("multicrop_collator"), 1),
        SR_ERR_CONFIG, "exactly one head");
    CHECK_FAILS(infer(SWAV_LOSS("swav_loss") "MODEL: {HEAD: {PARAMS: [[mlp, {dims: [1]}]]}}\n" DATA(
                          "multicrop_collator"),
                      1),
                SR_ERR_CONFIG, "swav_head");
    CHECK_FAILS(
        infer(SWAV_LOSS("swav_loss") "MODEL: {HEAD: {PARAMS: [[swav, {dims: [1]}]]}}\n" DATA(
                  "multicrop_collator"),
              1),
        SR_ERR_CONFIG, "swav_head");
    CHECK_FAILS(infer(SWAV_LOSS("swav_loss") "MODEL: {HEAD: {PARAMS: [[swav_head]]}}\n" DATA(
                          "multicrop_collator"),
                      1),
                SR_ERR_CONFIG, "num_clusters");
    CHECK_FAILS(infer(SWAV_LOSS("swav_loss") "MODEL: {HEAD: {PARAMS: [[swav_head, {num_clusters: "
                                             "[3], dims: []}]]}}\n" DATA("multicrop_collator"),
                      1),
                SR_ERR_CONFIG, "dims");
    CHECK_FAILS(infer("DATA: {TRAIN: {TRANSFORMS: [{size: 3}]}}\n", 1), SR_ERR_CONFIG, "name");
    CHECK_FAILS(infer("DATA: {TEST: {TRANSFORMS: {name: x}}}\n", 1), SR_ERR_CONFIG,
                "DATA.TEST.TRANSFORMS");
    CHECK_FAILS(infer("DATA: {TRAIN: {TRANSFORMS: [{name: x, total_num_crops: 0}]}}\n", 1),
                SR_ERR_CONFIG, "total_num_crops");
}

TEST(test_momentum_forces_the_collator) {
    Tree t = parse(SWAV_LOSS("swav_momentum_loss") SWAV_HEAD DATA("default_collate"));
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_STR(sr_tree_text(t.tree, "DATA.TRAIN.COLLATE_FUNCTION", ""), "multicrop_collator");
    CHECK_INT(sr_tree_int(t.tree, "LOSS.swav_momentum_loss.queue.queue_length", 0), 984);
    sr_arena_deinit(&t.arena);
}

// Plain SimCLR counts positives by views, multi-crop SimCLR by images.
TEST(test_simclr_counts) {
    static const struct {
        const char *text;
        const char *loss;
        int effective;
    } cases[] = {
        {"LOSS: {name: simclr_info_nce_loss, simclr_info_nce_loss: {buffer_params: {world_size: 64,"
         " effective_batch_size: 4096}}}\n" DATA("simclr_collator"),
         "LOSS.simclr_info_nce_loss", 96},
        {"LOSS: {name: multicrop_simclr_info_nce_loss, multicrop_simclr_info_nce_loss: {num_crops: "
         "2, buffer_params:"
         " {world_size: 64, effective_batch_size: 4096}}}\n" DATA("simclr_collator"),
         "LOSS.multicrop_simclr_info_nce_loss", 48},
    };
    for (int i = 0; i < 2; i++) {
        Tree t = parse(cases[i].text);
        CHECK_OK(sr__infer(t.tree, 2, &t.arena));
        const SrYaml *loss = sr_yaml_find_path(t.tree, cases[i].loss);
        CHECK_INT(sr_tree_int(loss, "buffer_params.world_size", 0), 2);
        CHECK_INT(sr_tree_int(loss, "buffer_params.effective_batch_size", 0), cases[i].effective);
        CHECK_INT(sr_tree_int(loss, "num_crops", 6), 6);
        sr_arena_deinit(&t.arena);
    }
}

TEST(test_other_losses) {
    Tree t = parse("LOSS: {name: deepclusterv2_loss, deepclusterv2_loss: {DROP_LAST: False, "
                   "BATCHSIZE_PER_REPLICA: 256,"
                   " num_crops: 2}}\n" DATA("default_collate"));
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK(sr_tree_bool(t.tree, "LOSS.deepclusterv2_loss.DROP_LAST", false));
    CHECK_INT(sr_tree_int(t.tree, "LOSS.deepclusterv2_loss.BATCHSIZE_PER_REPLICA", 0), 24);
    sr_arena_deinit(&t.arena);

    t = parse(
        "LOSS: {name: dino_loss, dino_loss: {output_dim: 65536, num_crops: 2}}\n"
        "MODEL: {HEAD: {PARAMS: [[dino_head, {num_clusters: [77]}]]}}\n" DATA("default_collate"));
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_INT(sr_tree_int(t.tree, "LOSS.dino_loss.output_dim", 0), 77);
    CHECK_INT(sr_tree_int(t.tree, "LOSS.dino_loss.num_crops", 0), 6);
    sr_arena_deinit(&t.arena);

    t = parse("LOSS: {name: ibot_loss, ibot_loss: {out_dim: 1, patch_out_dim: 1, num_global_crops: "
              "9, num_local_crops: 9}}\n"
              "MODEL: {HEAD: {PARAMS: [[ibot_head, {out_dim: 33}]]}}\n" DATA(
                  "ibot_multicrop_masking_collator"));
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_INT(sr_tree_int(t.tree, "LOSS.ibot_loss.patch_out_dim", 0), 33);
    CHECK_INT(sr_tree_int(t.tree, "LOSS.ibot_loss.num_global_crops", 0), 2);
    CHECK_INT(sr_tree_int(t.tree, "LOSS.ibot_loss.num_local_crops", 0), 4);
    sr_arena_deinit(&t.arena);
}

TEST(test_labels_and_decay) {
    Tree t = parse("OPTIMIZER: {weight_decay: 0.25, head_optimizer_params: {use_different_wd: "
                   "False, weight_decay: 0.5},"
                   " param_schedulers: {lr: {name: constant, value: 0.1}, lr_head: {name: "
                   "constant, value: 0.2}}}\n" DATA("default_collate"));
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_STR(sr_tree_text(t.tree, "DATA.TRAIN.LABEL_TYPE", ""), "sample_index");
    CHECK_STR(sr_tree_text(t.tree, "DATA.TEST.LABEL_TYPE", ""), "standard");
    CHECK_NEAR(sr_yaml_find_path(t.tree, "OPTIMIZER.head_optimizer_params.weight_decay")->f, 0.25,
               0);
    CHECK_NEAR(sr_yaml_find_path(t.tree, "OPTIMIZER.param_schedulers.lr_head.value")->f, 0.1, 0);
    sr_arena_deinit(&t.arena);
    t = parse(
        "DATA: {TRAIN: {LABEL_SOURCES: [], LABEL_TYPE: zero}}\nOPTIMIZER: {head_optimizer_params:"
        " {use_different_lr: True}, param_schedulers: {lr: {name: constant, value: 0.1}, lr_head: "
        "{name: constant,"
        " value: 0.2}}}\n");
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_STR(sr_tree_text(t.tree, "DATA.TRAIN.LABEL_TYPE", ""), "zero");
    CHECK_NEAR(sr_yaml_find_path(t.tree, "OPTIMIZER.param_schedulers.lr_head.value")->f, 0.2, 0);
    sr_arena_deinit(&t.arena);
}

// A rule does not add keys that the tree does not have.
TEST(test_only_known_keys_are_written) {
    Tree t = parse("LOSS: {name: swav_loss, swav_loss: {num_crops: 2}}\n" SWAV_HEAD DATA(
        "multicrop_collator"));
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_INT(sr_yaml_find_path(t.tree, "LOSS.swav_loss")->n, 1);
    sr_arena_deinit(&t.arena);
}

// The grid of patches follows the transformer and overrides the one of the transform.
TEST(test_ibot_masks) {
    static const char text[] =
        "LOSS: {name: ibot_loss, ibot_loss: {out_dim: 1}}\n"
        "MODEL: {TRUNK: {NAME: %s, VISION_TRANSFORMERS: {PATCH_SIZE: 8}}, HEAD: {PARAMS: "
        "[[ibot_head, {out_dim: "
        "33}]]}}\n"
        "DATA: {TRAIN: {COLLATE_FUNCTION: ibot_multicrop_masking_collator, TRANSFORMS: [{name: "
        "ToTensor}, "
        "{name: MaskedImageModeling, patch_size: 16}, {name: MaskedImageModeling}]}}\n";
    char yaml[1024];
    snprintf(yaml, sizeof yaml, text, "vision_transformer");
    Tree t = parse(yaml);
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_INT(sr_tree_int(t.tree, "DATA.TRAIN.TRANSFORMS.1.patch_size", 0), 8);
    CHECK_INT(sr_tree_int(t.tree, "DATA.TRAIN.TRANSFORMS.2.patch_size", 0), 8);
    CHECK(!sr_yaml_find_path(t.tree, "DATA.TRAIN.TRANSFORMS.0.patch_size"));
    sr_arena_deinit(&t.arena);
    snprintf(yaml, sizeof yaml, text, "xcit");
    t = parse(yaml);
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_INT(sr_tree_int(t.tree, "DATA.TRAIN.TRANSFORMS.1.patch_size", 0), 16);
    sr_arena_deinit(&t.arena);
}

// Neither the transforms nor the file give the number of crops.
TEST(test_dino_needs_crops) {
    CHECK_FAILS(infer("LOSS: {name: dino_loss, dino_loss: {output_dim: 1}}\n"
                      "MODEL: {HEAD: {PARAMS: [[dino_head, {num_clusters: [77]}]]}}\n",
                      1),
                SR_ERR_CONFIG, "LOSS.dino_loss.num_crops: the number of crops is not known");
    CHECK_OK(infer("LOSS: {name: dino_loss, dino_loss: {output_dim: 1, num_crops: 4}}\n"
                   "MODEL: {HEAD: {PARAMS: [[dino_head, {num_clusters: [77]}]]}}\n",
                   1));
}

TEST(test_init_seed) {
    Tree t = parse("SEED_VALUE: 7\nMODEL: {_MODEL_INIT_SEED: 3}\n");
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    CHECK_INT(sr_tree_int(t.tree, "MODEL._MODEL_INIT_SEED", 0), 7);
    sr_arena_deinit(&t.arena);
}

// Some losses choose the collator themselves; the others keep the configured one.
TEST(test_collators) {
    static const struct {
        const char *loss, *head, *collator; // collator: expected; NULL: unchanged
    } rows[] = {{"multicrop_simclr_info_nce_loss", "[mlp, {dims: [4, 2]}]", "multicrop_collator"},
                {"deepclusterv2_loss", "[mlp, {dims: [4, 2]}]", "multicrop_collator"},
                {"swav_momentum_loss", "[swav_head, {dims: [4, 2], num_clusters: [3]}]",
                 "multicrop_collator"},
                {"dino_loss", "[dino_head, {num_clusters: [3]}]", "multicrop_collator"},
                {"dino_loss", "[swav_head, {num_clusters: [3]}]", "multicrop_collator"},
                {"simclr_info_nce_loss", "[mlp, {dims: [4, 2]}]", NULL},
                {"moco_loss", "[mlp, {dims: [4, 2]}]", NULL},
                {"barlow_twins_loss", "[mlp, {dims: [4, 2]}]", NULL},
                {"cross_entropy_multiple_output_single_target", "[mlp, {dims: [4, 2]}]", NULL}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        char text[1024];
        snprintf(
            text, sizeof text,
            "LOSS: {name: %s, %s: {}}\nMODEL: {HEAD: {PARAMS: [%s]}}\n" DATA("simclr_collator"),
            rows[i].loss, rows[i].loss, rows[i].head);
        Tree t = parse(text);
        CHECK_OK(sr__infer(t.tree, 1, &t.arena));
        CHECK_STR(sr_tree_text(t.tree, "DATA.TRAIN.COLLATE_FUNCTION", ""),
                  rows[i].collator ? rows[i].collator : "simclr_collator");
        sr_arena_deinit(&t.arena);
    }
}

// A loss refuses heads and collators that it cannot use.
TEST(test_heads_and_collators_refused) {
    static const char *const rows[][3] = {
        {"swav_momentum_loss", "[[mlp, {dims: [4, 2]}]]",
         "swav_momentum_loss needs the head [swav_head"},
        {"dino_loss", "[[mlp, {dims: [4, 2]}]]", "dino_loss needs the head [swav_head dino_head"},
        {"dino_loss", "[[dino_head, {num_clusters: [3]}], [identity]]",
         "needs exactly one head, but there are 2"},
        {"ibot_loss", "[[ibot_head, {out_dim: 3}]]",
         "needs ibot_multicrop_masking_collator, not default_collate"},
        {"swav_loss", "[[[swav_head, {dims: [4, 2], num_clusters: [3]}]]]",
         "neither a chain nor another head"}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "LOSS: {name: %s}\nMODEL: {HEAD: {PARAMS: %s}}\n" DATA("default_collate"),
                 rows[i][0], rows[i][1]);
        CHECK_FAILS(infer(text, 1), SR_ERR_CONFIG, rows[i][2]);
    }
}

TEST(test_label_type) {
    CHECK_FAILS(infer("DATA: {TEST: {LABEL_TYPE: standrd}}\n", 1), SR_ERR_CONFIG,
                "test.yaml:1: DATA.TEST.LABEL_TYPE: unknown label type 'standrd'; did you mean "
                "'standard'?");
}

TEST(test_world_of_bce) {
    Tree t = parse("LOSS: {name: bce_logits_multiple_output_single_target, "
                   "bce_logits_multiple_output_single_target: "
                   "{world_size: 1}}\n" DATA("default_collate"));
    CHECK_OK(sr__infer(t.tree, 4, &t.arena));
    CHECK_INT(sr_tree_int(t.tree, "LOSS.bce_logits_multiple_output_single_target.world_size", 0),
              4);
    sr_arena_deinit(&t.arena);
}

#define LIST_METER "{num_meters: 1, meter_names: []}"

static Tree with_meters(const char *flags, const char *name, const char *names) {
    char text[1024];
    snprintf(text, sizeof text,
             "METERS: {name: \"%s\", names: %s, accuracy_list_meter: " LIST_METER
             ", mean_ap_list_meter: " LIST_METER ", precision_at_k_list_meter: " LIST_METER
             ", recall_at_k_list_meter: " LIST_METER "}\n"
             "MODEL: {FEATURE_EVAL_SETTINGS: {%s, LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res4, "
             "[Identity, []]], [res2, "
             "[Identity, []]], [res4, [Identity, []]]]}}\n",
             name, names, flags);
    Tree t = parse(text);
    CHECK_OK(sr__infer(t.tree, 1, &t.arena));
    return t;
}

// With a frozen trunk each named meter has one value per pooled layer, in the order of the map.
TEST(test_meters) {
    static const char linear[] = "EVAL_MODE_ON: true, FREEZE_TRUNK_ONLY: true";
    static const char *const all[] = {"accuracy_list_meter", "mean_ap_list_meter",
                                      "precision_at_k_list_meter", "recall_at_k_list_meter"};
    char key[128];
    Tree t = with_meters(linear, "",
                         "[accuracy_list_meter, mean_ap_list_meter, precision_at_k_list_meter, "
                         "recall_at_k_list_meter]");
    for (int i = 0; i < SR_COUNT(all); i++) {
        snprintf(key, sizeof key, "METERS.%s", all[i]);
        const SrYaml *meter = sr_yaml_find_path(t.tree, key),
                     *names = sr_yaml_find(meter, "meter_names");
        CHECK_INT(sr_tree_int(meter, "num_meters", 0), 3);
        CHECK_INT(names->n, 3);
        CHECK_STR(names->items[0]->text, "res4");
        CHECK_STR(names->items[1]->text, "res2");
        CHECK_STR(names->items[2]->text, "res4");
    }
    sr_arena_deinit(&t.arena);
    // The deprecated METERS.name is appended once; a meter that is not named is unchanged.
    t = with_meters(linear, "accuracy_list_meter", "[recall_at_k_list_meter]");
    const SrYaml *names = sr_yaml_find_path(t.tree, "METERS.names");
    CHECK_INT(names->n, 2);
    CHECK_STR(names->items[1]->text, "accuracy_list_meter");
    CHECK_INT(sr_tree_int(t.tree, "METERS.accuracy_list_meter.num_meters", 0), 3);
    CHECK_INT(sr_tree_int(t.tree, "METERS.mean_ap_list_meter.num_meters", 0), 1);
    sr_arena_deinit(&t.arena);
    t = with_meters(linear, "accuracy_list_meter", "[accuracy_list_meter]");
    CHECK_INT(sr_yaml_find_path(t.tree, "METERS.names")->n, 1);
    sr_arena_deinit(&t.arena);
    // A trunk that learns is not a feature extractor.
    t = with_meters("EVAL_MODE_ON: true, FREEZE_TRUNK_ONLY: false", "", "[accuracy_list_meter]");
    CHECK_INT(sr_tree_int(t.tree, "METERS.accuracy_list_meter.num_meters", 0), 1);
    sr_arena_deinit(&t.arena);
}

SR_TESTS(infer, unit(test_swav), unit(test_swav_refuses), unit(test_momentum_forces_the_collator),
         unit(test_simclr_counts), unit(test_other_losses), unit(test_labels_and_decay),
         unit(test_only_known_keys_are_written), unit(test_ibot_masks), unit(test_dino_needs_crops),
         unit(test_init_seed), unit(test_collators), unit(test_heads_and_collators_refused),
         unit(test_label_type), unit(test_world_of_bce), unit(test_meters))
