// Tests the verdict on a run, from the reports in its metrics.json and on its page: a bad result
// never gets a green line.
#include <stdio.h>

#include "pages/html.h"
#include "pages/runs/run_curves.h"
#include "pages/runs/run_report.h"
#include "pages/runs/run_verdict.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/temp_dir.h"

#define EPOCH "{\"iteration\": 9, \"train_phase_idx\": 0, \"train_loss\": 1.5}\n"
#define KNN(trained, untrained, pixels, majority)                           \
    "{\"labels\": true, \"test_images\": 372, \"layer\": \"flatten\", "     \
    "\"trained_top1_k20\": " trained ", \"untrained_top1_k20\": " untrained \
    ", \"pixels_top1_k20\": " pixels ", \"majority_top1_k20\": " majority "}\n"
// Reports two layers, of which res3 is the best; for the untrained trunk res2 is.
#define LAYERS(probe, untrained, pixels)                                                   \
    "{\"layer_test_images\": 5000, \"best_layer\": \"res3\", \"trained_res2_probe\": 10, " \
    "\"trained_res3_probe\": " probe ", \"untrained_res2_probe\": " untrained              \
    ", \"untrained_res2_probe_norms\": \"as drawn\", \"untrained_res3_probe\": 12, "       \
    "\"trained_res3_knn\": 41, \"untrained_res3_knn\": 30, \"pixels_knn\": 33, "           \
    "\"pixels_probe\": " pixels ", \"majority\": 10.5}\n"
// Reports the comparison of a run with the weights that it began from.
#define CHANGE(verdict)                                                                   \
    "{\"before_after\": true, \"verdict\": \"" verdict "\", \"sentence\": \"so it is\", " \
    "\"first_probe\": 50, \"second_probe\": 60}\n"

typedef struct {
    const char *lines;
    SrVerdict verdict;
    const char *text;
} Case;

static const Case cases[] = {
    {EPOCH, SR_VERDICT_NONE, NULL},
    {EPOCH "{\"labels\": false}\n", SR_VERDICT_NONE, NULL},
    // The trained trunk is below every baseline.
    {EPOCH KNN("17.7", "22.6", "40.3", "19.6"), SR_VERDICT_NOTHING,
     "From layer flatten, kNN finds the class of 17.7 % of 372 test images; the untrained trunk "
     "reaches 22.6 %, raw pixels 40.3 %, the commonest class 19.6 %. Differences up to 4.0 points "
     "are chance."},
    // The trained trunk is above the baselines by less than two standard errors.
    {EPOCH KNN("26", "22.6", "10", "10"), SR_VERDICT_NOTHING, "nothing that the test images show"},
    {EPOCH KNN("40", "22.6", "40.3", "19.6"), SR_VERDICT_PIXELS, "no more than raw pixels"},
    {EPOCH KNN("40", "22.6", "20.3", "39.6"), SR_VERDICT_PIXELS, "or the commonest class"},
    {EPOCH KNN("60", "22.6", "40.3", "19.6"), SR_VERDICT_HELPED, "neither random weights"},
    // Where everything is right without training, the training is not to blame.
    {EPOCH KNN("100", "100", "90", "10"), SR_VERDICT_EASY, "too easy to judge the training"},
    {EPOCH KNN("100", "80", "99.7", "10"), SR_VERDICT_EASY, "harder images"},
    {EPOCH KNN("90", "100", "90", "10"), SR_VERDICT_NOTHING, "did not help"},
    {EPOCH LAYERS("100", "50", "100"), SR_VERDICT_EASY, "finer classes"},
    // If layers are reported, they decide.
    {EPOCH KNN("17.7", "22.6", "40.3", "19.6") LAYERS("60.5", "50.25", "40"), SR_VERDICT_HELPED,
     "From layer res3, a linear probe finds the class of 60.5 % of 5000 test images; the untrained "
     "trunk reaches 50.2 %, raw pixels 40.0 %, the commonest class 10.5 %."},
    {EPOCH KNN("60", "22.6", "40.3", "19.6") LAYERS("50.5", "50.25", "40"), SR_VERDICT_NOTHING,
     "train longer or change the recipe"},
    // A run that began from weights: a good trunk is no merit of the training.
    {EPOCH LAYERS("60.5", "50.25", "40") CHANGE("no difference"), SR_VERDICT_STARTED,
     "The run began from weights"},
    {EPOCH LAYERS("50.5", "50.25", "40") CHANGE("better"), SR_VERDICT_NOTHING, "did not help"},
    {EPOCH LAYERS("60.5", "50.25", "60"), SR_VERDICT_PIXELS, "train longer or on more images"},
};

