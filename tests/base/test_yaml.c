// Tests reading YAML: types, line numbers, bounds, errors, aliases and merge keys.
#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "base/text/yaml.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_scalar.h"
#include "tests/check.h"

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

static SrStatus parse(const char *text, SrYaml **out) {
    return sr_yaml_parse(&arena, text, strlen(text), "t.yaml", out);
}

static SrYaml *tree(const char *text) {
    SrYaml *node = NULL;
    CHECK_OK(parse(text, &node));
    return node;
}

static void fails(const char *text, const char *message) {
    SrYaml *node;
    CHECK_FAILS(parse(text, &node), SR_ERR_CONFIG, message);
}

TEST(test_scalar_types) {
    // clang-format off
    static const struct { const char *text; SrYamlType type; double f; } cases[] = {
        {"1", SR_YAML_INT, 1},           {"-17", SR_YAML_INT, -17},      {"+3", SR_YAML_INT, 3},
        {"0x1F", SR_YAML_INT, 31},       {"-0x10", SR_YAML_INT, -16},    {"010", SR_YAML_INT, 8},
        {"0b101", SR_YAML_INT, 5},       {"1_000_000", SR_YAML_INT, 1e6}, {"0", SR_YAML_INT, 0},
        {"1.5", SR_YAML_FLOAT, 1.5},     {"1e-4", SR_YAML_FLOAT, 1e-4},  {".5", SR_YAML_FLOAT, 0.5},
        {"1.", SR_YAML_FLOAT, 1},        {"-2.5E+3", SR_YAML_FLOAT, -2500},
        {"0.05", SR_YAML_FLOAT, 0.05},
        {".inf", SR_YAML_FLOAT, INFINITY}, {"-.Inf", SR_YAML_FLOAT, -INFINITY},
        {"99999999999999999999", SR_YAML_FLOAT, 1e20},
        {"true", SR_YAML_BOOL, 1},       {"False", SR_YAML_BOOL, 0},     {"~", SR_YAML_NULL, 0},
        {"null", SR_YAML_NULL, 0},       {"", SR_YAML_NULL, 0},          {"yes", SR_YAML_STRING, 0},
        {"Off", SR_YAML_STRING, 0},      {"08", SR_YAML_STRING, 0},      {"0x", SR_YAML_STRING, 0},
        {"0b2", SR_YAML_STRING, 0},      {"1e", SR_YAML_STRING, 0},      {"1-2", SR_YAML_STRING, 0},
        {"1.2.3", SR_YAML_STRING, 0},    {"nan", SR_YAML_STRING, 0},     {"inf", SR_YAML_STRING, 0},
        {"0x1p3", SR_YAML_STRING, 0},    {"_1", SR_YAML_STRING, 0},      {"+", SR_YAML_STRING, 0},
        {"--1", SR_YAML_STRING, 0},      {"0x-1", SR_YAML_STRING, 0},
        {"2024-01-31", SR_YAML_STRING, 0},
        {"tRUE", SR_YAML_STRING, 0},     {"1 2", SR_YAML_STRING, 0},
    };
    // clang-format on
    for (int i = 0; i < SR_COUNT(cases); i++) {
        const SrYaml *node = sr_yaml_scalar(&arena, cases[i].text, "", 0);
        if (node->type != cases[i].type || node->f != cases[i].f)
            fail_msg("'%s' is %s %g", cases[i].text, sr_yaml_type_name(node->type), node->f);
        CHECK_STR(node->text, cases[i].text);
    }
    CHECK(isnan(sr_yaml_scalar(&arena, ".NaN", "", 0)->f));
    CHECK(sr_yaml_scalar(&arena, "-9223372036854775808", "", 0)->i == INT64_MIN);
    CHECK(sr_yaml_scalar(&arena, "9007199254740993", "", 0)->i == 9007199254740993);
    CHECK_INT(sr_yaml_scalar(&arena, "TRUE", "", 0)->i, 1);
}

