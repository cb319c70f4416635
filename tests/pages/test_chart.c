// Tests charts: what a curve becomes, and which charts are left out.
#include "pages/chart.h"

#include "tests/check.h"

static int count(const SrText *page, const char *word) {
    int n = 0;
    for (const char *at = page->s; at && (at = strstr(at, word)); at++)
        n++;
    return n;
}

static const SrChart accuracy = {"Accuracy", "epoch", " %", .from_zero = true};

// Each number of a curve with dots has one, and says itself; a gap has none.
TEST(test_dots) {
    static const double x[] = {0, 1, 2, 3}, y[] = {10, NAN, 30, 40};
    const SrCurve curves[] = {{"a<b", x, y, 4, .dots = true}, {"plain", x, y, 4, .dots = false}};
    SrText page = SR_TEXT_INIT;
    CHECK(sr_html_chart(&accuracy, curves, 2, &page));
    CHECK_INT(count(&page, "class=\"curve\""), 2);
    CHECK_INT(count(&page, "<circle "), 3);
    CHECK(strstr(page.s, "<title>a&lt;b: 30&nbsp;% at epoch 2</title>"));
    CHECK(!strstr(page.s, "a<b") && !strstr(page.s, "nan"));
    sr_text_deinit(&page);
}

// Dots of 300 points can still be told apart.
TEST(test_many_points) {
    static double x[301], y[301];
    for (int i = 0; i < 301; i++)
        x[i] = i, y[i] = i % 7;
    for (int n = 300; n <= 301; n++) {
        SrText page = SR_TEXT_INIT;
        CHECK(sr_html_chart(&accuracy, &(SrCurve){"loss", x, y, n, .dots = true}, 1, &page));
        CHECK_INT(count(&page, "<circle "), n == 300 ? 300 : 0);
        CHECK_INT(count(&page, "class=\"curve\""), 1);
        sr_text_deinit(&page);
    }
}

TEST(test_no_points) {
    static const double x[] = {0, 1}, y[] = {NAN, NAN};
    SrText page = SR_TEXT_INIT;
    CHECK(!sr_html_chart(&accuracy, &(SrCurve){"gaps", x, y, 2, .dots = true}, 1, &page));
    CHECK(!sr_html_chart(&accuracy, NULL, 0, &page));
    CHECK_INT(page.len, 0);
    sr_text_deinit(&page);
}

// A curve of one point, or of points that differ by less than a tick can, has few ticks.
TEST(test_narrow_range) {
    static const double x[][2] = {{10000, 10000}, {1e17, 1e17 + 16}, {0, 0}}, y[2] = {1, 2};
    for (int k = 0; k < SR_COUNT(x); k++) {
        SrText page = SR_TEXT_INIT;
        CHECK(sr_html_chart(&accuracy, &(SrCurve){"loss", x[k], y, 2, .dots = false}, 1, &page));
        CHECK(count(&page, "text-anchor=\"middle\"") <= 20);
        sr_text_deinit(&page);
    }
}

SR_TESTS(chart, unit(test_dots), unit(test_many_points), unit(test_no_points),
         unit(test_narrow_range))
