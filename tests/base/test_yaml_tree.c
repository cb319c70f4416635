// Tests changing, merging and printing YAML trees: a printed tree reads back equal.
#include "base/mem.h"
#include "base/rng.h"
#include "base/text/yaml.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
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

static SrYaml *tree(const char *text) {
    SrYaml *node = NULL;
    CHECK_OK(sr_yaml_parse(&arena, text, strlen(text), "t.yaml", &node));
    return node;
}

static void check_flow(const SrYaml *node, const char *expected) {
    SrText text = SR_TEXT_INIT;
    sr_yaml_print_flow(node, &text);
    CHECK_STR(text.s, expected);
    sr_text_deinit(&text);
}

TEST(test_put_and_remove) {
    SrYaml *map = tree("{a: 1, b: 2, c: 3}");
    CHECK_OK(sr_yaml_put(&arena, map, "b", sr_yaml_scalar(&arena, "x", "", 0)));
    CHECK_OK(sr_yaml_put(&arena, map, "d", sr_yaml_scalar(&arena, "4", "", 0)));
    CHECK(sr_yaml_remove(map, "a"));
    CHECK(!sr_yaml_remove(map, "a"));
    check_flow(map, "{b: x, c: 3, d: 4}");
    CHECK_OK(sr_yaml_put_path(&arena, map, "n.m.k", sr_yaml_scalar(&arena, "5", "", 0)));
    CHECK_OK(sr_yaml_put_path(&arena, map, "c.k",
                              sr_yaml_scalar(&arena, "6", "", 0))); // replaces a scalar
    check_flow(map, "{b: x, c: {k: 6}, d: 4, n: {m: {k: 5}}}");
    CHECK_FAILS(sr_yaml_put(&arena, map, "e", NULL), SR_ERR_MEMORY, "memory");
}

static SrStatus set(SrYaml *map, const char *path, const char *flow) {
    return sr_tree_set(&arena, map, path, tree(flow));
}

// Numbers in a path are indices, one past the end appends, and missing maps and lists are made.
TEST(test_set) {
    SrYaml *map = tree("{a: [1, 2], m: {k: 1}, empty: ~, s: x}");
    CHECK_OK(set(map, "a.1", "5"));
    CHECK_OK(set(map, "a.2", "6"));
    CHECK_OK(set(map, "m", "{l: 2}")); // merged
    CHECK_OK(set(map, "empty.0.name", "t"));
    CHECK_OK(set(map, "new.k.0.0", "7"));
    CHECK_OK(set(map, "s", "[y]"));
    check_flow(map, "{a: [1, 5, 6], m: {k: 1, l: 2}, empty: [{name: t}], s: [y], new: {k: [[7]]}}");
    CHECK_FAILS(set(map, "a.4", "1"), SR_ERR_CONFIG,
                "'a' is a list, expected an index from 0 to 3");
    CHECK_FAILS(set(map, "a.x.y", "1"), SR_ERR_CONFIG, "not 'x'");
    CHECK_FAILS(set(map, "a.0.y", "1"), SR_ERR_CONFIG, "leads through 'a.0', which is an integer");
    CHECK_FAILS(set(map, "m..k", "1"), SR_ERR_CONFIG, "empty part");
    CHECK_FAILS(set(map, "m.", "1"), SR_ERR_CONFIG, "empty part");
    CHECK_FAILS(sr_tree_set(&arena, map, "m.k", NULL), SR_ERR_MEMORY, "memory");
}