TEST(test_tree_and_lines) {
    SrYaml *root = tree("# @package _global_\n"
                        "config:\n"
                        "  LOSS:\n"
                        "    name: swav_loss # why\n"
                        "    crops: [0, 1]\n"
                        "  text: |\n"
                        "    two\n"
                        "    lines\n"
                        "  quoted: '5'\n"
                        "  nothing:\n"
                        "  list:\n"
                        "  - {a: 1}\n"
                        "  - 2\n");
    CHECK_STR(sr_yaml_find_path(root, "config.LOSS.name")->text, "swav_loss");
    CHECK_INT(sr_yaml_find_path(root, "config.LOSS.name")->line, 4);
    CHECK_STR(sr_yaml_find_path(root, "config.LOSS.name")->file, "t.yaml");
    CHECK_INT(sr_yaml_find_path(root, "config.LOSS")->line,
              3); // the line of the key, not of its first child
    CHECK_INT(sr_yaml_find_path(root, "config.LOSS.crops.1")->i, 1);
    CHECK_STR(sr_yaml_find_path(root, "config.text")->text, "two\nlines\n");
    CHECK_INT(sr_yaml_find_path(root, "config.quoted")->type, SR_YAML_STRING);
    CHECK_INT(sr_yaml_find_path(root, "config.nothing")->type, SR_YAML_NULL);
    CHECK_INT(sr_yaml_find_path(root, "config.list.0.a")->i, 1);
    CHECK_INT(sr_yaml_find_path(root, "config.list.1")->line, 13);
    CHECK(!sr_yaml_find_path(root, "config.list.2"));
    CHECK(!sr_yaml_find_path(root, "config.list.-1"));
    CHECK(!sr_yaml_find_path(root, "config.list.x"));
    CHECK(!sr_yaml_find_path(root, "config.nothing.x"));
    CHECK(!sr_yaml_find_path(root, "conf"));
    CHECK(sr_yaml_find_path(root, "") == root);
    CHECK(!sr_yaml_find(NULL, "x"));
    CHECK(!sr_yaml_find(sr_yaml_find_path(root, "config.list"), "x"));
}

TEST(test_empty_documents) {
    CHECK_INT(tree("")->type, SR_YAML_NULL);
    CHECK_INT(tree("# nothing\n")->type, SR_YAML_NULL);
    CHECK_INT(tree("---\n...\n")->type, SR_YAML_NULL);
    CHECK_INT(tree("[]")->n, 0);
    CHECK_INT(tree("{}")->type, SR_YAML_MAP);
}

TEST(test_tags) {
    CHECK_INT(sr_yaml_find(tree("a: !!str 5"), "a")->type, SR_YAML_STRING);
    fails("a: 1\nb: !!python/object:os.system x",
          "t.yaml:2: tag 'tag:yaml.org,2002:python/object:os.system'");
    fails("a: !include b.yaml", "t.yaml:1: tag '!include' is not supported");
    fails("!!set {a, b}", "tag");
    fails("a: !x [1]", "tag '!x'");
}

TEST(test_errors_name_the_place) {
    fails("a: 1\nb: 2\na: 3\n",
          "t.yaml:3: key 'a' occurs twice in this map; the first is at line 1");
    fails("x:\n  k: 1\n  l: 2\n  k:\n    m: 1\n",
          "t.yaml:4: key 'k' occurs twice in this map; the first is at line 2");
    fails("{a: 1, b: 1, b: 2, a: 2}", "key 'b'"); // the first key that repeats
    fails("a: [1, 2\nb: 3", "t.yaml:2");
    fails("a: \"x", "not valid YAML");
    fails("a: 1\n b: 2", "t.yaml:2");
    fails("\tx: 1", "t.yaml:1");
    fails("a:\n\tx: 1", "a tab may be the cause: indent with blanks");
    fails("a: 1\n---\nb: 2", "t.yaml:2: the file holds a second document");
    fails("a: *missing", "t.yaml:1: alias '*missing' has no anchor");
    fails("&a [*a]", "alias '*a' has no anchor"); // an anchor may not contain its own alias
    fails("[1, 2]: 3", "a key must be a plain word");
    fails("? {a: 1}\n: 3", "a key must be a plain word");
    fails("a: \"x\\0y\"", "holds a NUL");
    fails("\"x\\0y\": 1", "holds a NUL");
    fails("a: \xff\xfe", "t.yaml:1: not valid YAML");
    fails("a: 1\nb: 2\n\n# caf\xe9\nc: 3\n", "t.yaml:4: not valid YAML"); // Latin-1
    fails("a: 1\nb: \x01\n", "t.yaml:2: not valid YAML: control characters");
}

