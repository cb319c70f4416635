// Tests loading configurations: VISSL's defaults, files with and without `config:`, overrides in
// Hydra's grammar, keys that are accepted without effect. Every error is one line with file, line
// and the closest key.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml_print.h"
#include "tests/check.h"
#include "trainer/config/config.h"
#include "trainer/config/derived_config.h"

// A whole SwAV configuration in few lines; each test changes the keys that it checks.
static const char swav[] =
    "# @package _global_\n"
    "config:\n"
    "  LOSS:\n"
    "    name: swav_loss\n"
    "  DATA:\n"
    "    TRAIN:\n"
    "      BATCHSIZE_PER_REPLICA: 32\n"
    "      COLLATE_FUNCTION: multicrop_collator\n"
    "      TRANSFORMS:\n"
    "        - {name: ImgPilToMultiCrop, total_num_crops: 8, num_crops: [2, 6], size_crops: "
    "[224, 96], crop_scales: [[0.14, 1], [0.05, 0.14]]}\n"
    "  MODEL:\n"
    "    HEAD:\n"
    "      PARAMS: [[swav_head, {dims: [2048, 2048, 64], num_clusters: [300]}]]\n";

static SrStatus parse(const char *text, const char *const *overrides, int n, SrConfig **out) {
    *out = NULL;
    return sr_config_parse(text, "test.yaml", overrides, n, out);
}

// Loads the SwAV configuration with overrides; a refusal fails the test.
static SrConfig *load(const char *const *overrides, int n) {
    SrConfig *config = NULL;
    CHECK_OK(parse(swav, overrides, n, &config));
    return config;
}

static SrStatus try_override(const char *override) {
    SrConfig *config = NULL;
    SrStatus status = parse(swav, &override, 1, &config);
    sr_config_free(config);
    return status;
}

// Loads the SwAV configuration with `more` below `config:`.
static SrStatus try_text(const char *more) {
    SrText text = {0};
    SrConfig *config = NULL;
    sr_text_printf(&text, "%s%s", swav, more);
    SrStatus status = parse(text.s, NULL, 0, &config);
    sr_text_deinit(&text);
    sr_config_free(config);
    return status;
}

// A configuration that names no run folder gets one of its own, and other keys can refer to it.
TEST(test_run_folder_of_the_name) {
    const char *refer = "CLUSTERFIT.OUTPUT_DIR=${CHECKPOINT.DIR}/labels";
    SrConfig *c;
    CHECK_OK(sr_config_parse(swav, "some/where/my.run.yml", &refer, 1, &c));
    CHECK_STR(c->checkpoint.dir, "runs/my.run");
    CHECK_STR(c->cluster.output_dir, "runs/my.run/labels");
    sr_config_free(c);
    c = load((const char *const[]){"CHECKPOINT.DIR=."}, 1);
    CHECK_STR(c->checkpoint.dir, ".");
    sr_config_free(c);
}

TEST(test_defaults_are_vissls) {
    SrConfig *c = load(NULL, 0);
    CHECK_INT(c->log_frequency, 10);
    CHECK_INT(c->seed, 0);
    CHECK_INT(c->test_model, true);
    CHECK_INT(c->num_dataloader_workers, 4);
    CHECK_STR(c->optimizer.name, "sgd");
    CHECK_NEAR(sr_yaml_find(c->optimizer.options, "momentum")->f, 0.9, 0);
    CHECK_NEAR(c->optimizer.weight_decay, 1e-4, 0);
    CHECK_INT(c->optimizer.num_epochs, 90);
    CHECK_INT(c->optimizer.regularize_bn, false);
    CHECK_INT(c->optimizer.regularize_bias, true);
    CHECK_INT(sr_yaml_find(c->optimizer.options, "betas")->n, 2);
    CHECK(c->optimizer.weight_decay_schedule == NULL);
    CHECK_STR(c->model.trunk_name, "resnet");
    CHECK_NEAR(c->model.bn_eps, 1e-5, 0);
    CHECK_INT(c->model.skip_layers.n, 1);
    CHECK_STR(c->checkpoint.dir, "runs/test"); // VISSL uses the current folder
    CHECK_INT(c->checkpoint.auto_resume, true);
    CHECK_INT(c->knn.topk.n, 1);
    CHECK_INT(c->knn.topk.v[0], 200);
    CHECK_INT(c->train.drop_last, false);
    CHECK_INT(c->train.batchsize_per_replica, 32);
    CHECK_INT(c->test.batchsize_per_replica, 256);
    CHECK_INT(c->train.transforms->n, 1);
    sr_config_free(c);
}