TEST(test_scalars) {
    SrYaml *list = sr_yaml_new(&arena, SR_YAML_LIST, "", 0);
    CHECK_OK(sr_yaml_append(&arena, list, sr_yaml_bool(&arena, true)));
    CHECK_OK(sr_yaml_append(&arena, list, sr_yaml_int(&arena, INT64_MIN)));
    CHECK_OK(sr_yaml_append(&arena, list, sr_yaml_float(&arena, 2)));
    CHECK_OK(sr_yaml_append(&arena, list, sr_yaml_float(&arena, -INFINITY)));
    CHECK_OK(sr_yaml_append(&arena, list, sr_yaml_string(&arena, "5")));
    CHECK_OK(sr_yaml_append(&arena, list, sr_yaml_string(&arena, NULL)));
    check_flow(list, "[true, -9223372036854775808, 2.0, -.inf, \"5\", null]");
    CHECK(sr_yaml_equal(list, tree("[true, -9223372036854775808, 2.0, -.inf, \"5\", null]")));
}

TEST(test_append) {
    SrYaml *list = sr_yaml_new(&arena, SR_YAML_LIST, "f", 1);
    for (int i = 0; i < 100; i++)
        CHECK_OK(sr_yaml_append(&arena, list, sr_yaml_scalar(&arena, i % 2 ? "1" : "0", "", 0)));
    CHECK_INT(list->n, 100);
    for (int i = 0; i < 100; i++)
        CHECK_INT(list->items[i]->i, i % 2);
}

TEST(test_merge) {
    SrYaml *base = tree("{a: 1, m: {x: 1, y: [1, 2, 3]}, n: {k: 1}}");
    SrYaml *over = tree("{m: {y: [9], z: 0}, n: null, new: {p: 1}}");
    CHECK_OK(sr_yaml_merge(&arena, base, over));
    check_flow(base, "{a: 1, m: {x: 1, y: [9], z: 0}, n: null, new: {p: 1}}");
    sr_yaml_find_path(over, "new.p")->i = 5; // the value in `over` was copied
    CHECK_INT(sr_yaml_find_path(base, "new.p")->i, 1);
    CHECK_OK(sr_yaml_merge(&arena, base, tree("")));
    CHECK_FAILS(sr_yaml_merge(&arena, base, tree("[1]")), SR_ERR_CONFIG,
                "t.yaml:1: expected a map of keys, found a list");
    CHECK_FAILS(sr_yaml_merge(&arena, tree("[1]"), base), SR_ERR_CONFIG, "expected a map of keys");
}

// A copy stays valid after the arena of the original is freed.
TEST(test_copy_stands_alone) {
    SrArena source = SR_ARENA_INIT;
    SrYaml *node, *copy;
    const char *text = "{a: [1, 2.5, x], b: {c: true}}";
    CHECK_OK(sr_yaml_parse(&source, text, strlen(text), "source.yaml", &node));
    copy = sr_yaml_copy(&arena, node);
    sr_arena_deinit(&source);
    check_flow(copy, text);
    CHECK_STR(sr_yaml_find_path(copy, "a.2")->file, "source.yaml");
    CHECK_STR(sr_yaml_find_path(copy, "b.c")->file, "source.yaml");
    CHECK_INT(sr_yaml_find_path(copy, "b.c")->b, 1);
    CHECK_INT(sr_yaml_find_path(copy, "b.c")->line, 1);
}

TEST(test_equal) {
    CHECK(sr_yaml_equal(tree("{a: 1, b: [x, null]}"),
                        tree("b: ['x', ~]\na: 1.0\n"))); // the order of keys does not matter
    CHECK(sr_yaml_equal(tree(".nan"), tree(".NaN")));
    const char *const different[][2] = {
        {"1", "2"},           {"1", "'1'"},      {"[1, 2]", "[2, 1]"},      {"[1]", "[1, 1]"},
        {"{a: 1}", "{b: 1}"}, {"true", "false"}, {"true", "'true'"},        {"null", "''"},
        {"{}", "[]"},         {"a", "b"},        {"{a: 1, b: 1}", "{a: 1}"}};
    for (int i = 0; i < SR_COUNT(different); i++)
        CHECK(!sr_yaml_equal(tree(different[i][0]), tree(different[i][1])));
}

