// Tests meters: values computed by hand, targets of one class and of several, resets, and the
// list of meters per output.
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "tests/check.h"
#include "trainer/run/meters/meter_list.h"

// scores (4, 3)
static const float scores[] = {0.9f, 0.5f, 0.1f, 0.2f, 0.8f, 0.3f, 0.4f, 0.6f, 0.5f, 1, 1, 1};

static void *opened(const char *name, const char *options, const SrMeter **kind, SrArena *arena) {
    SrYaml *map = NULL;
    void *state = NULL;
    CHECK_OK(sr_meter_find(name, kind));
    CHECK_OK(sr_yaml_parse(arena, options, strlen(options), name, &map));
    void *params = sr_arena_alloc(arena, (*kind)->params_bytes);
    CHECK_OK(sr_options_parse((*kind)->options, map, name, arena, params));
    CHECK_OK((*kind)->open(params, 3, 8, &state));
    return state;
}

static void check_values(const char *name, const char *options, const SrMeterRows *rows,
                         const char *const *keys, const double *expected, int n) {
    SrArena arena = SR_ARENA_INIT;
    const SrMeter *kind;
    SrMeterValue v[SR_METER_MAX_VALUES];
    void *state = opened(name, options, &kind, &arena);
    kind->update(state, rows);
    kind->reset(state); // earlier rows are forgotten
    kind->update(state, rows);
    CHECK_INT(kind->values(state, v), n);
    for (int i = 0; i < n; i++) {
        CHECK_STR(v[i].key, keys[i]);
        CHECK_NEAR(v[i].value, expected[i], 1e-12);
    }
    kind->close(state);
    sr_arena_deinit(&arena);
}

static const char *const tops[] = {"top_1", "top_2", "top_7"};

// ---- the contract of every meter

static int values_of(const SrMeter *kind, void *state, double v[SR_METER_MAX_VALUES]) {
    SrMeterValue values[SR_METER_MAX_VALUES];
    int n = kind->values(state, values);
    CHECK(n > 0 && n <= SR_METER_MAX_VALUES);
    for (int i = 0; i < n; i++) {
        CHECK(*values[i].key && values[i].value >= 0 && values[i].value <= 100);
        v[i] = values[i].value;
    }
    return n;
}

// Without rows a meter gives 0. Rows added at once or in two parts give the same value, and
// adding allocates nothing.
static void check_meter(const SrMeter *kind, const SrMeterRows *rows) {
    SrArena arena = SR_ARENA_INIT;
    const SrMeter *found;
    double v[SR_METER_MAX_VALUES], again[SR_METER_MAX_VALUES];
    void *state = opened(kind->name, "{}", &found, &arena);
    CHECK(found == kind && strcmp(kind->subtree + strlen("METERS."), kind->name) == 0);
    for (int i = values_of(kind, state, v); i-- > 0;)
        CHECK_NEAR(v[i], 0, 0);
    int64_t calls = sr_mem_calls();
    kind->update(state, rows);
    CHECK_INT(sr_mem_calls(), calls);
    int n = values_of(kind, state, v);
    kind->reset(state);
    SrMeterRows first = *rows, second = *rows;
    first.rows = 1;
    second.rows = rows->rows - 1;
    second.scores += rows->classes;
    second.target += rows->multi_hot ? rows->classes : 1;
    kind->update(state, &first);
    kind->update(state, &second);
    CHECK_INT(values_of(kind, state, again), n);
    for (int i = 0; i < n; i++)
        CHECK_NEAR(again[i], v[i], 0);
    kind->close(state);
    sr_arena_deinit(&arena);
}

static void check_meter_memory(const SrMeter *kind) {
    SrArena arena = SR_ARENA_INIT;
    void *state = NULL, *params = sr_arena_alloc(&arena, kind->params_bytes);
    CHECK_OK(sr_options_parse(kind->options, NULL, kind->subtree, &arena, params));
    for (int64_t n = 1;; n++) {
        int64_t live = sr_mem_live();
        sr_mem_fail_at(n);
        SrStatus status = kind->open(params, 3, 8, &state);
        sr_mem_fail_at(0);
        if (status == SR_OK)
            break;
        CHECK(status == SR_ERR_MEMORY && sr_mem_live() == live);
    }
    kind->close(state);
    kind->close(NULL);
    sr_arena_deinit(&arena);
}

TEST(test_every_meter) {
    const int64_t classes[] = {0, 2, -1, 1}, several[] = {1, 0, 1, 0, 1, -1, 0, 0, 0, 1, 1, 1};
    for (int i = 0; sr_meter_at(i); i++) {
        check_meter(sr_meter_at(i), &(SrMeterRows){4, 3, scores, classes, false});
        check_meter(sr_meter_at(i), &(SrMeterRows){4, 3, scores, several, true});
        check_meter_memory(sr_meter_at(i));
    }
}