TEST(test_with_and_without_config_key) {
    SrConfig *c = NULL;
    CHECK_OK(
        parse("LOG_FREQUENCY: 3\nLOSS: {name: swav_loss}\nMODEL: {HEAD: {PARAMS: [[swav_head, "
              "{dims: [8, 4], "
              "num_clusters: [5]}]]}}\nDATA: {TRAIN: {COLLATE_FUNCTION: multicrop_collator}}\n",
              NULL, 0, &c));
    CHECK_INT(c->log_frequency, 3);
    sr_config_free(c);
    CHECK_FAILS(parse("config:\n  LOG_FREQUENCY: 3\nLOSS: {name: swav_loss}\n", NULL, 0, &c),
                SR_ERR_CONFIG, "test.yaml:3: the key 'LOSS' stands next to");
    CHECK_FAILS(parse("config: 5\n", NULL, 0, &c), SR_ERR_CONFIG, "config:");
    CHECK_FAILS(parse("- 1\n- 2\n", NULL, 0, &c), SR_ERR_CONFIG, "map");
    CHECK_FAILS(parse("VERSION: 2\nconfig: {}\n", NULL, 0, &c), SR_ERR_CONFIG, "VERSION");
}

TEST(test_overrides) {
    static const char *const overrides[] = {
        "OPTIMIZER.num_epochs=7",
        "OPTIMIZER.param_schedulers.lr={name:constant,value:0.5}",
        "config.LOG_FREQUENCY=2",
        "CHECKPOINT.DIR=/tmp/run:1=2",
        "DATA.TRAIN.DATA_PATHS=[a/b, \"c d\"]",
        "config.MODEL.HEAD.PARAMS=[[swav_head,{dims:[512,64,32],use_bn:true,num_clusters:[30]}]]",
        "MODEL.WEIGHTS_INIT.PARAMS_FILE=",
        "NEAREST_NEIGHBOR.TOPK=[10,20]",
        "LOG_FREQUENCY=4",
    };
    SrConfig *c = load(overrides, 9);
    CHECK_INT(c->optimizer.num_epochs, 7);
    CHECK_INT(c->log_frequency, 4);
    CHECK_STR(c->checkpoint.dir, "/tmp/run:1=2");
    CHECK_INT(c->train.data_paths.n, 2);
    CHECK_STR(c->train.data_paths.v[1], "c d");
    CHECK_STR(c->model.params_file, "");
    CHECK_INT(c->knn.topk.v[1], 20);
    CHECK_INT(sr_yaml_find_path(c->tree, "LOSS.swav_loss.embedding_dim")->i, 32);
    CHECK_STR(sr_yaml_find(c->optimizer.lr, "name")->text, "constant");
    sr_config_free(c);
}

// +A.B adds a key that a schedule knows but VISSL's defaults do not have; ~A.B restores the
// default.
TEST(test_add_and_remove) {
    static const char *const overrides[] = {
        "OPTIMIZER.param_schedulers.lr.name=polynomial",
        "+OPTIMIZER.param_schedulers.lr.power=2.0",
        "++OPTIMIZER.param_schedulers.lr.base_value=0.3",
        "LOG_FREQUENCY=99",
        "~LOG_FREQUENCY",
        "~config.DATA.TRAIN.TRANSFORMS",
    };
    SrConfig *c = load(overrides, 6);
    CHECK_NEAR(sr_yaml_find(c->optimizer.lr, "power")->f, 2, 0);
    CHECK_INT(c->log_frequency, 10);
    sr_config_free(c);
    CHECK_FAILS(try_override("OPTIMIZER.param_schedulers.lr.power=2"), SR_ERR_CONFIG, "+OPTIMIZER");
    CHECK_FAILS(try_override("~NO_SUCH.KEY"), SR_ERR_CONFIG, "NO_SUCH");
}

