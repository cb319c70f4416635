// Tests composing configurations: names below configs/config, files added on the command line,
// `defaults:` lists, and their precedence. Each test works in a folder of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "tests/check.h"
#include "tests/temp_dir.h"
#include "trainer/config/config.h"
#include "trainer/config/vissl/compose.h"

typedef struct {
    char before[4096], dir[64];
    SrArena arena;
} Place;

static void put(const char *path, const char *text) {
    CHECK_OK(sr_file_write(path, text, strlen(text)));
}

// Makes VISSL's layout: a user's folder holds configs/config/<method>/<file>.yaml.
static void open_place(Place *p) {
    *p = (Place){.arena = SR_ARENA_INIT};
    CHECK(getcwd(p->before, sizeof p->before) != NULL);
    temp_dir_make(p->dir);
    CHECK_INT(chdir(p->dir), 0);
    CHECK_OK(sr_file_mkdirs("configs/config/pretrain/m/models"));
    put("configs/config/pretrain/m/main.yaml",
        "# @package _global_\nconfig:\n  SEED_VALUE: 1\n  LOG_FREQUENCY: 5\n"
        "  MODEL: {TRUNK: {RESNETS: {DEPTH: 34}}}\n");
    put("configs/config/pretrain/m/models/wide.yaml",
        "# @package _global_\nconfig:\n  SEED_VALUE: 2\n"
        "  MODEL: {TRUNK: {RESNETS: {WIDTH_MULTIPLIER: 2}}}\n");
    put("configs/config/pretrain/m/models/deep.yaml",
        "config:\n  SEED_VALUE: 3\n  MODEL: {TRUNK: {RESNETS: {DEPTH: 101}}}\n");
}

static void close_place(Place *p) {
    sr_arena_deinit(&p->arena);
    CHECK_INT(chdir(p->before), 0);
    temp_dir_remove(p->dir);
}

