// Tests the catalogue of data sets: where it is found, what it changes, and what it refuses.
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"
#include "trainer/config/vissl/dataset_catalog.h"

typedef struct {
    SrArena arena;
    SrYaml *tree;
    char dir[64], config[160];
} Place;

// Writes a catalogue to `name` below the temporary folder, and parses the DATA of a configuration.
static void begin(Place *p, const char *name, const char *train, const char *rest) {
    char text[1024];
    *p = (Place){.tree = NULL};
    temp_dir_make(p->dir);
    fixture_write(p->dir, "labels.npy", "", 0);
    snprintf(text, sizeof text,
             "{\"photos\": {\"train\": [\"%s/a\", \"%s/labels.npy\"], \"val\": [\"%s/b\", "
             "\"<labels>\"]}, \"alone\": {\"train\": [\"/c\"]}}",
             p->dir, p->dir, p->dir);
    if (name)
        fixture_write(p->dir, name, text, strlen(text));
    snprintf(p->config, sizeof p->config, "%s/config/pretrain/one.yaml", p->dir);
    snprintf(text, sizeof text, "DATA: {TRAIN: {%s}, TEST: {DATASET_NAMES: [photos]}}\n%s", train,
             rest);
    CHECK_OK(sr_yaml_parse(&p->arena, text, strlen(text), "one.yaml", &p->tree));
}

static void end(Place *p) {
    sr_arena_deinit(&p->arena);
    temp_dir_remove(p->dir);
    unsetenv(SR_CATALOG_VARIABLE);
}

static SrStatus resolve(Place *p) { return sr__catalog_resolve(p->tree, p->config, &p->arena); }

// Checks that the first entry of the list at `key` is "<dir>/<name>".
static void has_path(const Place *p, const char *key, const char *name) {
    char expected[128], at[64];
    snprintf(expected, sizeof expected, "%s/%s", p->dir, name);
    snprintf(at, sizeof at, "%s.0", key);
    CHECK_STR(sr_tree_text(p->tree, at, ""), expected);
}

static const char names[] = "DATASET_NAMES: [photos]";

// The folder of the configuration, one above it, and the variable.
TEST(test_places) {
    static const char *const places[] = {"config/pretrain/" SR_CATALOG_FILE,
                                         "config/" SR_CATALOG_FILE, "other.json"};
    for (int i = 0; i < SR_COUNT(places); i++) {
        Place p;
        char path[160];
        begin(&p, places[i], names, "TEST_MODEL: True");
        snprintf(path, sizeof path, "%s/other.json", p.dir);
        if (i == 2)
            setenv(SR_CATALOG_VARIABLE, path, 1);
        CHECK_OK(resolve(&p));
        has_path(&p, "DATA.TRAIN.DATA_PATHS", "a");
        has_path(&p, "DATA.TEST.DATA_PATHS", "b");
        CHECK(!sr_yaml_find_path(p.tree, "DATA.TRAIN.LABEL_PATHS"));
        end(&p);
    }
}

// A list of labels is taken if the source of labels reads one.
TEST(test_labels) {
    Place p;
    begin(&p, "config/" SR_CATALOG_FILE,
          "DATA_SOURCES: [disk_filelist], LABEL_SOURCES: [disk_filelist], DATASET_NAMES: [photos]",
          "");
    CHECK_OK(resolve(&p));
    has_path(&p, "DATA.TRAIN.DATA_PATHS", "a");
    has_path(&p, "DATA.TRAIN.LABEL_PATHS", "labels.npy");
    CHECK(!sr_yaml_find_path(p.tree, "DATA.TEST.DATA_PATHS")); // the run does not evaluate
    end(&p);
}

// Paths of the user, images that are made, and no catalogue: nothing changes.
TEST(test_left_alone) {
    static const char *const rows[] = {"DATASET_NAMES: [photos], DATA_PATHS: [/own]",
                                       "DATASET_NAMES: [unknown], DATA_SOURCES: [synthetic]",
                                       "DATASET_NAMES: []"};
    Place p;
    for (int i = 0; i < SR_COUNT(rows); i++) {
        begin(&p, "config/" SR_CATALOG_FILE, rows[i], "");
        CHECK_OK(resolve(&p));
        CHECK_STR(sr_tree_text(p.tree, "DATA.TRAIN.DATA_PATHS.0", "none"), i ? "none" : "/own");
        end(&p);
    }
    begin(&p, NULL, names, "");
    CHECK_OK(resolve(&p));
    CHECK(!sr_yaml_find_path(p.tree, "DATA.TRAIN.DATA_PATHS"));
    end(&p);
}

static void refuses(Place *p, const char *expected) {
    CHECK_INT(resolve(p), SR_ERR_CONFIG);
    if (!strstr(sr_status_message(), expected))
        fail_msg("%s", sr_status_message());
    end(p);
}

TEST(test_refused) {
    Place p;
    begin(&p, "config/" SR_CATALOG_FILE, "DATASET_NAMES: [photo]", "");
    refuses(&p, "DATA.TRAIN.DATASET_NAMES: 'photo' is not among the names of ");
    begin(&p, "config/" SR_CATALOG_FILE, "DATASET_NAMES: [photo]", "");
    refuses(&p, " (the closest is 'photos'); add it there, or set DATA_PATHS");
    begin(&p, "config/" SR_CATALOG_FILE, names, "TEST_MODEL: True");
    p.tree->items[0]->items[1]->items[0]->items[0]->text = "alone";
    refuses(&p, "'alone' has no list \"val\": [images, labels]; DATA.TEST.DATASET_NAMES needs it");
    begin(&p, NULL, names, "");
    fixture_write(p.dir, "config/" SR_CATALOG_FILE, "[1]", 3);
    refuses(&p, ": expected an object, {\"name\": ");
    begin(&p, NULL, names, "");
    setenv(SR_CATALOG_VARIABLE, "/nowhere.json", 1);
    refuses(&p, SR_CATALOG_VARIABLE " names /nowhere.json, which does not exist");
}

SR_TESTS(dataset_catalog, unit(test_places), unit(test_labels), unit(test_left_alone),
         unit(test_refused))
