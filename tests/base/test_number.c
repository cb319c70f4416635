// Numbers keep their decimal point in a locale with a decimal comma: base/text/number.h and the
// readers and writers on top of it.
#include "base/text/number.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "base/text/yaml_edit.h"
#include "base/text/yaml_scalar.h"
#include "tests/check.h"
#include "tests/comma_locale.h"

TEST(test_parse_and_print) {
    char text[64], *end;
    comma_locale_set();
    snprintf(text, sizeof text, "%.2f", 0.5);
    CHECK_STR(text, "0,50"); // the locale is active
    CHECK(sr_number_parse("0.25 s", &end) == 0.25);
    CHECK_STR(end, " s");
    CHECK(sr_number_parse("0.25", NULL) == 0.25);
    CHECK_INT(sr_number_print(text, sizeof text, "%s %.2f", "x", 0.5), 6);
    CHECK_STR(text, "x 0.50");
    CHECK_INT(sr_number_print(text, 3, "%.3f", 0.125), 5);
    CHECK_STR(text, "0.");
    snprintf(text, sizeof text, "%.1f", 0.5);
    CHECK_STR(text, "0,5"); // the caller's locale is active again
}

// Each reader parses a number with a point, and each writer and message prints one.
TEST(test_readers_and_writers) {
    char buf[SR_TEXT_NUMBER_BYTES];
    SrArena arena = SR_ARENA_INIT;
    SrText text = SR_TEXT_INIT;
    SrYaml *yaml, *json;
    const char *object = "{\"a\": 0.05}";
    comma_locale_set();
    yaml = sr_yaml_scalar(&arena, "0.05", "test", 1);
    CHECK(yaml && yaml->type == SR_YAML_FLOAT && yaml->f == 0.05);
    CHECK_OK(sr_json_parse(&arena, object, strlen(object), "test", &json));
    CHECK(json->items[0]->type == SR_YAML_FLOAT && json->items[0]->f == 0.05);
    CHECK_STR(sr_text_number(0.1, buf), "0.1");
    CHECK_STR(sr_tree_float_text(1e-4, buf, sizeof buf), "0.0001");
    sr_text_printf(&text, "%.3f", 0.125);
    CHECK_STR(text.s, "0.125");
    CHECK_STR(sr_arena_printf(&arena, "%.17g", 0.5), "0.5");
    CHECK_FAILS(sr_fail(SR_ERR_IO, "%g s", 0.5), SR_ERR_IO, "0.5 s");
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
}

TEST(test_bytes) {
    static const char *const wrong[] = {"", "M", "2X", "2GB", "two"};
    CHECK(sr_number_bytes("500000") == 500000 && sr_number_bytes("4K") == 4096);
    CHECK(sr_number_bytes("1.5G") == 1.5 * (1 << 30) && sr_number_bytes("1T") == 0x1p40);
    for (int i = 0; i < SR_COUNT(wrong); i++)
        CHECK(isnan(sr_number_bytes(wrong[i])));
}

SR_TESTS(number, unit(test_bytes), unit(test_parse_and_print), unit(test_readers_and_writers))