// A value's type follows from its spelling, quotes make a string, and the last override wins.
TEST(test_values) {
    static const struct {
        const char *override, *key, *flow; // flow: the value as the tree prints it; NULL: refused
    } rows[] = {
        {"OPTIMIZER.weight_decay=1e-3", "OPTIMIZER.weight_decay", "1e-3"},
        {"OPTIMIZER.weight_decay=1E-3", "OPTIMIZER.weight_decay", "1E-3"},
        {"OPTIMIZER.weight_decay=.5", "OPTIMIZER.weight_decay", ".5"},
        {"OPTIMIZER.weight_decay=2", "OPTIMIZER.weight_decay", "2"},
        {"OPTIMIZER.weight_decay=True", "weight_decay", NULL},
        {"OPTIMIZER.weight_decay=null", "weight_decay is null, expected a number", NULL},
        {"OPTIMIZER.weight_decay=.nan", "weight_decay", NULL},
        {"OPTIMIZER.weight_decay='0.1'", "weight_decay", NULL},
        {"OPTIMIZER.use_larc=TRUE", "OPTIMIZER.use_larc", "true"},
        {"OPTIMIZER.use_larc=1", "expected true or false", NULL},
        {"OPTIMIZER.use_larc=yes", "expected true or false", NULL},
        {"SEED_VALUE=1e2", "SEED_VALUE", "1e2"},
        {"SEED_VALUE=1.5", "expected a whole number", NULL},
        {"SEED_VALUE= 12 ", "SEED_VALUE", "12"},
        {"SEED_VALUE=", "SEED_VALUE", NULL},
        {"CHECKPOINT.DIR=12", "CHECKPOINT.DIR", "12"},
        {"CHECKPOINT.DIR=a b=c:d, e", "takes several values", NULL},
        {"CHECKPOINT.DIR=\"a b=c:d, e\"", "CHECKPOINT.DIR", "\"a b=c:d, e\""},
        {"CHECKPOINT.DIR=null", "CHECKPOINT.DIR", "null"},
        {"OPTIMIZER.betas=[0.5,0.9]", "OPTIMIZER.betas", "[0.5, 0.9]"},
        {"OPTIMIZER.betas=[0.5,0.9", "OPTIMIZER.betas", NULL},
        {"OPTIMIZER.betas.1=0.5", "replace a list as a whole", NULL},
        {"OPTIMIZER.betas.2=0.5", "OPTIMIZER.betas.2", NULL},
        {"OPTIMIZER.larc_config={clip:True,eps:1e-9}", "OPTIMIZER.larc_config.eps", "1e-9"},
        {"OPTIMIZER.larc_config={eps:1e-9}", "OPTIMIZER.larc_config.trust_coefficient", "0.001"},
        {"OPTIMIZER.larc_config={\"eps\":1e-9,}", "OPTIMIZER.larc_config.eps", "1e-9"},
        {"OPTIMIZER.larc_config={epz:1}", "did you mean 'larc_config.eps'", NULL},
        {"OPTIMIZER=5", "expected a map", NULL},
        // The key is removed from the tree.
        {"~OPTIMIZER.num_epochs=90", "OPTIMIZER.num_epochs", ""},
        {"~OPTIMIZER.num_epochs=91", "the value is 90; ~KEY without a value removes it", NULL},
        {"~OPTIMIZER.betas=[0.9,0.999]", "OPTIMIZER.momentum", "0.9"},
        {"config.config.SEED_VALUE=1", "there is no key 'config.SEED_VALUE'", NULL},
        {"seed_value=1", "did you mean 'SEED_VALUE'", NULL},
        {"MODEL.HEAD.PARAMS[0]=1", "there is no key 'MODEL.HEAD.PARAMS[0]'", NULL}};
    for (int i = 0; i < SR_COUNT(rows); i++) {
        const char *both[] = {rows[i].override[0] == '~' ? "LOG_FREQUENCY=7" : "SEED_VALUE=3",
                              rows[i].override};
        SrConfig *config;
        SrText flow = SR_TEXT_INIT;
        SrStatus status = parse(swav, both, 2, &config);
        if (!rows[i].flow)
            CHECK_FAILS(status, SR_ERR_CONFIG, rows[i].key);
        else if (status != SR_OK)
            fail_msg("%s: %s", rows[i].override, sr_status_message());
        else if (sr_yaml_find_path(config->tree, rows[i].key))
            sr_yaml_print_flow(sr_yaml_find_path(config->tree, rows[i].key), &flow);
        const char *got = flow.s ? flow.s : "";
        if (rows[i].flow && strcmp(got, rows[i].flow) != 0)
            fail_msg("%s: %s is %s, expected %s", rows[i].override, rows[i].key, got, rows[i].flow);
        sr_text_deinit(&flow);
        sr_config_free(config);
    }
}

