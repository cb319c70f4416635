// Tests files written for a cluster, in one process: names of sharded modules and parameters, and
// the number of replicas.
#include "base/text/yaml_edit.h"
#include "tests/check.h"
#include "trainer/config/config.h"
#include "trainer/config/derived_config.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/sharding.h"

static const char text[] =
    "config:\n"
    "  LOSS: {name: swav_loss}\n"
    "  OPTIMIZER: {name: sgd_fsdp}\n"
    "  DISTRIBUTED: {NUM_NODES: 2, NUM_PROC_PER_NODE: 4}\n"
    "  DATA: {TRAIN: {COLLATE_FUNCTION: multicrop_collator}}\n"
    "  MODEL:\n"
    "    TEMP_FROZEN_PARAMS_ITER_MAP:\n"
    "      - [module.heads.0.prototypes0.weight, 3]\n"
    "      - [_fsdp_wrapped_module.heads.0._fsdp_wrapped_module._fpw_module.prototypes0."
    "_fsdp_wrapped_module.weight, 4]\n"
    "    HEAD: {PARAMS: [[swav_head_fsdp, {dims: [2048, 16], num_clusters: [7]}]]}\n";

TEST(test_names_in_a_configuration) {
    SrConfig *config = NULL;
    CHECK_OK(sr_config_parse(text, "test.yaml", NULL, 0, &config));
    CHECK_STR(config->optimizer.name, "sgd");
    CHECK_STR(sr_tree_text(config->tree, "MODEL.HEAD.PARAMS.0.0", ""), "swav_head");
    CHECK_INT(config->model.n_frozen_until, 2);
    for (int i = 0; i < 2; i++) {
        CHECK_STR(config->model.frozen_until[i].param, "heads.0.prototypes0.weight");
        CHECK_INT(config->model.frozen_until[i].iterations, 3 + i);
    }
    CHECK_INT(config->num_nodes * config->num_proc_per_node, 1);
    sr_config_free(config);
}

TEST(test_names) {
    SrArena arena = SR_ARENA_INIT;
    CHECK_STR(sr__unsharded_name("regnet_fsdp", &arena), "regnet");
    CHECK_STR(sr__unsharded_name("regnet_v2", &arena), "regnet");
    CHECK_STR(sr__unsharded_name("regnet", &arena), "regnet");
    CHECK_STR(sr__unsharded_name("fsdp_net", &arena), "fsdp_net");
    CHECK_STR(sr__plain_param_name("module.trunk.conv1.weight", &arena), "trunk.conv1.weight");
    CHECK_STR(sr__plain_param_name("trunk.module.weight", &arena), "trunk.module.weight");
    CHECK_STR(
        sr__plain_param_name("module._fsdp_wrapped_module.trunk._fpw_module.a.weight", &arena),
        "trunk.a.weight");
    sr_arena_deinit(&arena);
}

static int replicas_of(const char *yaml) {
    SrConfig *config = NULL;
    CHECK_OK(sr_config_parse(yaml, "test.yaml", NULL, 0, &config));
    int replicas = config->replicas;
    // The saved configuration requests the same number of replicas.
    CHECK_INT(sr_tree_int(config->tree, "DISTRIBUTED.NUM_NODES", 0), 1);
    CHECK_INT(sr_tree_int(config->tree, "DISTRIBUTED.NUM_PROC_PER_NODE", 0), replicas);
    sr_config_free(config);
    return replicas;
}

#define HEAD "MODEL: {HEAD: {PARAMS: [[mlp, {dims: [2048, 10]}]]}}\n"
#define WORLD HEAD "DISTRIBUTED: {NUM_NODES: 2, NUM_PROC_PER_NODE: 4"

// The learning rate is scaled by the images of all replicas.
TEST(test_replicas) {
    SrConfig *config = NULL;
    CHECK_INT(replicas_of(WORLD "}\n"), 1);
    CHECK_INT(replicas_of(WORLD ", REPLICAS: auto}\n"), 1);
    CHECK_INT(replicas_of(WORLD ", REPLICAS: recipe}\n"), 8);
    CHECK_INT(replicas_of(WORLD ", REPLICAS: 3}\n"), 3);
    const char *rounds[] = {"OPTIMIZER.gradient_accumulation_steps=5"};
    CHECK_OK(sr_config_parse(WORLD ", REPLICAS: 2}\n", "test.yaml", rounds, 1, &config));
    CHECK_INT(config->replicas, 10);
    CHECK_INT(sr_tree_int(config->tree, "DISTRIBUTED.NUM_PROC_PER_NODE", 0), 2);
    sr_config_free(config);
    config = NULL;
    CHECK_FAILS(sr_config_parse(WORLD ", REPLICAS: 0}\n", "test.yaml", NULL, 0, &config),
                SR_ERR_CONFIG, "DISTRIBUTED.REPLICAS");
    CHECK_FAILS(sr_config_parse(WORLD ", REPLICAS: all}\n", "test.yaml", NULL, 0, &config),
                SR_ERR_CONFIG, "recipe or auto");
    CHECK_OK(sr_config_parse(
        HEAD "DISTRIBUTED: {REPLICAS: 4}\nDATA: {TRAIN: {BATCHSIZE_PER_REPLICA: 128}}\nOPTIMIZER: "
             "{param_schedulers: {lr: {name: constant, value: 0.1, auto_lr_scaling: {auto_scale: "
             "True, base_value: 0.1, base_lr_batch_size: 256}}}}\n",
        "test.yaml", NULL, 0, &config));
    double value = 0;
    CHECK_OK(sr_tree_number(config->optimizer.lr, "value", "lr", &value));
    CHECK_NEAR(value, 0.2, 1e-12);
    sr_config_free(config);
}

// One process computes replicas that share batch norms as one batch.  It leaves out incomplete
// steps, as several ranks do, and so do configurations that are derived from it.
TEST(test_whole_steps) {
    static const struct {
        const char *norm;
        bool whole;
    } cases[] = {{"True", true}, {"False", false}};
    for (int i = 0; i < 2; i++) {
        char yaml[512];
        SrConfig *config = NULL, *copy = NULL;
        snprintf(yaml, sizeof yaml,
                 "LOSS: {name: CrossEntropyLoss}\nDISTRIBUTED: {REPLICAS: 4}\n"
                 "MODEL: {SYNC_BN_CONFIG: {CONVERT_BN_TO_SYNC_BN: %s, GROUP_SIZE: 0}, HEAD: "
                 "{PARAMS: [[mlp, {dims: [2048, 3]}]]}}\n",
                 cases[i].norm);
        CHECK_OK(sr_config_parse(yaml, "test.yaml", NULL, 0, &config));
        CHECK_OK(sr_config_copy(config, &copy));
        CHECK_INT(config->replicas, cases[i].whole ? 1 : 4);
        CHECK(!config->whole_batches == !cases[i].whole);
        CHECK(!copy->whole_batches == !cases[i].whole);
        sr_config_free(copy);
        sr_config_free(config);
    }
}

SR_TESTS(sharding, unit(test_whole_steps), unit(test_replicas), unit(test_names_in_a_configuration),
         unit(test_names))