TEST(test_verdicts) {
    char dir[64];
    temp_dir_make(dir);
    for (int i = 0; i < SR_COUNT(cases); i++) {
        const Case *c = &cases[i];
        SrHistory history;
        SrText text = SR_TEXT_INIT, page = SR_TEXT_INIT;
        fixture_write(dir, "metrics.json", c->lines, strlen(c->lines));
        CHECK_OK(sr_history_read(dir, &history));
        SrVerdict verdict = sr_run_verdict(&history, &text);
        if (verdict != c->verdict || (c->text && !strstr(text.s, c->text)))
            fail_msg("case %d: verdict %d: %s", i, (int)verdict, text.s ? text.s : "");
        CHECK(c->text || !text.s);
        bool finished;
        CHECK_OK(sr_run_report_live(dir, &page, &finished));
        bool green = strstr(page.s, "No problems detected") != NULL;
        CHECK_INT(green, c->verdict <= SR_VERDICT_HELPED);
        CHECK_INT(strstr(page.s, "<li class=\"bad\">") != NULL, c->verdict > SR_VERDICT_HELPED);
        if (text.s) {
            const char *words = sr_run_verdict_words(verdict);
            CHECK(strncmp(text.s, words, strlen(words)) == 0);
            SrText figures = SR_TEXT_INIT;
            sr_html_escape(text.s + strlen(words), &figures);
            CHECK(strstr(page.s, words) && strstr(page.s, figures.s));
            sr_text_deinit(&figures);
        }
        sr_history_deinit(&history);
        sr_text_deinit(&text);
        sr_text_deinit(&page);
    }
    temp_dir_remove(dir);
}

#define PROBE(iteration, knn)                                                                     \
    "{\"iteration\": " iteration ", \"train_phase_idx\": " iteration ", \"probe_knn_top1\": " knn \
    ", \"probe_linear_top1\": 50}\n"

// The curve of probes stands between the baselines of the layer table, as the bars of the page do.
// A single probe is no curve.
TEST(test_levels) {
    static const char reports[] = KNN("40", "22.6", "40.3", "19.6") LAYERS("60.5", "50.25", "40");
    char dir[64], lines[4096];
    temp_dir_make(dir);
    for (int probes = 1; probes <= 2; probes++) {
        SrHistory h;
        SrText out = SR_TEXT_INIT;
        snprintf(lines, sizeof lines, "%s%s%s", PROBE("1", "30"),
                 probes == 2 ? PROBE("2", "35") : "", reports);
        fixture_write(dir, "metrics.json", lines, strlen(lines));
        CHECK_OK(sr_history_read(dir, &h));
        CHECK(sr_run_probe_curves(&h, &out) == (probes == 2));
        if (probes == 2)
            CHECK(strstr(out.s, "raw pixels, kNN 33") && !strstr(out.s, "40.3"));
        sr_text_deinit(&out);
        sr_history_deinit(&h);
    }
    temp_dir_remove(dir);
}

// The comparison with the starting weights is green only where it found a gain.
TEST(test_change) {
    static const struct {
        const char *lines, *look;
        SrVerdict verdict;
    } changes[] = {
        {EPOCH LAYERS("60.5", "50.25", "40") CHANGE("better"), "verdict ok", SR_VERDICT_HELPED},
        {EPOCH LAYERS("60.5", "50.25", "40") CHANGE("no difference"), NULL, SR_VERDICT_STARTED},
        {EPOCH LAYERS("60.5", "50.25", "40") CHANGE("worse"), "verdict bad", SR_VERDICT_NOTHING},
        {EPOCH CHANGE("narrower"), "verdict bad", SR_VERDICT_NOTHING},
        {EPOCH CHANGE("no labels"), NULL, SR_VERDICT_STARTED},
    };
    char dir[64];
    temp_dir_make(dir);
    for (int i = 0; i < SR_COUNT(changes); i++) {
        SrHistory h;
        SrText text = SR_TEXT_INIT, page = SR_TEXT_INIT;
        bool finished;
        fixture_write(dir, "metrics.json", changes[i].lines, strlen(changes[i].lines));
        CHECK_OK(sr_history_read(dir, &h));
        CHECK_INT(sr_run_change(&h, &text), changes[i].verdict);
        CHECK_STR(text.s, "so it is");
        CHECK_OK(sr_run_report_live(dir, &page, &finished));
        const char *look = changes[i].look;
        CHECK(look ? strstr(page.s, look) != NULL
                   : !strstr(page.s, "verdict ok") && !strstr(page.s, "verdict bad"));
        sr_text_deinit(&text);
        sr_text_deinit(&page);
        sr_history_deinit(&h);
    }
    temp_dir_remove(dir);
}

SR_TESTS(run_verdict, unit(test_levels), unit(test_verdicts), unit(test_change))