TEST(test_override_errors) {
    CHECK_FAILS(try_override("LOG_FREQUENCY"), SR_ERR_CONFIG, "no '='");
    CHECK_FAILS(try_override("CHECKPOINT.DIR=a\xffz"), SR_ERR_CONFIG, "0xff is not valid UTF-8");
    CHECK_FAILS(try_override("=5"), SR_ERR_CONFIG, "no key");
    CHECK_FAILS(try_override("OPTIMIZER.num_epoch=5"), SR_ERR_CONFIG,
                "did you mean 'OPTIMIZER.num_epochs'");
    CHECK_FAILS(try_override("OPTIMISER.num_epochs=5"), SR_ERR_CONFIG, "did you mean 'OPTIMIZER'");
    CHECK_FAILS(try_override("+OPTIMIZER.num_epoch=5"), SR_ERR_CONFIG, "num_epochs");
    CHECK_FAILS(try_override("OPTIMIZER.num_epochs=many"), SR_ERR_CONFIG, "num_epochs");
    CHECK_FAILS(try_override("OPTIMIZER.num_epochs=0"), SR_ERR_CONFIG, "num_epochs");
    CHECK_FAILS(try_override("OPTIMIZER.betas=[0.9,2]"), SR_ERR_CONFIG, "betas");
    CHECK_FAILS(try_override("DATA.TRAIN.DATA_PATHS=[a"), SR_ERR_CONFIG, "DATA_PATHS");
    CHECK_FAILS(try_override("LOG_FREQUENCY.deeper=1"), SR_ERR_CONFIG, "LOG_FREQUENCY");
    CHECK_FAILS(try_override("+LOG_FREQUENCY.deeper=1"), SR_ERR_CONFIG, "only maps have keys");
    CHECK_FAILS(try_override("+config/pretrain/swav/models=resnet50_w2"), SR_ERR_CONFIG,
                "no such configuration file");
    CHECK_FAILS(try_override("A..B=1"), SR_ERR_CONFIG, "A..B");
    char path[2000];
    memset(path, 'A', sizeof path);
    strcpy(path + sizeof path - 3, "=1");
    CHECK_FAILS(try_override(path), SR_ERR_CONFIG, "override");
}

TEST(test_unknown_keys_name_line_and_neighbour) {
    CHECK_FAILS(try_text("  OPTIMIZER:\n    momentums: 0.9\n"), SR_ERR_CONFIG, "test.yaml:15");
    CHECK_FAILS(try_text("  OPTIMIZER:\n    momentums: 0.9\n"), SR_ERR_CONFIG, "momentum");
    CHECK_FAILS(try_text("  CHECKPOINTS: {}\n"), SR_ERR_CONFIG, "CHECKPOINT");
    CHECK_FAILS(try_override("+LOSS.swav_loss.epsilonn=1"), SR_ERR_CONFIG, "epsilon");
    CHECK_FAILS(try_override("+MODEL.TRUNK.RESNETS.DEPHT=18"), SR_ERR_CONFIG, "DEPTH");
    CHECK_FAILS(try_override("MODEL.TRUNK.NAME=resnext"), SR_ERR_CONFIG, "resnet");
    CHECK_FAILS(try_override("OPTIMIZER.param_schedulers.lr.name=cosin"), SR_ERR_CONFIG, "cosine");
    CHECK_FAILS(try_text("  OPTIMIZER: 5\n"), SR_ERR_CONFIG, "OPTIMIZER");
    CHECK_FAILS(try_text("  SEED_VALUE: -1\n"), SR_ERR_CONFIG, "SEED_VALUE");
    CHECK_FAILS(try_text("  LOG_FREQUENCY: 1\n  LOG_FREQUENCY: 2\n"), SR_ERR_CONFIG,
                "LOG_FREQUENCY");
}

TEST(test_losses_that_are_not_built) {
    CHECK_FAILS(try_override("LOSS.name=msn_loss"), SR_ERR_CONFIG,
                "msn_loss is an unfinished placeholder");
    CHECK_FAILS(try_override("LOSS.name=swav_los"), SR_ERR_CONFIG, "swav_loss");
    CHECK_OK(try_override("+LOSS.msn_loss={temperature: 0.2}"));
}

