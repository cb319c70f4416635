// Tests tables of VISSL's keys: each key without effect has one row in its section of the schema,
// with VISSL's default. Option maps that older files have elsewhere are read.
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "tests/check.h"
#include "trainer/config/config.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/config/vissl/vissl_keys.h"

// Returns the number of rows with that whole path in all sections; *row is the last one.
static int rows_of(const SrSchemaEntry *entries, int n, const char *path, const SrOption **row) {
    char whole[256];
    int found = 0;
    for (int i = 0; i < n; i++)
        for (const SrOption *o = entries[i].section.table; o && o->name; o++) {
            const char *section = entries[i].section.path;
            snprintf(whole, sizeof whole, "%s%s%s", section, *section ? "." : "", o->name);
            if (strcmp(whole, path) == 0) {
                *row = o;
                found++;
            }
        }
    return found;
}

static void check_key(const SrSchemaEntry *entries, int n, const SrVisslKey *key,
                      const char *path) {
    const SrOption *row = NULL;
    if (rows_of(entries, n, path, &row) != 1)
        fail_msg("%s has no row of its own in the schema", path);
    CHECK(row->type == SR_OPT_IGNORED && row->initial == key->initial && row->help == key->why);
    CHECK((row->choices != NULL) == key->refused);
}

TEST(test_rows) {
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries;
    char path[256];
    int n;
    CHECK_OK(sr__schema_entries(&arena, &entries, &n));
    CHECK(sr__vissl_keys_count() > 80);
    for (const SrVisslKey *key = sr__vissl_keys; key->path; key++) {
        const char *rest = sr_text_below(key->path, "DATA.*");
        static const char *const halves[] = {"TRAIN", "TEST"};
        for (int h = 0; rest && h < SR_COUNT(halves); h++) {
            snprintf(path, sizeof path, "DATA.%s.%s", halves[h], rest);
            check_key(entries, n, key, path);
        }
        if (!rest)
            check_key(entries, n, key, key->path);
    }
    sr_arena_deinit(&arena);
}

TEST(test_moved_maps) {
    static const char *const overrides[] = {"LOSS.name=CrossEntropyLoss"};
    static const char text[] = "MODEL: {TRUNK: {NAME: resnet, TRUNK_PARAMS: {RESNETS: {DEPTH: "
                               "18}}}, HEAD: {PARAMS: [[mlp, {dims: [512, 4]}]]}}";
    SrConfig *config;
    CHECK_OK(sr_config_parse(text, "old.yaml", overrides, SR_COUNT(overrides), &config));
    const SrYaml *depth = sr_yaml_find_path(config->tree, "MODEL.TRUNK.RESNETS.DEPTH");
    CHECK(depth && depth->i == 18);
    CHECK(!sr_yaml_find_path(config->tree, "MODEL.TRUNK.TRUNK_PARAMS"));
    sr_config_free(config);
}

// VISSL's later files hold ConViT's map below VISION_TRANSFORMERS, and are read as well.
TEST(test_convit_below_vision_transformers) {
    static const char text[] =
        "MODEL: {TRUNK: {NAME: convit, VISION_TRANSFORMERS: {NUM_LAYERS: 3, HYBRID: , CONVIT: "
        "{N_GPSA_LAYERS: 2}}}, HEAD: {PARAMS: [[mlp, {dims: [768, 4]}]]}}\n"
        "LOSS: {name: CrossEntropyLoss, ignore_index: -1}\nDISTRIBUTED: {DISTR_ON: True}\n"
        "MONITOR_PERF_STATS: True";
    static const char *const hybrid[] = {"MODEL.TRUNK.VISION_TRANSFORMERS.HYBRID=resnet_stem"};
    SrConfig *config;
    CHECK_OK(sr_config_parse(text, "old.yaml", NULL, 0, &config));
    const SrYaml *layers = sr_yaml_find_path(config->tree, "MODEL.TRUNK.CONVIT.N_GPSA_LAYERS");
    CHECK(layers && layers->i == 2);
    layers = sr_yaml_find_path(config->tree, "MODEL.TRUNK.CONVIT.NUM_LAYERS");
    CHECK(layers && layers->i == 3);
    CHECK(!sr_yaml_find_path(config->tree, "MODEL.TRUNK.VISION_TRANSFORMERS.CONVIT"));
    sr_config_free(config);
    static const char plain[] = "MODEL: {TRUNK: {NAME: vision_transformer}, HEAD: {PARAMS: [[mlp, "
                                "{dims: [768, 4]}]]}}\nLOSS: {name: CrossEntropyLoss}";
    CHECK_FAILS(sr_config_parse(plain, "old.yaml", hybrid, 1, &config), SR_ERR_CONFIG, "HYBRID");
}

