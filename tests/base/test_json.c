// Tests reading and writing JSON: types, exact integers, bounds, errors, output that reads back.
#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
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

// Parses a copy of exactly that size, so that a sanitizer reports any read past its end.
static SrStatus parse_bytes(SrArena *into, const char *text, size_t bytes, SrYaml **out) {
    char *exact = sr_alloc(bytes);
    CHECK(exact);
    memcpy(exact, text, bytes);
    SrStatus status = sr_json_parse(into, exact, bytes, "t.json", out);
    sr_free(exact);
    return status;
}

static SrYaml *tree(const char *text) {
    SrYaml *node = NULL;
    CHECK_OK(parse_bytes(&arena, text, strlen(text), &node));
    return node;
}

static void fails(const char *text, const char *message) {
    SrYaml *node;
    CHECK_FAILS(parse_bytes(&arena, text, strlen(text), &node), SR_ERR_CONFIG, message);
}

TEST(test_types) {
    SrYaml *root = tree(
        "{\"i\": -3, \"f\": 0.25, \"s\": \"5\", \"t\": true, \"n\": null, \"l\": [1, [], {}],\n"
        " \"u\": \"\\u00e9\\ud83d\\ude00\\n\\\"\", \"whole\": 1e3, \"\": 7}");
    CHECK_INT(root->n, 9);
    CHECK(sr_yaml_find(root, "i")->type == SR_YAML_INT && sr_yaml_find(root, "i")->i == -3);
    CHECK(sr_yaml_find(root, "f")->type == SR_YAML_FLOAT && sr_yaml_find(root, "f")->f == 0.25);
    CHECK_STR(sr_yaml_find(root, "f")->text, "0.25");
    // A string stays a string, even if its text is a number.
    CHECK_INT(sr_yaml_find(root, "s")->type, SR_YAML_STRING);
    CHECK(sr_yaml_find(root, "t")->b && sr_yaml_find(root, "t")->type == SR_YAML_BOOL);
    CHECK_INT(sr_yaml_find(root, "n")->type, SR_YAML_NULL);
    CHECK_INT(sr_yaml_find_path(root, "l.2")->type, SR_YAML_MAP);
    CHECK_STR(sr_yaml_find(root, "u")->text, "\xc3\xa9\xf0\x9f\x98\x80\n\"");
    CHECK(sr_yaml_find(root, "whole")->type == SR_YAML_INT &&
          sr_yaml_find(root, "whole")->i == 1000);
    CHECK_INT(sr_yaml_find(root, "")->i, 7);
    CHECK_STR(root->file, "t.json");
}

TEST(test_numbers) {
    CHECK(tree("9007199254740992")->i == 9007199254740992);
    CHECK(tree("-9007199254740991")->i == -9007199254740991);
    CHECK_STR(tree("9007199254740991")->text, "9007199254740991");
    CHECK(tree("9223372036854775807")->i == INT64_MAX);
    CHECK_STR(tree("-9223372036854775807")->text, "-9223372036854775807");
    CHECK_INT(tree("1e300")->type, SR_YAML_FLOAT);
    fails("[1e999]", "t.json:1: not valid JSON: real number overflow");
    fails("[1,\n9223372036854775808]", "t.json:2: not valid JSON: too big integer");
    CHECK(tree("0.1")->f == 0.1);
}