TEST(test_block_style) {
    SrText text = SR_TEXT_INIT;
    sr_yaml_print(
        tree("{a: {b: {c: 1}}, l: [1, two, 3.5], e: {}, f: [], n: null, m: [{x: 1}, [2]]}"), &text);
    CHECK_STR(text.s, "a:\n"
                      "  b:\n"
                      "    c: 1\n"
                      "l: [1, two, 3.5]\n"
                      "e: {}\n"
                      "f: []\n"
                      "n: null\n"
                      "m:\n"
                      "  - {x: 1}\n"
                      "  - [2]\n");
    sr_text_deinit(&text);
    sr_yaml_print(tree("[]"), &text);
    CHECK_STR(text.s, "[]\n");
    sr_text_deinit(&text);
}

static SrYaml *string_node(const char *s) {
    SrYaml *node = sr_yaml_new(&arena, SR_YAML_STRING, "", 0);
    node->text = s;
    return node;
}

// Checks a string as a value, as a key and as a document, in both styles.
static void check_string_reads_back(const char *s) {
    SrYaml *map = sr_yaml_new(&arena, SR_YAML_MAP, "", 0),
           *list = sr_yaml_new(&arena, SR_YAML_LIST, "", 0);
    CHECK_OK(sr_yaml_put(&arena, map, "key", string_node(s)));
    CHECK_OK(sr_yaml_put(&arena, map, s, string_node("value")));
    CHECK_OK(sr_yaml_append(&arena, list, string_node(s)));
    CHECK_OK(sr_yaml_put(&arena, map, "list", list));
    const SrYaml *nodes[] = {map, list, string_node(s)};
    for (int i = 0; i < 6; i++) {
        SrText text = SR_TEXT_INIT;
        SrYaml *back = NULL;
        (i % 2 ? sr_yaml_print : sr_yaml_print_flow)(nodes[i / 2], &text);
        if (sr_yaml_parse(&arena, text.s, text.len, "printed", &back) != SR_OK)
            fail_msg("%s: %s", sr_status_message(), text.s);
        if (!sr_yaml_equal(nodes[i / 2], back))
            fail_msg("not equal: %s", text.s);
        sr_text_deinit(&text);
    }
}

TEST(test_strings_read_back) {
    const char *const strings[] = {"plain",
                                   "with blank",
                                   " leading",
                                   "trailing ",
                                   "",
                                   "null",
                                   "~",
                                   "true",
                                   "5",
                                   "1e-4",
                                   ".inf",
                                   "yes",
                                   "off",
                                   "-",
                                   "- x",
                                   "?",
                                   ":",
                                   "a: b",
                                   "a:b",
                                   "#no",
                                   "a #b",
                                   "[x]",
                                   "{x}",
                                   ",",
                                   "a,b",
                                   "'q'",
                                   "\"q\"",
                                   "a\"b",
                                   "\\",
                                   "a\\nb",
                                   "line\nbreak",
                                   "\n",
                                   "tab\there",
                                   "\r\n",
                                   "!tag",
                                   "&a",
                                   "*a",
                                   "|",
                                   ">",
                                   "%d",
                                   "@x",
                                   "`x",
                                   "...",
                                   "... x",
                                   "---",
                                   "=",
                                   "<<",
                                   "~/data",
                                   "/a/b.yaml",
                                   "caf\xc3\xa9",
                                   "\xf0\x9f\x98\x80",
                                   "\xc2\x85",
                                   "\xe2\x80\xa8x",
                                   "\xe2\x80\xa9",
                                   "\xef\xbb\xbfx",
                                   "\xc2\x80",
                                   "\x7f",
                                   "\x01",
                                   "0x1F",
                                   "0b1",
                                   "010",
                                   "1_0",
                                   "2024-01-31"};
    for (int i = 0; i < SR_COUNT(strings); i++)
        check_string_reads_back(strings[i]);
}

