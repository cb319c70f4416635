// `sslrun list` and `sslrun describe` know every name, checked by loops over the registries and
// the tree of all keys.
#include <stdio.h>

#include "cli/verb.h"
#include "data/transform.h"
#include "heads/head.h"
#include "kernels/op.h"
#include "losses/loss.h"
#include "measure/meter.h"
#include "tests/check.h"
#include "trainer/config/vissl/schema.h"
#include "trainer/schedules/schedule.h"
#include "trunks/trunk.h"

static SrArena arena;

// Fails if a name has no description or an empty one.
static void check_described(const char *name) {
    SrText out = SR_TEXT_INIT;
    if (sr_manual_describe(name, &sr_manual_verbs, &out) != SR_OK)
        fail_msg("describe %s: %s", name, sr_status_message());
    if (!out.s || !strchr(out.s, ' '))
        fail_msg("describe %s says nothing: %s", name, out.s ? out.s : "");
    sr_text_deinit(&out);
}

// The names below each title of `sslrun list` are lines such as "  name    help".
TEST(test_every_listed_name) {
    SrText out = SR_TEXT_INIT;
    int kinds = 0, names = 0;
    CHECK_OK(sr_manual_list(NULL, &sr_manual_verbs, &out));
    for (char *line = strtok(out.s, "\n"); line; line = strtok(NULL, "\n")) {
        char name[64], help[512];
        if (line[0] != ' ') {
            kinds++;
            continue;
        }
        if (sscanf(line, " %63s %511[^\n]", name, help) != 2)
            fail_msg("no help in '%s'", line);
        check_described(name);
        names++;
    }
    sr_text_deinit(&out);
    CHECK_INT(kinds, 12);
    CHECK(names > 100);
}

// Checks the keys of all maps at every depth; lists are part of a key's value. Returns the number
// of keys.
static int check_keys(const SrYaml *map, const char *prefix) {
    int n = 0;
    for (int i = 0; map->type == SR_YAML_MAP && i < map->n; i++) {
        char *key = sr_arena_printf(&arena, "%s%s%s", prefix, *prefix ? "." : "", map->keys[i]);
        check_described(key);
        n += 1 + check_keys(map->items[i], key);
    }
    return n;
}

TEST(test_every_key) {
    SrYaml *defaults;
    CHECK_OK(sr__schema_defaults(&arena, &defaults));
    CHECK(check_keys(defaults, "") > 400);
    sr_arena_deinit(&arena);
}

static void check_rows(const char *where, const SrOption *table) {
    for (const SrOption *o = table; o && o->name; o++)
        if (!o->help || strlen(o->help) < 4)
            fail_msg("%s.%s has no help", where, o->name);
}

