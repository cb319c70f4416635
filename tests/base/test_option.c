// Tests option tables: every type, defaults, range checks, messages, and printing that parses
// back.
#include "base/mem.h"
#include "base/plugin/option.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "tests/check.h"

typedef struct {
    bool flag;
    int count, mode;
    int64_t large;
    double epsilon, open;
    const char *name;
    SrInts ints;
    SrDoubles floats;
    SrStrings strings;
    const SrYaml *tree;
    int length, start;
} Params;

#define AT(field) offsetof(Params, field)
// clang-format off
static const SrOption table[] = {
    {"flag", SR_OPT_BOOL, AT(flag), "true", .help = "A flag."},
    {"count", SR_OPT_INT, AT(count), "3", 1, 100, .help = "A count."},
    {"large", SR_OPT_INT64, AT(large), "-1", .help = "A large number."},
    {"epsilon", SR_OPT_FLOAT, AT(epsilon), "0.05", 0, 1, .help = "Sharpness."},
    {"open", SR_OPT_FLOAT, AT(open), "1", 0, INFINITY, .help = "Any positive number."},
    {"name", SR_OPT_STRING, AT(name), "\"\"", .help = "A name."},
    {"mode", SR_OPT_ENUM, AT(mode), "cosine", .choices = "linear|cosine|none", .help = "A mode."},
    {"ints", SR_OPT_INTS, AT(ints), "[0, 1]", 0, 9, .help = "Indices."},
    {"floats", SR_OPT_FLOATS, AT(floats), "[]", .help = "Numbers."},
    {"strings", SR_OPT_STRINGS, AT(strings), "[a]", .help = "Words."},
    {"tree", SR_OPT_TREE, AT(tree), "{}", .help = "Whatever."},
    {"gpu", SR_OPT_IGNORED, 0, "0", .help = "There is none."},
    {"queue.length", SR_OPT_INT, AT(length), "0", .help = "Entries."},
    {"queue.start", SR_OPT_INT, AT(start), "7", .help = "First step.", .needs = "queue.length"},
    SR_OPTION_END,
};
// clang-format on

static SrArena arena;

static int set_up(void **state) {
    (void)state;
    arena = (SrArena)SR_ARENA_INIT;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    sr_arena_deinit(&arena);
    return 0;
}

static SrYaml *tree(const char *text) {
    SrYaml *node = NULL;
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "t.yaml", &node));
    return node;
}

static SrStatus parse(const char *text, Params *out) {
    *out = (Params){0};
    return sr_options_parse(table, text ? tree(text) : NULL, "LOSS.x", &arena, out);
}

static void fails(const char *text, const char *message) {
    Params p;
    CHECK_FAILS(parse(text, &p), SR_ERR_CONFIG, message);
}

TEST(test_defaults) {
    const char *const empty[] = {NULL, "", "{}", "null"};
    for (int i = 0; i < SR_COUNT(empty); i++) {
        Params p;
        CHECK_OK(parse(empty[i], &p));
        CHECK(p.flag && p.count == 3 && p.large == -1 && p.epsilon == 0.05 && p.open == 1 &&
              p.mode == 1);
        CHECK_STR(p.name, "");
        CHECK(p.ints.n == 2 && p.ints.v[1] == 1 && p.floats.n == 0 && p.strings.n == 1);
        CHECK_STR(p.strings.v[0], "a");
        CHECK(p.tree->type == SR_YAML_MAP && p.length == 0 && p.start == 7);
    }
}

TEST(test_values) {
    Params p;
    CHECK_OK(parse(
        "flag: False\ncount: 100\nlarge: 9007199254740993\nepsilon: 1\nopen: 1e30\nname: 12\n"
        "mode: LINEAR\nints: 4\nfloats: [1, 2.5, -1e3]\nstrings: [x, 5, true]\ntree: [1, {a: b}]\n"
        "gpu: whatever\nqueue: {length: 64}\n",
        &p));
    CHECK(!p.flag && p.count == 100 && p.large == 9007199254740993 && p.epsilon == 1 &&
          p.open == 1e30);
    CHECK_STR(p.name, "12");
    CHECK(p.mode == 0 && p.ints.n == 1 && p.ints.v[0] == 4);
    CHECK(p.floats.n == 3 && p.floats.v[1] == 2.5 && p.floats.v[2] == -1000);
    CHECK_STR(p.strings.v[1], "5");
    CHECK_STR(p.strings.v[2], "true");
    CHECK_INT(p.tree->n, 2);
    CHECK(p.length == 64 && p.start == 7);
    CHECK_OK(
        parse("{count: 4.0, mode: none, name: null, ints: null}", &p)); // 4.0 is a whole number
    CHECK(p.count == 4 && p.mode == 2 && p.ints.n == 0);
    CHECK_STR(p.name, "");
}

