// Tests what a comparison of two models says: the sign of the verdict by two standard errors, its
// sentences, and the keys of its JSON line.
#include <math.h>

#include "tests/check.h"
#include "trainer/eval/model_comparison.h"

static SrModelComparison comparison(double first, double second, bool before_after) {
    SrModelComparison c = {.label = {"before", "after"},
                           .n_train = 400,
                           .n_test = 400,
                           .k = 20,
                           .majority = 25,
                           .before_after = before_after};
    c.model[0] = (SrComparedRow){"res4", {50, 2.5}, {first, 2}, {30, 3}, 60};
    c.model[1] = (SrComparedRow){"res5", {51, 2.5}, {second, 2}, {31, 3}, 60};
    c.untrained = (SrComparedRow){"res3", {40, 2.5}, {45, 2}, {25, 3}, 45};
    c.pixels = (SrComparedRow){"", {35, 2.5}, {40, 2}, {20, 3}, 40};
    return c;
}

static void expect(double first, double second, bool before_after, int sign, const char *sentence) {
    SrModelComparison c = comparison(first, second, before_after);
    SrText text = SR_TEXT_INIT;
    CHECK_INT(sr_model_comparison_sign(&c), sign);
    sr_model_comparison_text(&c, &text);
    if (!strstr(text.s, sentence))
        fail_msg("expected \"%s\" in:\n%s", sentence, text.s);
    sr_text_deinit(&text);
}

// Two standard errors of the difference are 2 sqrt(2^2 + 2^2) = 5.66 points.
TEST(test_verdict) {
    expect(60, 65.7, true, 1,
           "training on these pictures helped: probe +5.7 points (up to 5.7 are chance)");
    expect(60, 65.6, true, 0, "these test images show no effect of the training");
    expect(65.7, 60, true, -1, "training on these pictures made the features worse; try a lower");
    expect(60, 70, false, 1, "the second model's features are better for these pictures");
    expect(70, 60, false, -1, "the first model's features are better for these pictures");
    expect(60, 60, false, 0, "these test images show no difference between the models");
    expect(30, 45, true, 1,
           "helped: probe +15.0 points (up to 5.7 are chance), kNN +1.0, 5-shot +1.0; after "
           "is no better than raw pixels.");
    expect(30, 46, true, 1, "after is no better than an untrained trunk.");
}

TEST(test_table_and_json) {
    SrModelComparison c = comparison(60, 70, true);
    SrText text = SR_TEXT_INIT;
    sr_model_comparison_text(&c, &text);
    CHECK(strstr(text.s, "top-1 on 400 test images against 400"));
    CHECK(strstr(text.s, "before (res4)") && strstr(text.s, "after (res5)"));
    CHECK(strstr(text.s, "untrained (res3)") && strstr(text.s, "  raw pixels  "));
    CHECK(strstr(text.s, "60.00 +- 2.0") && strstr(text.s, "majority class"));
    sr_text_deinit(&text);
    sr_model_comparison_json(&c, &text);
    CHECK(strstr(text.s, "\"verdict\": \"better\"") && strstr(text.s, "\"first_probe\": 60"));
    CHECK(strstr(text.s, "\"second_5shot_error\": 3") && strstr(text.s, "\"pixels_knn\": 35"));
    CHECK(strstr(text.s, "\"second_layer\": \"res5\"") && !strstr(text.s, "pixels_layer"));
    sr_text_deinit(&text);
}

// A class with fewer than five images has no 5-shot figure: a dash, no key, and no part of the
// sentence.
TEST(test_without_few) {
    SrModelComparison c = comparison(60, 70, true);
    SrText text = SR_TEXT_INIT;
    c.model[0].few = c.model[1].few = (SrFigure){NAN, NAN};
    sr_model_comparison_text(&c, &text);
    CHECK(strstr(text.s, "            -\n") && strstr(text.s, ", kNN +1.0."));
    sr_text_deinit(&text);
    sr_model_comparison_json(&c, &text);
    CHECK(!strstr(text.s, "first_5shot") && strstr(text.s, "pixels_5shot"));
    CHECK(strstr(text.s, "\"sentence\": \"training on these pictures helped: probe +10.0"));
    sr_text_deinit(&text);
}

SR_TESTS(model_comparison, unit(test_verdict), unit(test_table_and_json), unit(test_without_few))
