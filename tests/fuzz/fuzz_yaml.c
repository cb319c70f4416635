// Fuzz target of libFuzzer: arbitrary bytes as YAML are refused with a message or become a tree
// that prints back equal. An option table refuses the tree or turns it into values that print
// back equal.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plugin/option.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"

typedef struct {
    bool flag;
    int count, mode;
    int64_t large;
    double number;
    const char *name;
    SrInts ints;
    SrDoubles floats;
    SrStrings strings;
    const SrYaml *tree;
    int length;
} Params;

// Option names have one letter, so that the fuzzer finds them all soon.
#define AT(field) offsetof(Params, field)
static const SrOption table[] = {
    {"a", SR_OPT_BOOL, AT(flag), "true"},
    {"b", SR_OPT_INT, AT(count), "3", 1, 100, .help = NULL},
    {"c", SR_OPT_INT64, AT(large), "-1"},
    {"d", SR_OPT_FLOAT, AT(number), "0.05"},
    {"e", SR_OPT_STRING, AT(name), "\"\""},
    {"f", SR_OPT_ENUM, AT(mode), "y", .choices = "x|y", .help = NULL},
    {"g", SR_OPT_INTS, AT(ints), "[0, 1]", 0, 9, .help = NULL},
    {"h", SR_OPT_FLOATS, AT(floats), "[]"},
    {"i", SR_OPT_STRINGS, AT(strings), "[a]"},
    {"j", SR_OPT_TREE, AT(tree), "{}"},
    {"k", SR_OPT_IGNORED, 0, "0"},
    {"l.m", SR_OPT_INT, AT(length), "0"},
    SR_OPTION_END,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool condition, const char *what, const SrText *text) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\nprinted: %s\n", what, sr_status_message(), text->s ? text->s : "");
    abort();
}

static void check_prints_back(SrArena *arena, const SrYaml *tree, bool flow) {
    SrText text = SR_TEXT_INIT;
    SrYaml *back;
    (flow ? sr_yaml_print_flow : sr_yaml_print)(tree, &text);
    if (text.len <= 1 << 20) { // printed escapes can exceed the limit of the reader
        require(sr_yaml_parse(arena, text.s, text.len, "printed", &back) == SR_OK, "unreadable",
                &text);
        require(sr_yaml_equal(tree, back), "not equal", &text);
    }
    sr_text_deinit(&text);
}

static void check_options(SrArena *arena, const SrYaml *tree) {
    Params a = {0}, b = {0};
    SrYaml *map = NULL, *again = NULL;
    SrText text = SR_TEXT_INIT;
    if (sr_options_parse(table, tree, "here", arena, &a) != SR_OK) {
        require(*sr_status_message() && !strchr(sr_status_message(), '\n'), "not one line", &text);
        return;
    }
    require(sr_options_print(table, &a, arena, &map) == SR_OK, "options do not print", &text);
    require(sr_options_parse(table, map, "here", arena, &b) == SR_OK, "options do not read", &text);
    require(sr_options_print(table, &b, arena, &again) == SR_OK, "options do not print", &text);
    require(sr_yaml_equal(map, again), "options differ", &text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree, *copy;
    if (sr_yaml_parse(&arena, (const char *)data, bytes, "fuzz", &tree) == SR_OK) {
        check_prints_back(&arena, tree, false);
        check_prints_back(&arena, tree, true);
        check_options(&arena, tree);
        copy = sr_yaml_copy(&arena, tree);
        require(copy && sr_yaml_equal(tree, copy), "a copy differs", &(SrText)SR_TEXT_INIT);
    }
    sr_arena_deinit(&arena);
    return 0;
}