TEST(test_keys_without_meaning) {
    CHECK_OK(try_text("  MACHINE: {DEVICE: cpu}\n  SLURM: {USE_SLURM: True}\n  DISTRIBUTED: "
                      "{BACKEND: gloo, NUM_NODES: 2}\n"));
    CHECK_OK(try_override("MODEL.SYNC_BN_CONFIG={CONVERT_BN_TO_SYNC_BN: True, GROUP_SIZE: 8}"));
    CHECK_FAILS(try_override("MACHINE.DEVICE=tpu"), SR_ERR_CONFIG, "DEVICE");
    CHECK_OK(try_override("HOOKS.EMA_MODEL.SAVE_EMA_MODEL=True"));
    CHECK_FAILS(try_override("HOOKS.EMA_MODEL.ENABLE_EMA_METERS=True"), SR_ERR_CONFIG,
                "REMOVE_PREFIX=ema_model.");
    CHECK_OK(try_override("MODEL.INPUT_TYPE=bgr"));
    CHECK_FAILS(try_override("MODEL.INPUT_TYPE=yuv"), SR_ERR_CONFIG, "INPUT_TYPE");
}

TEST(test_frozen_parameters) {
    const char *override = "MODEL.TEMP_FROZEN_PARAMS_ITER_MAP=[[module.heads.0.prototypes0.weight, "
                           "313], [trunk.x, 2]]";
    SrConfig *c = load(&override, 1);
    CHECK_INT(c->model.n_frozen_until, 2);
    CHECK_STR(c->model.frozen_until[0].param, "heads.0.prototypes0.weight");
    CHECK_INT(c->model.frozen_until[0].iterations, 313);
    CHECK_STR(c->model.frozen_until[1].param, "trunk.x");
    sr_config_free(c);
    CHECK_FAILS(try_override("MODEL.TEMP_FROZEN_PARAMS_ITER_MAP=[[a, b]]"), SR_ERR_CONFIG,
                "[parameter name, iterations]");
    CHECK_FAILS(try_override("MODEL.TEMP_FROZEN_PARAMS_ITER_MAP=5"), SR_ERR_CONFIG,
                "TEMP_FROZEN_PARAMS_ITER_MAP");
}

TEST(test_schedules_are_checked_at_once) {
    CHECK_FAILS(try_override("OPTIMIZER.num_epochs=20"), SR_ERR_CONFIG, "milestones");
    CHECK_FAILS(try_override("+OPTIMIZER.param_schedulers.weight_decay={name: cosine}"),
                SR_ERR_CONFIG, "start_value");
}

// A saved configuration loads again and gives the same tree.
TEST(test_saved_tree_loads_again) {
    char dir[] = "/tmp/sslrun-config-XXXXXX", path[256];
    CHECK(mkdtemp(dir) != NULL);
    static const char *const overrides[] = {
        "OPTIMIZER.param_schedulers.lr.auto_lr_scaling.auto_scale=True", "CHECKPOINT.DIR=a: b # c"};
    SrConfig *first = load(overrides, 2), *second = NULL;
    CHECK_OK(sr_config_save(first, dir));
    snprintf(path, sizeof path, "%s/train_config.yaml", dir);
    CHECK_OK(sr_config_load(path, NULL, 0, &second));
    CHECK(sr_yaml_equal(first->tree, second->tree));
    CHECK_STR(second->checkpoint.dir, "a: b # c");
    path[strlen(path) - 5] = '\0'; // removes ".yaml"
    SrConfig *third = NULL;
    CHECK_OK(sr_config_load(path, NULL, 0, &third));
    sr_config_free(first);
    sr_config_free(second);
    sr_config_free(third);
    strcat(path, ".yaml");
    CHECK_OK(sr_file_remove(path));
    CHECK(rmdir(dir) == 0);
}

TEST(test_missing_file) {
    SrConfig *c = NULL;
    CHECK_FAILS(sr_config_load("no/such/file", NULL, 0, &c), SR_ERR_CONFIG, "no/such/file");
    CHECK_FAILS(sr_config_load("/tmp", NULL, 0, &c), SR_ERR_CONFIG, "/tmp");
}

