// The tables of VISSL's keys: each key without effect has its row in the schema, once a section, with VISSL's default; maps
// that stood elsewhere are read where they belong now.
#include "base/compiler.h"
#include "base/text.h"
#include "tests/check.h"
#include "trainer/config/schema.h"
#include "trainer/config/vissl_keys.h"

// Rows of that whole path, in all sections.
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

static void test_rows(void **state) {
    (void)state;
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

static void test_moved_maps(void **state) {
    (void)state;
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

SR_TESTS(vissl_keys, unit(test_rows), unit(test_moved_maps))