TEST(test_random_strings_read_back) {
    static const char *const pieces[] = {
        "a", "0", "-", " ", ":", "#", ",", "\"", "'", "\\", "\n", "\t", "?",        "[",       "]",
        "{", "}", "&", "*", "!", "|", ">", "%",  ".", "e",  "_",  "~",  "\xc2\x85", "\xc3\xa9"};
    SrRng rng = sr_rng(11, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 500; i++) {
        char s[32] = "";
        for (uint32_t n = sr_rng_below(&rng, 8); n > 0; n--)
            strcat(s, pieces[sr_rng_below(&rng, SR_COUNT(pieces))]);
        check_string_reads_back(s);
        sr_arena_deinit(&arena);
    }
}

// Bytes that are not UTF-8 cannot be written in YAML; the printed file must still be readable.
TEST(test_broken_utf8_stays_readable) {
    SrText text = SR_TEXT_INIT;
    sr_yaml_print_flow(string_node("caf\xe9 \xff"), &text);
    CHECK_STR(text.s, "\"caf\\xe9 \\xff\"");
    CHECK_STR(tree(text.s)->text, "caf\xc3\xa9 \xc3\xbf");
    sr_text_deinit(&text);
}

TEST(test_numbers_without_text) {
    SrYaml *node = sr_yaml_new(&arena, SR_YAML_FLOAT, "", 0);
    node->f = -INFINITY;
    check_flow(node, "-.inf");
    node->f = 0.1;
    check_flow(node, "0.1");
    node = sr_yaml_new(&arena, SR_YAML_INT, "", 0);
    node->i = -5;
    check_flow(node, "-5");
}

// Each allocation of copying and merging fails once.
TEST(test_without_memory) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < 200; i++)
        sr_text_printf(&text, "k%d: {a: [1, 2.5, x], b: {c: \"q\"}}\n", i);
    SrYaml *over = tree(text.s);
    int64_t live = sr_mem_live();
    int failures = 0;
    for (int n = 1;; n++) {
        SrArena scratch = SR_ARENA_INIT;
        sr_mem_fail_at(n);
        SrYaml *base = sr_yaml_new(&scratch, SR_YAML_MAP, "", 0);
        SrStatus status = base ? sr_yaml_merge(&scratch, base, over) : SR_ERR_MEMORY;
        sr_mem_fail_at(0);
        CHECK(status != SR_OK || sr_yaml_equal(base, over));
        sr_arena_deinit(&scratch);
        CHECK_INT(sr_mem_live(), live);
        if (status == SR_OK)
            break;
        CHECK_INT(status, SR_ERR_MEMORY);
        failures++;
    }
    CHECK(failures > 5);
    sr_text_deinit(&text);
}

// Each allocation of printing fails once: the text fails too, and is never merely another text.
TEST(test_print_without_memory) {
    SrYaml *node = tree("{plain: word, quoted: 'a: b', list: [1, two, 'yes']}");
    SrText whole = SR_TEXT_INIT;
    int failures = 0;
    sr_yaml_print(node, &whole);
    CHECK(!whole.failed);
    for (int n = 1;; n++) {
        SrText text = SR_TEXT_INIT;
        sr_mem_fail_at(n);
        sr_yaml_print(node, &text);
        sr_mem_fail_at(0);
        bool failed = text.failed;
        CHECK(failed || strcmp(text.s, whole.s) == 0);
        sr_text_deinit(&text);
        if (!failed)
            break;
        failures++;
    }
    CHECK(failures > 5);
    sr_text_deinit(&whole);
}

#define in_arena(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(yaml_tree, in_arena(test_put_and_remove), in_arena(test_set), in_arena(test_scalars),
         in_arena(test_append), in_arena(test_merge), in_arena(test_copy_stands_alone),
         in_arena(test_equal), in_arena(test_block_style), in_arena(test_strings_read_back),
         in_arena(test_random_strings_read_back), in_arena(test_broken_utf8_stays_readable),
         in_arena(test_numbers_without_text), in_arena(test_without_memory),
         in_arena(test_print_without_memory))