TEST(test_errors) {
    fails("", "not valid JSON");
    fails("nul", "not valid JSON");
    fails("{\"a\": 1,\n \"b\": }", "t.json:2: not valid JSON");
    fails("{\"a\": 1,", "brackets do not match");
    fails("[1, 2", "brackets do not match");
    fails("]", "brackets do not match");
    fails("]{\"a\":1,", "brackets do not match");
    fails("[}", "not valid JSON");
    fails("{\"a\":1]", "not valid JSON");
    fails("\"abc", "a string is not closed");
    fails("\"abc\\", "a string is not closed");
    fails("\"a\\u0000b\"", "holds a NUL");
    fails("{\"k\\u0000\": 1}", "holds a NUL");
    CHECK_STR(tree("\"\\\\u0000\"")->text, "\\u0000"); // an escaped backslash starts no escape
    fails("{} {}", "end of file expected");
    fails("1,", "end of file expected");
    fails("{\"a\": 1, \"b\": 2, \"a\": 3}", "duplicate object key near '\"a\"'");
    SrYaml *node;
    CHECK_FAILS(parse_bytes(&arena, "{}\0", 3, &node), SR_ERR_CONFIG, "end of file expected");
    CHECK_FAILS(sr_json_load(&arena, "/nonexistent.json", 10, &node), SR_ERR_IO,
                "/nonexistent.json");
}

// A text cut at any place is an error, and nothing is read past the cut.
TEST(test_truncated) {
    const char *text = "{\"name\": [1.5, true, null, \"x\\u00e9\\\\\"], \"b\": {\"c\": false}}";
    SrYaml *node;
    for (size_t n = 0; n < strlen(text); n++)
        CHECK_INT(parse_bytes(&arena, text, n, &node), SR_ERR_CONFIG);
}

TEST(test_bounds) {
    char deep[131] = "";
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    fails(deep, "nested deeper than 64 levels");
    deep[129] = '\0';
    CHECK_INT(tree(deep + 1)->n, 1);
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < 100000; i++)
        sr_text_add(&text, "[[[[[[[[[[[[[[[[[[[[");
    fails(text.s, "brackets do not match");
    sr_text_deinit(&text);
    sr_text_add(&text, "[");
    for (int i = 0; i < 2000001; i++)
        sr_text_add(&text, "1,");
    sr_text_add(&text, "1]");
    fails(text.s, "more than 2000000 JSON values");
    sr_text_deinit(&text);
    sr_text_add(&text, "{\"x\": 1"); // a wide object must not take quadratic time
    for (int i = 0; i < 100000; i++)
        sr_text_printf(&text, ", \"k%d\": %d", i, i);
    sr_text_add(&text, "}");
    CHECK_INT(tree(text.s)->n, 100001);
    sr_text_deinit(&text);
}

TEST(test_records) {
    SrText text = SR_TEXT_INIT;
    sr_json_begin(&text);
    sr_json_int(&text, "step", 9007199254740993);
    sr_json_float(&text, "loss", 0.1);
    sr_json_float(&text, "bad", NAN);
    sr_json_float(&text, "worse", -INFINITY);
    sr_json_string(&text, "na\"me", "a\\b\n\x01\xc3\xa9\xff");
    sr_json_bool(&text, "ok", 1);
    sr_json_end(&text);
    CHECK_STR(text.s,
              "{\"step\": 9007199254740993, \"loss\": 0.1, \"bad\": null, \"worse\": null, "
              "\"na\\\"me\": \"a\\\\b\\u000a\\u0001\xc3\xa9\xef\xbf\xbd\", \"ok\": true}\n");
    SrYaml *root = tree(text.s);
    CHECK_STR(sr_yaml_find(root, "na\"me")->text, "a\\b\n\x01\xc3\xa9\xef\xbf\xbd");
    sr_text_deinit(&text);
    sr_json_begin(&text);
    sr_json_end(&text);
    sr_json_begin(&text); // a second record in the same text starts its own object
    sr_json_int(&text, "a", 1);
    sr_json_end(&text);
    CHECK_STR(text.s, "{}\n{\"a\": 1}\n");
    sr_text_deinit(&text);
}

// Characters that terminals obey are written as numbers, and read back the same.
TEST(test_controls) {
    SrText text = SR_TEXT_INIT;
    sr_json_begin(&text);
    sr_json_string(&text, "a", "\033[31m\x7f\xc2\x9b\xc3\xa9");
    sr_json_end(&text);
    CHECK_STR(text.s, "{\"a\": \"\\u001b[31m\\u007f\\u009b\xc3\xa9\"}\n");
    CHECK_STR(sr_yaml_find(tree(text.s), "a")->text, "\033[31m\x7f\xc2\x9b\xc3\xa9");
    sr_text_deinit(&text);
}