// Every row of every table, of the schema and of plugins, has a help text.
TEST(test_every_row_has_help) {
    SrSchemaEntry *entries;
    int n;
    CHECK_OK(sr__schema_entries(&arena, &entries, &n));
    for (int i = 0; i < n; i++) {
        const SrSection *s = &entries[i].section;
        for (const SrOption *o = s->table; o && o->name; o++)
            if (o->type != SR_OPT_TREE || *o->help) // otherwise a map with its own section
                check_rows(s->path, (const SrOption[]){*o, {0}});
    }
    sr_arena_deinit(&arena);
#define CHECK_KIND(noun)                    \
    for (int i = 0; sr_##noun##_at(i); i++) \
    check_rows(sr_##noun##_at(i)->name, sr_##noun##_at(i)->options)
    CHECK_KIND(trunk);
    CHECK_KIND(head);
    CHECK_KIND(loss);
    CHECK_KIND(transform);
    CHECK_KIND(schedule_kind);
    CHECK_KIND(meter);
    CHECK_KIND(op);
}

// Keys are found by their last part; `describe` lists all keys, and names that contain a part.
TEST(test_found_by_a_part) {
    SrText out = SR_TEXT_INIT;
    CHECK_OK(sr_manual_describe("num_epochs", &sr_manual_verbs, &out));
    CHECK(strstr(out.s, "OPTIMIZER.num_epochs ") && strstr(out.s, "default 90"));
    CHECK_OK(sr_manual_describe("PARAMS_FILE", &sr_manual_verbs, &out));
    CHECK(strstr(out.s, "MODEL.WEIGHTS_INIT.PARAMS_FILE "));
    sr_text_deinit(&out);
    static const char *const words[][2] = {
        {"simclr", "  simclr_collator "},
        {"ColorDist", "  ImgPilColorDistortion "},
        {"epochs", "  OPTIMIZER.num_epochs "},
        {"batch size", "  DATA.TRAIN.BATCHSIZE_PER_REPLICA "},
        {"batch_size", "  DATA.TRAIN.BATCHSIZE_PER_REPLICA "},
        {"gradient accumulation", "gradient_accumulation_steps "},
        {"nearest centre sinkhorn", NULL}};
    for (int i = 0; i < SR_COUNT(words); i++) {
        if (!words[i][1]) {
            CHECK_FAILS(sr_manual_describe(words[i][0], &sr_manual_verbs, &out), SR_ERR_CONFIG,
                        "nothing has the name");
            continue;
        }
        CHECK_OK(sr_manual_describe(words[i][0], &sr_manual_verbs, &out));
        if (!strstr(out.s, "nothing has the name '") || !strstr(out.s, words[i][1]))
            fail_msg("describe '%s' does not find %s: %s", words[i][0], words[i][1], out.s);
        sr_text_deinit(&out);
    }
    out = (SrText)SR_TEXT_INIT;
    CHECK_OK(sr_manual_list("keys", &sr_manual_verbs, &out));
    int lines = 0;
    for (const char *p = out.s; *p; p++)
        lines += *p == '\n';
    CHECK(lines > 250);
    CHECK(strstr(out.s, "\nOPTIMIZER.num_epochs ") && strstr(out.s, "\nLOSS.swav_loss.epsilon ") &&
          strstr(out.s, "\nMODEL.TRUNK.RESNETS.DEPTH ") && strstr(out.s, "SEED_VALUE "));
    sr_text_deinit(&out);
}

TEST(test_names_nobody_knows) {
    static const char *const rows[][2] = {{"resnett", "'resnet'"},
                                          {"resnet500", "'resnet50'"},
                                          {"chek", "'check'"},
                                          {"accuracy_list_metre", "'accuracy_list_meter'"},
                                          {"mlp.use_bm", "'mlp.use_bn'"},
                                          {"config.OPTIMIZER.num_epoch", "'OPTIMIZER.num_epochs'"},
                                          {"OPTIMISER", "'OPTIMIZER'"}};
    SrText out = SR_TEXT_INIT;
    for (int i = 0; i < SR_COUNT(rows); i++)
        CHECK_FAILS(sr_manual_describe(rows[i][0], &sr_manual_verbs, &out), SR_ERR_CONFIG,
                    rows[i][1]);
    CHECK_FAILS(sr_manual_list("metre", &sr_manual_verbs, &out), SR_ERR_CONFIG,
                "did you mean 'meter'");
    sr_text_deinit(&out);
}

// Kinds in the plural, and what can be listed.
TEST(test_kinds) {
    static const char *const rows[][2] = {
        {"meters", "  mean_ap_list_meter "}, {"losses", "  swav_loss "}, {"ops", "  conv2d "}};
    SrText out = SR_TEXT_INIT;
    for (int i = 0; i < SR_COUNT(rows); i++) {
        CHECK_OK(sr_manual_list(rows[i][0], &sr_manual_verbs, &out));
        CHECK(strstr(out.s, rows[i][1]));
        sr_text_deinit(&out);
    }
    sr_manual_kinds(&sr_manual_verbs, &out);
    CHECK(strstr(out.s, "  trunk ") && strstr(out.s, "\n  keys ") && !strstr(out.s, "swav"));
    sr_text_deinit(&out);
}

SR_TESTS(manual, unit(test_every_listed_name), unit(test_every_key), unit(test_every_row_has_help),
         unit(test_found_by_a_part), unit(test_names_nobody_knows), unit(test_kinds))
