// Tests shapes and element types: counts, comparison, text.
#include "base/compiler.h"
#include "base/tensor.h"
#include "tests/check.h"

TEST(test_counts) {
    SrShape image = SR_SHAPE(2, 64, 32, 3);
    CHECK_INT(image.rank, 4);
    CHECK_INT(sr_shape_count(image), 2 * 64 * 32 * 3);
    CHECK_INT(sr_shape_rows(image), 2 * 64 * 32);
    CHECK_INT(sr_shape_last(image), 3);
    CHECK_INT(sr_shape_count(SR_SCALAR), 1);
    CHECK_INT(sr_shape_rows(SR_SCALAR), 1);
    CHECK_INT(sr_shape_last(SR_SCALAR), 1);
    CHECK_INT(sr_shape_rows(SR_SHAPE(5)), 1);
    CHECK_INT(sr_shape_count(SR_SHAPE(4, 0, 3)), 0);
    CHECK_INT(sr_shape_count(SR_SHAPE(1 << 20, 1 << 20)), 1ll << 40);
}

TEST(test_equality_ignores_what_lies_beyond_the_rank) {
    SrShape a = SR_SHAPE(2, 3), b = SR_SHAPE(2, 3);
    b.d[2] = 99;
    CHECK(sr_shape_equal(a, b));
    CHECK(!sr_shape_equal(a, SR_SHAPE(2, 4)));
    CHECK(!sr_shape_equal(a, SR_SHAPE(2, 3, 1)));
    CHECK(sr_shape_equal(SR_SCALAR, SR_SCALAR));
}

TEST(test_text) {
    char buf[SR_SHAPE_TEXT_BYTES], tiny[6];
    CHECK_STR(sr_shape_text(SR_SHAPE(2, 64, 3), buf, sizeof buf), "[2, 64, 3]");
    CHECK_STR(sr_shape_text(SR_SCALAR, buf, sizeof buf), "[]");
    SrShape large = SR_SHAPE(INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN);
    CHECK_INT(strlen(sr_shape_text(large, buf, sizeof buf)), 6 * 11 + 5 * 2 + 2);
    // The text is cut, without a write past the end of the buffer.
    CHECK_STR(sr_shape_text(SR_SHAPE(123, 456), tiny, sizeof tiny), "[123,");
}

TEST(test_dtypes) {
    static const struct {
        SrDtype dtype;
        const char *name;
        size_t bytes;
    } known[] = {{SR_F32, "F32", 4}, {SR_F64, "F64", 8},  {SR_F16, "F16", 2}, {SR_BF16, "BF16", 2},
                 {SR_I8, "I8", 1},   {SR_I16, "I16", 2},  {SR_I32, "I32", 4}, {SR_I64, "I64", 8},
                 {SR_U8, "U8", 1},   {SR_BOOL, "BOOL", 1}};
    for (int i = 0; i < SR_COUNT(known); i++) {
        SrDtype parsed;
        CHECK(sr_dtype_parse(known[i].name, &parsed));
        CHECK_INT(parsed, known[i].dtype);
        CHECK_STR(sr_dtype_name(parsed), known[i].name);
        CHECK_INT(sr_dtype_bytes(parsed), known[i].bytes);
    }
    SrDtype untouched = SR_I8;
    CHECK(!sr_dtype_parse("f32", &untouched));
    CHECK(!sr_dtype_parse("", &untouched));
    CHECK_INT(untouched, SR_I8);
}

TEST(test_nonfinite) {
    const float x[5] = {0, -3, NAN, INFINITY, 1};
    CHECK_INT(sr_floats_nonfinite(x, 2), -1);
    CHECK_INT(sr_floats_nonfinite(x, 5), 2);
    CHECK_INT(sr_floats_nonfinite(x + 3, 2), 0);
    CHECK_INT(sr_floats_nonfinite(x, 0), -1);
}

SR_TESTS(tensor, unit(test_nonfinite), unit(test_counts),
         unit(test_equality_ignores_what_lies_beyond_the_rank), unit(test_text), unit(test_dtypes))