// LABEL_SOURCES overrides LABEL_TYPE, as a comment in VISSL's defaults says.
TEST(test_sources_of_labels) {
    static const char *const types[] = {"sample_index", "zero", "standard"};
    for (int i = 0; i < SR_COUNT(types); i++) {
        char text[256];
        SrConfig *config;
        snprintf(
            text, sizeof text,
            "MODEL: {TRUNK: {NAME: resnet}, HEAD: {PARAMS: [[mlp, {dims: [2048, 4]}]]}}\nLOSS: "
            "{name: CrossEntropyLoss}\nDATA: {TRAIN: {LABEL_SOURCES: [disk_folder], "
            "LABEL_TYPE: %s}}",
            types[i]);
        CHECK_OK(sr_config_parse(text, "labels.yaml", NULL, 0, &config));
        CHECK_STR(config->train.label_type, "standard");
        sr_config_free(config);
    }
}

static void check_targets(const char *collator, const char *targets, const char *error) {
    char text[512];
    SrConfig *config;
    snprintf(
        text, sizeof text,
        "MODEL: {TRUNK: {NAME: resnet}, HEAD: {PARAMS: [[mlp, {dims: [2048, 4]}]]}}\nLOSS: "
        "{name: CrossEntropyLoss}\nDATA: {TRAIN: {COLLATE_FUNCTION: %s, TARGET_KEY_NAMES: %s}}",
        collator, targets);
    SrStatus status = sr_config_parse(text, "targets.yaml", NULL, 0, &config);
    if (error) {
        CHECK_FAILS(status, SR_ERR_CONFIG, error);
        return;
    }
    CHECK_OK(status);
    sr_config_free(config);
}

TEST(test_targets) {
    check_targets("default_collate", "[label]", NULL);
    check_targets("ibot_multicrop_masking_collator", "[mask]", NULL);
    check_targets("default_collate", "[mask]", "default_collate makes no masks");
    check_targets("default_collate", "[labl]", "unknown target 'labl'; did you mean 'label'");
}

static bool is_section(const SrSchemaEntry *entries, int n, const char *path) {
    for (int i = 0; i < n; i++)
        if (strcmp(entries[i].section.path, path) == 0)
            return true;
    return false;
}

// Returns whether a row has the path, or holds the whole map that contains it.
static bool is_known(const SrSchemaEntry *entries, int n, const char *path) {
    char whole[256];
    for (int i = 0; i < n; i++)
        for (const SrOption *o = entries[i].section.table; o && o->name; o++) {
            const char *section = entries[i].section.path;
            snprintf(whole, sizeof whole, "%s%s%s", section, *section ? "." : "", o->name);
            bool map = o->type == SR_OPT_TREE || o->type == SR_OPT_IGNORED;
            if (strcmp(whole, path) == 0 ||
                (map && sr_text_below(path, whole) && !is_section(entries, n, whole)))
                return true;
        }
    return false;
}

// Replaces the path of a key of an older file by its present path.
static void of_today(char *path) {
    static const char *const moved[][2] = {
        {"MODEL.TRUNK.TRUNK_PARAMS", "MODEL.TRUNK"},
        {"MODEL.TRUNK.VISION_TRANSFORMERS.CONVIT", "MODEL.TRUNK.CONVIT"}};
    for (int i = 0; i < SR_COUNT(moved); i++) {
        const char *rest = sr_text_below(path, moved[i][0]);
        char today[256];
        if (!rest)
            continue;
        snprintf(today, sizeof today, "%s.%s", moved[i][1], rest);
        memcpy(path, today, strlen(today) + 1);
    }
}

// Each key path in VISSL's files is in the schema.
TEST(test_keys_of_vissl_files) {
    SrArena arena = SR_ARENA_INIT;
    SrSchemaEntry *entries;
    char *text, path[256];
    size_t bytes;
    int n, keys = 0;
    CHECK_OK(sr__schema_entries(&arena, &entries, &n));
    CHECK_OK(sr_file_read("tests/vissl/keys.txt", 1 << 20, &text, &bytes));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == '#')
            continue;
        snprintf(path, sizeof path, "%s", line);
        of_today(path);
        if (!is_known(entries, n, path))
            fail_msg("VISSL's files have %s, which the schema does not know", line);
        keys++;
    }
    CHECK(keys > 280);
    sr_free(text);
    sr_arena_deinit(&arena);
}

SR_TESTS(vissl_keys, unit(test_rows), unit(test_moved_maps),
         unit(test_convit_below_vision_transformers), unit(test_sources_of_labels),
         unit(test_targets), unit(test_keys_of_vissl_files))