// Row 0 is right at k 1, row 1 at k 2, row 2 has no class, row 3 is a tie that class 0 wins.
TEST(test_classes) {
    const int64_t target[] = {0, 2, -1, 1};
    SrMeterRows rows = {4, 3, scores, target, false};
    const double accuracy[] = {33.3333, 100, 100}, precision[] = {33.3333, 50, 14.2857};
    check_values("accuracy_list_meter", "{topk_values: [1, 2, 7]}", &rows, tops, accuracy, 3);
    check_values("recall_at_k_list_meter", "{topk_values: [1, 2, 7]}", &rows, tops, accuracy, 3);
    check_values("precision_at_k_list_meter", "{topk_values: [1, 2, 7]}", &rows, tops, precision,
                 3);
}

// The first `hits` of `rows` images are right. The last digit is that of VISSL's float32 and
// Python's round.
static void check_share(int hits, int rows, double expected) {
    enum { MOST = 128 };
    const SrMeter *kind;
    SrArena arena = SR_ARENA_INIT;
    SrMeterValue v[SR_METER_MAX_VALUES];
    float two[2 * MOST] = {0};
    int64_t target[MOST];
    for (int i = 0; i < rows; i++) {
        two[2 * i] = 1;
        target[i] = i >= hits;
    }
    void *state = opened("accuracy_list_meter", "{}", &kind, &arena);
    kind->update(state, &(SrMeterRows){rows, 2, two, target, false});
    CHECK_INT(kind->values(state, v), 1);
    CHECK_NEAR(v[0].value, expected, 1e-12);
    kind->close(state);
    sr_arena_deinit(&arena);
}

TEST(test_last_digit) {
    check_share(27, 29, 93.1035); // 0.93103448...
    check_share(16, 51, 31.3726); // 0.31372549...
    check_share(1, 128, 0.7812);  // 0.0078125
    check_share(3, 128, 2.3438);  // 0.0234375
}

// Positives: row 0 has two, row 1 one, row 2 none, row 3 all three.
TEST(test_several_classes) {
    const int64_t target[] = {1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1};
    SrMeterRows rows = {4, 3, scores, target, true};
    const double accuracy[] = {75, 75}, precision[] = {75, 50}, recall[] = {50, 66.6667};
    check_values("accuracy_list_meter", "{topk_values: [1, 2]}", &rows, tops, accuracy, 2);
    check_values("precision_at_k_list_meter", "{topk_values: [1, 2]}", &rows, tops, precision, 2);
    check_values("recall_at_k_list_meter", "{topk_values: [1, 2]}", &rows, tops, recall, 2);
}

// Class 0 ranks rows 3, 0, 2, 1, of which 3 and 1 are positive: (1 + 1/2) / 2. Class 1 has no
// positives. Class 2 ranks 3, 2, (1 unknown), 0, of which 0 is positive: 1/3.
TEST(test_mean_ap) {
    const int64_t target[] = {0, 0, 1, 1, 0, -1, 0, 0, 0, 1, 0, 0};
    SrMeterRows rows = {4, 3, scores, target, true};
    const char *const keys[] = {"mAP"};
    const double expected[] = {54.1667};
    check_values("mean_ap_list_meter", "{}", &rows, keys, expected, 1);
}

static const char config_text[] =
    "MODEL: {FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: true, FREEZE_TRUNK_ONLY: true, "
    "LINEAR_EVAL_FEAT_POOL_OPS_MAP: [[res4, [Identity, []]], [res5, [Identity, []]], "
    "[res5, [Identity, []]]]}}\n"
    "METERS: {name: accuracy_list_meter, accuracy_list_meter: {topk_values: [1, 2]}}\n";

TEST(test_list) {
    SrConfig *config;
    SrMeterList *list;
    const int classes[] = {3, 3, 3};
    CHECK_OK(sr_config_parse(config_text, "meters.yaml", NULL, 0, &config));
    CHECK_OK(sr_meter_list_new(config, 3, classes, 4, &list));
    const int64_t target[] = {0, 1, 1, 2};
    for (int k = 0; k < 3; k++)
        sr_meter_list_update(list, k, &(SrMeterRows){k == 1 ? 4 : 2, 3, scores, target, false});
    SrText text = SR_TEXT_INIT;
    sr_meter_list_json(list, "test", &text);
    CHECK_STR(text.s, ", \"test_accuracy_list_meter\": {\"top_1\": {\"res4\": 100.0, "
                      "\"res5\": [75.0, 100.0]}, \"top_2\": {\"res4\": 100.0, "
                      "\"res5\": [75.0, 100.0]}}");
    double best = 0;
    CHECK(sr_meter_list_best(list, &best));
    CHECK_NEAR(best, 100, 0);
    sr_text_deinit(&text);
    sr_meter_list_free(list);
    CHECK_FAILS(sr_meter_list_new(config, 2, classes, 4, &list), SR_ERR_CONFIG,
                "num_meters is 3, but the model has 2 outputs");
    sr_config_free(config);
}

TEST(test_unknown) {
    SrConfig *config;
    CHECK_FAILS(
        sr_config_parse("METERS: {names: [acuracy_list_meter]}", "m.yaml", NULL, 0, &config),
        SR_ERR_CONFIG, "accuracy_list_meter");
    CHECK(sr_meter_at(-1) == NULL);
}

SR_TESTS(meter, unit(test_every_meter), unit(test_classes), unit(test_last_digit),
         unit(test_several_classes), unit(test_mean_ap), unit(test_list), unit(test_unknown))