TEST(test_wrong_types) {
    fails("\nflag: 1", "t.yaml:2: LOSS.x.flag is 1, expected true or false");
    fails("flag: yes", "flag is \"yes\"");
    fails("flag: \"yes\"", "expected true or false");
    fails("count: 2.5", "t.yaml:1: LOSS.x.count is 2.5, expected a whole number");
    fails("count: x", "expected a whole number");
    fails("count: [1]", "LOSS.x.count is [1], expected a whole number");
    fails("epsilon: '0.5'", "LOSS.x.epsilon is \"0.5\", expected a number");
    fails("epsilon: null", "expected a number");
    fails("name: {a: 1}", "expected a string");
    fails("mode: sqrt", "LOSS.x.mode is sqrt, expected one of linear|cosine|none");
    fails("mode: lin", "expected one of");
    fails("mode: [linear]", "expected one of");
    fails("mode: null", "expected one of");
    fails("ints: [1, x]", "t.yaml:1: LOSS.x.ints is x, expected a whole number");
    fails("ints: {a: 1}", "expected a list");
    fails("floats: [[1]]", "expected a number");
    fails("strings: [[a]]", "expected a string");
    fails("queue: 5", "LOSS.x.queue is 5, expected a map");
    fails("[1]", "t.yaml:1: LOSS.x is a list, expected a map");
}

TEST(test_ranges) {
    fails("count: 0", "LOSS.x.count is 0, expected a number from 1 to 100");
    fails("count: 101", "from 1 to 100");
    fails("epsilon: -1e-9", "from 0 to 1");
    fails("epsilon: .nan", "expected a number from 0 to 1");
    fails("floats: [.nan]", "expected a number");
    fails("open: -1", "from 0 to inf");
    fails("ints: [1, 10]", "LOSS.x.ints is 10, expected a number from 0 to 9");
    fails("queue.length: 3000000000", "fits 32 bits");
    fails("large: 1e19", "a whole number");
    fails("large: .inf", "a whole number");
}

TEST(test_unknown_keys) {
    fails("\n\nepslion: 1", "t.yaml:3: unknown key 'LOSS.x.epslion'; did you mean 'epsilon'?");
    fails("queue: {lenght: 1}", "unknown key 'LOSS.x.queue.lenght'; did you mean 'queue.length'?");
    fails("something_else: 1", "unknown key 'LOSS.x.something_else'; `sslrun describe LOSS.x`");
    fails("queue: {length: {a: 1}}", "LOSS.x.queue.length is {a: 1}, expected a whole number");
    CHECK(sr_options_find(table, "queue.start") == &table[13]);
    CHECK(!sr_options_find(table, "queue"));
    CHECK(!sr_options_find(NULL, "x"));
}

TEST(test_defaults_as_a_map) {
    SrYaml *map;
    SrText text = SR_TEXT_INIT;
    CHECK_OK(sr_options_defaults(table, &arena, &map));
    sr_yaml_print_flow(map, &text);
    CHECK_STR(
        text.s,
        "{flag: true, count: 3, large: -1, epsilon: 0.05, open: 1, name: \"\", mode: cosine, "
        "ints: [0, 1], floats: [], strings: [a], tree: {}, gpu: 0, queue: {length: 0, start: 7}}");
    CHECK_STR(sr_yaml_find_path(map, "queue.start")->file, "defaults");
    sr_text_deinit(&text);
}

// Printing params to a map and text and parsing that text gives the same params.
TEST(test_print_reads_back) {
    Params a, b;
    SrYaml *map, *again;
    SrText text = SR_TEXT_INIT;
    CHECK_OK(parse(
        "{flag: false, count: 77, large: -9007199254740993, epsilon: 0.3333333333333333, open: "
        ".inf,"
        " name: 'a: b', mode: none, ints: [3, 4], floats: [1, 1e-300, 0.1], strings: ['5', ''],"
        " tree: {k: [v]}, queue: {start: -2}}",
        &a));
    CHECK_OK(sr_options_print(table, &a, &arena, &map));
    sr_yaml_print(map, &text);
    CHECK_OK(parse(text.s, &b));
    CHECK(a.flag == b.flag && a.count == b.count && a.mode == b.mode && a.large == b.large);
    CHECK(a.epsilon == b.epsilon && a.open == b.open && a.length == b.length && a.start == b.start);
    CHECK_STR(b.name, "a: b");
    for (int i = 0; i < 3; i++)
        CHECK(a.floats.v[i] == b.floats.v[i]);
    CHECK_STR(b.strings.v[0], "5");
    CHECK_STR(b.strings.v[1], "");
    CHECK(sr_yaml_equal(a.tree, b.tree));
    CHECK_INT(sr_yaml_find(map, "floats")->items[0]->type, SR_YAML_FLOAT); // 1 stays a float: 1.0
    CHECK_OK(sr_options_print(table, &b, &arena, &again));
    CHECK(sr_yaml_equal(map, again));
    sr_text_deinit(&text);
}