TEST(test_alias_bomb) {
    SrText text = {0};
    sr_text_add(&text, "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for (char k = 'b'; k < 'k'; k++)
        sr_text_printf(&text, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", k, k,
                       k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1, k - 1);
    SrConfig *c = NULL;
    CHECK(parse(text.s, NULL, 0, &c) == SR_ERR_CONFIG);
    sr_text_deinit(&text);
}

// Each allocation fails once: the loader returns an error and frees everything.
TEST(test_out_of_memory) {
    for (int64_t n = 1;; n += n < 60 ? 1 : 37) {
        int64_t live = sr_mem_live();
        SrConfig *c = NULL;
        sr_mem_fail_at(n);
        SrStatus status = parse(swav, NULL, 0, &c);
        sr_mem_fail_at(0);
        sr_config_free(c);
        CHECK_INT(sr_mem_live(), live);
        if (status == SR_OK)
            break;
        CHECK_INT(status, SR_ERR_MEMORY);
        CHECK(n < 100000);
    }
}

// A model's name stands for its trunk and options; other options of the trunk stay.
TEST(test_model_as_trunk) {
    SrConfig *config;
    const char *overrides[] = {"MODEL.TRUNK.NAME=resnet34",
                               "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.25"};
    CHECK_OK(
        sr_config_parse("LOSS: {name: CrossEntropyLoss}\n", "preset.yaml", overrides, 2, &config));
    CHECK_STR(config->model.trunk_name, "resnet");
    CHECK_INT(sr_yaml_find_path(config->tree, "MODEL.TRUNK.RESNETS.DEPTH")->i, 34);
    CHECK_NEAR(sr_yaml_find_path(config->tree, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER")->f, 0.25, 0);
    sr_config_free(config);
}

// Reports normalise features by default; a file that sets the key, such as VISSL's, decides.
TEST(test_normalised_by_default) {
    static const char *const texts[] = {
        "LOSS: {name: CrossEntropyLoss}\n",
        "LOSS: {name: CrossEntropyLoss}\nNEAREST_NEIGHBOR: {TOPK: 20}\n",
        "LOSS: {name: CrossEntropyLoss}\nNEAREST_NEIGHBOR: {L2_NORM_FEATS: False}\n"};
    for (int i = 0; i < SR_COUNT(texts); i++) {
        SrConfig *config;
        CHECK_OK(sr_config_parse(texts[i], "some.yaml", NULL, 0, &config));
        CHECK_INT(config->knn.l2_norm_feats, i < 2);
        sr_config_free(config);
    }
}

// A copy reads like the original, changes independently and outlives it. Each of its allocations
// may fail.
TEST(test_copy) {
    SrConfig *config, *copy = NULL;
    const char *overrides[] = {"NEAREST_NEIGHBOR.BANK_LIMIT=7",
                               "DATA.TRAIN.DATA_PATHS=[/some/where]"};
    int64_t live = sr_mem_live();
    CHECK_OK(
        sr_config_parse("LOSS: {name: CrossEntropyLoss}\n", "some.yaml", overrides, 2, &config));
    for (int64_t n = 1; !copy; n += 11) {
        int64_t before = sr_mem_live();
        sr_mem_fail_at(n);
        SrStatus status = sr_config_copy(config, &copy);
        sr_mem_fail_at(0);
        CHECK(status == SR_OK || (status == SR_ERR_MEMORY && sr_mem_live() == before && !copy));
    }
    CHECK(sr_yaml_equal(copy->tree, config->tree));
    copy->knn.bank_limit = 8;
    CHECK_INT(config->knn.bank_limit, 7);
    sr_config_free(config);
    CHECK_STR(copy->train.data_paths.v[0], "/some/where");
    CHECK_STR(copy->loss_name, "CrossEntropyLoss");
    sr_config_free(copy);
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(config, unit(test_copy), unit(test_normalised_by_default), unit(test_defaults_are_vissls),
         unit(test_run_folder_of_the_name), unit(test_with_and_without_config_key),
         unit(test_overrides), unit(test_add_and_remove), unit(test_values),
         unit(test_model_as_trunk), unit(test_override_errors),
         unit(test_unknown_keys_name_line_and_neighbour), unit(test_losses_that_are_not_built),
         unit(test_keys_without_meaning), unit(test_frozen_parameters),
         unit(test_schedules_are_checked_at_once), unit(test_saved_tree_loads_again),
         unit(test_missing_file), unit(test_alias_bomb), unit(test_out_of_memory))