TEST(test_aliases_are_copies) {
    SrYaml *root = tree(
        "base: &b {x: 1, y: [2, 3]}\nother: *b\nscalar: &s 7\nmore: [*s, *s, *b]\n&k key: *s\n");
    SrYaml *base = sr_yaml_find(root, "base"), *other = sr_yaml_find(root, "other");
    CHECK(sr_yaml_equal(base, other) && base != other);
    CHECK_OK(sr_yaml_put(&arena, other, "x", sr_yaml_scalar(&arena, "9", "", 0)));
    CHECK_INT(sr_yaml_find(base, "x")->i, 1);
    CHECK_INT(sr_yaml_find_path(root, "more.2.y.1")->i, 3);
    CHECK_INT(sr_yaml_find(root, "key")->i, 7);
    CHECK_INT(sr_yaml_find(tree("[&a 1, &a 2, *a]"), "x") == NULL, 1);
    // An alias refers to the last anchor before it.
    CHECK_INT(tree("[&a 1, &a 2, *a]")->items[2]->i, 2);
}

// Each line holds ten aliases of the line before: ten lines stand for 10^9 values.
TEST(test_billion_laughs) {
    SrText bomb = SR_TEXT_INIT;
    sr_text_add(&bomb, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for (int i = 1; i < 10; i++) {
        sr_text_printf(&bomb, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            sr_text_printf(&bomb, "%s*a%d", j ? ", " : "", i - 1);
        sr_text_add(&bomb, "]\n");
    }
    int64_t calls = sr_mem_calls();
    fails(bomb.s, "t.yaml:5: more than 100000 values once aliases are expanded");
    CHECK(sr_mem_calls() - calls < 500); // refused before the memory is spent
    sr_text_deinit(&bomb);
}

// Nesting through aliases counts like any other: each list holds the one before a few levels
// deeper.
TEST(test_depth) {
    char deep[300];
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    deep[130] = '\0';
    fails(deep, "nested deeper than 64 levels");
    deep[64] = '1';
    deep[129] = '\0';
    CHECK_INT(tree(deep)->n, 1);
    memset(deep, '[', 299);
    deep[299] = '\0';
    fails(deep, "nested deeper than 64 levels");
    SrText text = SR_TEXT_INIT;
    sr_text_add(&text, "a0: &a0 [[[[1]]]]\n");
    for (int i = 1; i < 20; i++)
        sr_text_printf(&text, "a%d: &a%d [[[[*a%d]]]]\n", i, i, i - 1);
    fails(text.s, "t.yaml:16: values are nested deeper than 64 levels");
    sr_text_deinit(&text);
}

TEST(test_sizes_are_bounded) {
    SrText text = SR_TEXT_INIT;
    SrYaml *node;
    for (int i = 0; i < 100001; i++)
        sr_text_add(&text, "- 1\n");
    fails(text.s, "more than 100000 values");
    while (text.len <= 1 << 20)
        sr_text_add(&text, "# a comment of some length\n");
    fails(text.s, "expected at most 1048576");
    sr_text_deinit(&text);
    for (int i = 0; i < 1001; i++)
        sr_text_printf(&text, "- &a%d 1\n", i);
    fails(text.s, "t.yaml:1001: more than 1000 anchors");
    sr_text_deinit(&text);
    sr_text_printf(&text, "%0201d: 1", 0);
    fails(text.s, "longer than 200 bytes");
    CHECK_OK(sr_yaml_parse(&arena, text.s + 1, text.len - 1, "t.yaml", &node));
    sr_text_deinit(&text);
}

// Many keys take no quadratic time, which would be 4 * 10^9 comparisons for 90,000 keys.
TEST(test_wide_maps) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < 90000; i++)
        sr_text_printf(&text, "k%d: 1\n", i);
    CHECK_INT(tree(text.s)->n, 90000);
    sr_text_add(&text, "k77: 1\n");
    fails(text.s, "t.yaml:90001: key 'k77' occurs twice in this map; the first is at line 78");
    sr_text_deinit(&text);
}