TEST(test_trees_print_and_read_back) {
    SrYaml *root =
        tree("{\"a\": [1, 2.5, -1e-300, \"x\", true, null], \"b\": {\"c\": {}}, \"d\": [[]]}");
    SrText text = SR_TEXT_INIT;
    sr_json_print(root, &text);
    CHECK_STR(text.s,
              "{\"a\": [1, 2.5, -1e-300, \"x\", true, null], \"b\": {\"c\": {}}, \"d\": [[]]}");
    CHECK(sr_yaml_equal(root, tree(text.s)));
    sr_text_deinit(&text);
}

// Each allocation fails once, those inside jansson too: a memory error and no leak.
TEST(test_without_memory) {
    SrText text = SR_TEXT_INIT;
    sr_text_add(&text, "[0");
    for (int i = 0; i < 60; i++)
        sr_text_printf(&text, ", {\"key\": [\"s%d\", %d.5]}", i, i);
    sr_text_printf(&text, ", {\"%0200d\": \"%02000d\"}]", 1, 2); // they outgrow the lexer's buffers
    int64_t live = sr_mem_live();
    int failures = 0;
    for (int n = 1;; n++) {
        SrArena scratch = SR_ARENA_INIT;
        SrYaml *node;
        sr_mem_fail_at(n);
        SrStatus status = sr_json_parse(&scratch, text.s, text.len, "t.json", &node);
        sr_mem_fail_at(0);
        sr_arena_deinit(&scratch);
        CHECK_INT(sr_mem_live(), live);
        if (status == SR_OK)
            break;
        CHECK_INT(status, SR_ERR_MEMORY);
        failures++;
    }
    CHECK(failures > 4); // arenas take memory in large blocks
    sr_text_deinit(&text);
}

// Appends key and value of each member of an object to the text `arg`.
static SrStatus note_member(void *arg, const char *key, const SrYaml *value) {
    SrText *out = arg;
    sr_text_printf(out, "%s=", key);
    sr_json_print(value, out);
    sr_text_add(out, ";");
    return SR_OK;
}

TEST(test_members) {
    static const struct {
        const char *text, *out; // out: NULL where the text is refused
    } cases[] = {
        {"{}", ""},
        {" { \"a\" : 1 , \"b\":[1,{\"c\":2}]\n} ", "a=1;b=[1, {\"c\": 2}];"},
        {"{\"a\":1,\"a\":2}", "a=1;a=2;"}, // a duplicate key is left to the reader
        {"{\"x,}\\\"\":\"{[\"}", "x,}\"=\"{[\";"},
        {"{\"a\":1,}", NULL},
        {"{,\"a\":1}", NULL},
        {"{\"a\":1}}", NULL},
        {"{\"a\":1} {}", NULL},
        {"{\"a\"}", NULL},
        {"{\"a\":1]", NULL},
        {"[1]", NULL},
        {"", NULL},
        {"{", NULL},
        {"{\"a\":\"123456789\"}", NULL}, // over the limit of 12 bytes
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        SrText out = SR_TEXT_INIT;
        size_t room = cases[i].out ? 1000 : 12;
        SrStatus status = sr_json_members(cases[i].text, strlen(cases[i].text), "t.json", room,
                                          note_member, &out);
        CHECK_INT(status, cases[i].out ? SR_OK : SR_ERR_CONFIG);
        if (cases[i].out)
            CHECK_STR(out.s ? out.s : "", cases[i].out);
        else
            CHECK(strstr(sr_status_message(), "t.json"));
        sr_text_deinit(&out);
    }
}

#define in_arena(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(json, in_arena(test_types), in_arena(test_numbers), in_arena(test_errors),
         in_arena(test_truncated), in_arena(test_bounds), in_arena(test_records),
         in_arena(test_controls), in_arena(test_trees_print_and_read_back),
         in_arena(test_without_memory), in_arena(test_members))