// The message of a ring holds each file once, and the first one again at its end.
TEST(test_ring_of_defaults) {
    Place p;
    SrYaml *tree = NULL;
    open_place(&p);
    put("a.yaml", "defaults: [b]\n");
    put("b.yaml", "SEED_VALUE: 1\ndefaults: [c, _self_]\n");
    put("c.yaml", "defaults: [b.yaml]\n");
    CHECK_FAILS(sr_config_compose("a.yaml", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG, "c.yaml: ");
    CHECK_STR(sr_status_message(), "c.yaml: defaults name each other in a ring: b.yaml -> c.yaml "
                                   "-> b.yaml; remove one of these entries");
    put("self.yaml", "defaults: [self]\n");
    CHECK_FAILS(sr_config_compose("self.yaml", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG,
                "ring: self.yaml -> self.yaml; ");
    for (int i = 0; i < 10; i++) {
        char name[32], text[64];
        snprintf(name, sizeof name, "deep%d.yaml", i);
        snprintf(text, sizeof text, "defaults: [deep%d]\n", i + 1);
        put(name, text);
    }
    CHECK_FAILS(sr_config_compose("deep0.yaml", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG,
                "nested too deep: deep0.yaml -> deep1.yaml -> ");
    close_place(&p);
}

static int64_t number(const SrYaml *tree, const char *path) { return sr_tree_int(tree, path, -99); }

TEST(test_names) {
    static const char *const names[] = {"pretrain/m/main", "pretrain/m/main.yaml",
                                        "configs/config/pretrain/m/main.yaml",
                                        "config/pretrain/m/main"};
    Place p;
    open_place(&p);
    for (int i = 0; i < SR_COUNT(names); i++) {
        SrYaml *tree = NULL;
        CHECK_OK(sr_config_compose(names[i], NULL, 0, &p.arena, &tree));
        CHECK_INT(number(tree, "SEED_VALUE"), 1);
        CHECK_INT(number(tree, "MODEL.TRUNK.RESNETS.DEPTH"), 34);
    }
    SrYaml *tree = NULL;
    CHECK_FAILS(sr_config_compose("pretrain/m/mian", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG,
                "did you mean 'pretrain/m/main'");
    close_place(&p);
}

// Later files on the command line win, and keys win over all files wherever they stand.
TEST(test_added_files) {
    static const char *const both[] = {"config.LOG_FREQUENCY=7", "+config/pretrain/m/models=wide",
                                       "+config/pretrain/m/models=deep.yaml"};
    static const char *const turned[] = {"+config/pretrain/m/models=deep", "SEED_VALUE=9",
                                         "++config/pretrain/m/models=wide"};
    Place p;
    SrYaml *tree = NULL;
    open_place(&p);
    CHECK_OK(sr_config_compose("pretrain/m/main", both, 3, &p.arena, &tree));
    CHECK_INT(number(tree, "SEED_VALUE"), 3);
    CHECK_INT(number(tree, "LOG_FREQUENCY"), 7);
    CHECK_INT(number(tree, "MODEL.TRUNK.RESNETS.DEPTH"), 101);
    CHECK_INT(number(tree, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER"), 2);
    CHECK_OK(sr_config_compose("pretrain/m/main", turned, 2, &p.arena, &tree));
    CHECK_INT(number(tree, "SEED_VALUE"), 9);
    CHECK_OK(sr_config_compose("pretrain/m/main", turned, 3, &p.arena, &tree));
    CHECK_INT(number(tree, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER"), 2);
    close_place(&p);
}

TEST(test_wrong_files) {
    static const struct {
        const char *override, *message;
    } cases[] = {
        {"config/pretrain/m/models=wide", "a plus is missing"},
        {"+config/pretrain/m/models=wode", "did you mean 'pretrain/m/models/wide'"},
        {"+config/pretrain/m/models=", "names no file"},
        {"+config/=x", "names no file"},
    };
    Place p;
    SrYaml *tree = NULL;
    open_place(&p);
    for (int i = 0; i < SR_COUNT(cases); i++)
        CHECK_FAILS(sr_config_compose("pretrain/m/main", &cases[i].override, 1, &p.arena, &tree),
                    SR_ERR_CONFIG, cases[i].message);
    close_place(&p);
}

// Files in a `defaults:` list are overridden by the file itself; those after _self_ override it.
TEST(test_defaults_lists) {
    Place p;
    SrYaml *tree = NULL;
    open_place(&p);
    put("a.yaml", "defaults:\n  - pretrain/m/main\n  - config/pretrain/m/models: wide\n"
                  "config: {SEED_VALUE: 5}\n");
    CHECK_OK(sr_config_compose("a.yaml", NULL, 0, &p.arena, &tree));
    CHECK_INT(number(tree, "SEED_VALUE"), 5);
    CHECK_INT(number(tree, "LOG_FREQUENCY"), 5);
    CHECK_INT(number(tree, "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER"), 2);
    put("b.yaml", "defaults:\n  - _self_\n  - /config/pretrain/m/models@_global_: deep\n"
                  "config: {SEED_VALUE: 5, LOG_FREQUENCY: 8}\n");
    CHECK_OK(sr_config_compose("b.yaml", NULL, 0, &p.arena, &tree));
    CHECK_INT(number(tree, "SEED_VALUE"), 3);
    CHECK_INT(number(tree, "LOG_FREQUENCY"), 8);
    put("ring.yaml", "defaults: [ring.yaml]\nconfig: {}\n");
    CHECK_FAILS(sr_config_compose("ring.yaml", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG, "ring");
    put("bomb.yaml", "defaults: [bomb2, bomb2, bomb2, bomb2, bomb2, bomb2, bomb2, bomb2, bomb2]\n");
    put("bomb2.yaml", "defaults: [c, c, c, c, c, c, c, c, c]\n");
    put("c.yaml", "config: {}\n");
    CHECK_FAILS(sr_config_compose("bomb.yaml", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG,
                "more than 64 files");
    put("bad.yaml", "defaults: [{a: b, c: d}]\n");
    CHECK_FAILS(sr_config_compose("bad.yaml", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG,
                "bad.yaml:1: defaults: expected each entry");
    close_place(&p);
}

// Files of a project compose from any working folder; files of the user with the same name come
// first.
TEST(test_defaults_beside_the_file) {
    Place p;
    SrYaml *tree = NULL;
    open_place(&p);
    CHECK_OK(sr_file_mkdirs("project/configs/a/b"));
    put("project/configs/a/base.yaml", "SEED_VALUE: 11\n");
    put("project/configs/a/b/leaf.yaml",
        "defaults: [a/base, _self_]\nconfig: {LOG_FREQUENCY: 3}\n");
    CHECK_OK(sr_config_compose("project/configs/a/b/leaf", NULL, 0, &p.arena, &tree));
    CHECK_INT(number(tree, "SEED_VALUE"), 11);
    CHECK_INT(number(tree, "LOG_FREQUENCY"), 3);
    CHECK_OK(sr_file_mkdirs("configs/a"));
    put("configs/a/base.yaml", "SEED_VALUE: 12\n");
    CHECK_OK(sr_config_compose("project/configs/a/b/leaf", NULL, 0, &p.arena, &tree));
    CHECK_INT(number(tree, "SEED_VALUE"), 12);
    close_place(&p);
}

TEST(test_launcher_and_sweeps) {
    static const char *const ours[] = {"hydra.verbose=true", "node_id=0", "engine_name=train",
                                       "config.SLURM.NAME=job"};
    static const char *const sweep = "SEED_VALUE=0,1", *const quoted = "CHECKPOINT.DIR='a,b'";
    Place p;
    SrYaml *tree = NULL;
    open_place(&p);
    CHECK_OK(sr_config_compose("pretrain/m/main", ours, 4, &p.arena, &tree));
    CHECK_STR(sr_tree_text(tree, "SLURM.NAME", ""), "job");
    CHECK_FAILS(sr_config_compose("pretrain/m/main", &sweep, 1, &p.arena, &tree), SR_ERR_CONFIG,
                "takes several values; write [0,1]");
    CHECK_OK(sr_config_compose("pretrain/m/main", &quoted, 1, &p.arena, &tree));
    CHECK_STR(sr_tree_text(tree, "CHECKPOINT.DIR", ""), "a,b");
    close_place(&p);
}

// ${...} stands for the value of another key with its type, a composed text, or the environment,
// wherever a string may stand.
TEST(test_references) {
    static const char *const fine[] = {
        "CHECKPOINT.DIR=runs/${config.SEED_VALUE}/${LOG_FREQUENCY}",
        "TEST_EVERY_NUM_EPOCH=${config.SEED_VALUE}",
        "DATA.TRAIN.DATA_PATHS=['${env:SSLRUN_TEST_FOLDER}/train', "
        "\"${CHECKPOINT.DIR}/x\"]",
        "DATA.TEST.NEW_IMG_PATH_PREFIX=${oc.env:SSLRUN_TEST_NOWHERE,there}"};
    static const char *const wrong[][2] = {
        {"CHECKPOINT.DIR=${CHECKPOINT.DIRR}",
         "command line: '${CHECKPOINT.DIRR}': there is no key 'CHECKPOINT.DIRR'"},
        {"CHECKPOINT.DIR=${config.CHECKPOINT}", "'CHECKPOINT' is a map; only single values"},
        {"CHECKPOINT.DIR=x${CHECKPOINT.DIR}", "form a ring"},
        {"CHECKPOINT.DIR=${env:SSLRUN_TEST_NOWHERE}",
         "the environment has no variable SSLRUN_TEST_NOWHERE"},
        {"CHECKPOINT.DIR=${env:}", "expected ${env:NAME}"},
        {"CHECKPOINT.DIR=${", "'${' without '}'"},
        {"CHECKPOINT.DIR=${}", "there is no key ''"}};
    Place p;
    SrYaml *tree = NULL;
    open_place(&p);
    setenv("SSLRUN_TEST_FOLDER", "/data", 1);
    CHECK_OK(sr_config_compose("pretrain/m/main", fine, SR_COUNT(fine), &p.arena, &tree));
    CHECK_STR(sr_tree_text(tree, "CHECKPOINT.DIR", ""), "runs/1/5");
    CHECK_INT(number(tree, "TEST_EVERY_NUM_EPOCH"), 1);
    CHECK_STR(sr_tree_text(tree, "DATA.TRAIN.DATA_PATHS.0", ""), "/data/train");
    CHECK_STR(sr_tree_text(tree, "DATA.TRAIN.DATA_PATHS.1", ""), "runs/1/5/x");
    CHECK_STR(sr_tree_text(tree, "DATA.TEST.NEW_IMG_PATH_PREFIX", ""), "there");
    for (int i = 0; i < SR_COUNT(wrong); i++)
        CHECK_FAILS(sr_config_compose("pretrain/m/main", &wrong[i][0], 1, &p.arena, &tree),
                    SR_ERR_CONFIG, wrong[i][1]);
    put("two.yaml", "config:\n  SEED_VALUE: ${LOG_FREQUENCY}\n  LOG_FREQUENCY: ${SEED_VALUE}\n");
    CHECK_FAILS(sr_config_compose("two", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG, "two.yaml:");
    // Each string holds the next one twice: the length limit must stop it before memory runs out.
    SrText bomb = SR_TEXT_INIT;
    sr_text_add(&bomb, "config:\n  LOSS:\n    k0: word\n");
    for (int i = 1; i < 30; i++)
        sr_text_printf(&bomb, "    k%d: ${LOSS.k%d}${LOSS.k%d}\n", i, i - 1, i - 1);
    put("bomb3.yaml", bomb.s);
    sr_text_deinit(&bomb);
    CHECK_FAILS(sr_config_compose("bomb3", NULL, 0, &p.arena, &tree), SR_ERR_CONFIG,
                "longer than 4096 bytes");
    unsetenv("SSLRUN_TEST_FOLDER");
    close_place(&p);
}

SR_TESTS(compose, unit(test_names), unit(test_added_files), unit(test_wrong_files),
         unit(test_defaults_lists), unit(test_defaults_beside_the_file),
         unit(test_ring_of_defaults), unit(test_launcher_and_sweeps), unit(test_references))