TEST(test_load) {
    SrYaml *node;
    CHECK_FAILS(sr_yaml_load(&arena, "/nonexistent.yaml", &node), SR_ERR_CONFIG,
                "/nonexistent.yaml");
    CHECK_FAILS(sr_yaml_load(&arena, "/", &node), SR_ERR_CONFIG, "not a regular file");
}

// Each allocation fails once: a memory error and no leak.
TEST(test_without_memory) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < 300; i++)
        sr_text_printf(&text, "k%d: {a: &a%d [1, 2.5, x], b: *a%d, c: \"q\"}\n", i, i, i);
    int64_t live = sr_mem_live();
    int failures = 0;
    for (int n = 1;; n++) {
        SrArena scratch = SR_ARENA_INIT;
        SrYaml *node;
        sr_mem_fail_at(n);
        SrStatus status = sr_yaml_parse(&scratch, text.s, text.len, "t.yaml", &node);
        sr_mem_fail_at(0);
        sr_arena_deinit(&scratch);
        CHECK_INT(sr_mem_live(), live);
        if (status == SR_OK)
            break;
        CHECK_INT(status, SR_ERR_MEMORY);
        failures++;
    }
    CHECK(failures > 20);
    sr_text_deinit(&text);
}

#define in_arena(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
// A map that is merged by "<<" gives the keys that the map itself lacks. Of several maps the first
// one wins, and none of them changes.
TEST(test_merge_keys) {
    SrYaml *t = tree(
        "x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz: {<<: [*x, *y], a: 5}\nw:\n  <<: *y\n  d: 6\n");
    const SrYaml *z = sr_yaml_find(t, "z"), *w = sr_yaml_find(t, "w");
    CHECK_INT(z->n, 3);
    CHECK_INT(sr_yaml_find(z, "a")->i, 5);
    CHECK_INT(sr_yaml_find(z, "b")->i, 2);
    CHECK_INT(sr_yaml_find(z, "c")->i, 4);
    CHECK_INT(w->n, 3);
    CHECK(sr_yaml_find(w, "b") != sr_yaml_find_path(t, "y.b"));
    // A quoted "<<" is an ordinary key.
    CHECK_INT(sr_yaml_find_path(tree("a: {\"<<\": 5}"), "a")->n, 1);
    fails("a: {<<: 5}", "t.yaml:1: << takes a map or a list of maps");
    fails("a: {<<: [{b: 1}, 5]}", "t.yaml:1: << takes");
    fails("a: {<<: {b: 1}, <<: {c: 1}}", "key '<<' occurs twice in this map");
    SrText wide = SR_TEXT_INIT;
    sr_text_add(&wide, "a: {<<: {b: 1}");
    for (int i = 0; i < 1001; i++)
        sr_text_printf(&wide, ", k%d: 1", i);
    sr_text_add(&wide, "}");
    fails(wide.s, "of at most 1000 keys");
    sr_text_deinit(&wide);
}

SR_TESTS(yaml, in_arena(test_scalar_types), in_arena(test_tree_and_lines),
         in_arena(test_empty_documents), in_arena(test_tags), in_arena(test_errors_name_the_place),
         in_arena(test_aliases_are_copies), in_arena(test_merge_keys),
         in_arena(test_billion_laughs), in_arena(test_depth), in_arena(test_sizes_are_bounded),
         in_arena(test_wide_maps), in_arena(test_load), in_arena(test_without_memory))