// The changes of a struct make it of the other one, and rows that are equal are left out.
TEST(test_changes) {
    Params usual, a, b;
    SrYaml *map;
    SrText text = SR_TEXT_INIT;
    CHECK_OK(parse("{}", &usual));
    CHECK_OK(parse("{}", &a));
    CHECK_OK(sr_options_changes(table, &a, &usual, &arena, &map));
    CHECK_INT(map->n, 0);
    CHECK_OK(parse("{flag: false, name: '5', mode: linear, ints: [3], strings: [a], tree: {k: 1}, "
                   "queue: {start: -2}}",
                   &a));
    CHECK_OK(sr_options_changes(table, &a, &usual, &arena, &map));
    sr_yaml_print_flow(map, &text);
    CHECK_STR(text.s, "{flag: false, name: \"5\", mode: linear, ints: [3], tree: {k: 1}, queue: "
                      "{start: -2}}");
    CHECK_OK(parse(text.s, &b));
    CHECK_OK(sr_options_changes(table, &b, &a, &arena, &map));
    CHECK_INT(map->n, 0);
    sr_text_deinit(&text);
}

TEST(test_describe) {
    SrText text = SR_TEXT_INIT;
    sr_option_describe(sr_options_find(table, "epsilon"), &text);
    CHECK(strstr(text.s, "epsilon") && strstr(text.s, "number, default 0.05, 0 .. 1") &&
          strstr(text.s, "Sharpness."));
    sr_text_deinit(&text);
    sr_option_describe(sr_options_find(table, "mode"), &text);
    CHECK(strstr(text.s, "linear|cosine|none, default cosine"));
    CHECK(!strstr(text.s, "only with"));
    sr_text_deinit(&text);
    sr_option_describe(sr_options_find(table, "queue.start"), &text);
    CHECK(strstr(text.s, "First step.  It has an effect only with queue.length.\n"));
    sr_text_deinit(&text);
}

static SrStatus everything(SrArena *scratch, const SrYaml *map) {
    Params p = {0};
    SrYaml *out;
    SR_TRY(sr_options_parse(table, map, "x", scratch, &p));
    SR_TRY(sr_options_print(table, &p, scratch, &out));
    return sr_options_defaults(table, scratch, &out);
}

// Each allocation fails once: a memory error and no leak.
TEST(test_without_memory) {
    SrYaml *map = tree(
        "{name: abc, strings: [a, b, c], ints: [1, 2, 3], tree: {a: [1, 2]}, queue: {length: 3}}");
    SrYaml *unknown = tree("{nmae: 1}");
    int64_t live = sr_mem_live();
    int failures = 0;
    for (int n = 1;; n++) {
        SrArena scratch = SR_ARENA_INIT;
        sr_mem_fail_at(n);
        SrStatus status = everything(&scratch, map);
        sr_mem_fail_at(0);
        sr_arena_deinit(&scratch);
        CHECK_INT(sr_mem_live(), live);
        if (status == SR_OK)
            break;
        CHECK_INT(status, SR_ERR_MEMORY);
        failures++;
    }
    CHECK(failures >= 4);
    for (int n = 1; n < 30; n++) {
        SrArena scratch = SR_ARENA_INIT;
        sr_mem_fail_at(n);
        SrStatus status = everything(&scratch, unknown);
        sr_mem_fail_at(0);
        sr_arena_deinit(&scratch);
        CHECK(status == SR_ERR_MEMORY || status == SR_ERR_CONFIG);
        CHECK_INT(sr_mem_live(), live);
    }
}

#define in_arena(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(option, in_arena(test_defaults), in_arena(test_values), in_arena(test_wrong_types),
         in_arena(test_ranges), in_arena(test_unknown_keys), in_arena(test_defaults_as_a_map),
         in_arena(test_print_reads_back), in_arena(test_changes), in_arena(test_describe),
         in_arena(test_without_memory))
