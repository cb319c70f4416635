// Measures features before and after training, and says what they show.
#include "trainer/eval/feature_spread.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "measure/neighbours/nearest_rows.h"
#include "trainer/config/derived_config.h"

typedef struct {
    SrFeatureSpread *out;
    int64_t n, *before; // (n, SR_SPREAD_NEIGHBOURS) neighbours before training; NULL: too few
} Call;

// Counts the neighbours of an image that are in both lists.
static int common(const int64_t *a, const int64_t *b) {
    int n = 0;
    for (int i = 0; i < SR_SPREAD_NEIGHBOURS; i++)
        for (int j = 0; j < SR_SPREAD_NEIGHBOURS; j++)
            n += a[i] >= 0 && a[i] == b[j];
    return n;
}

// Keeps the neighbours of the starting weights, and compares those of the trained ones with them.
static SrStatus count_kept(Call *c, SrReportRow row, SrMatrix *rows) {
    enum { K = SR_SPREAD_NEIGHBOURS };
    if (rows->n <= K || (row == SR_ROW_TRAINED && (!c->before || c->n != rows->n)))
        return SR_OK;
    int64_t same = 0, *found = sr_calloc((size_t)(rows->n * K), sizeof *found);
    float *distance = sr_calloc((size_t)(rows->n * K), sizeof *distance);
    SrStatus status = SR_OK;
    if (!found || !distance)
        status = sr_out_of_memory("the neighbours of %lld images", (long long)rows->n);
    sr_matrix_normalize(rows, 0);
    const SrRowView view = sr_row_view(rows);
    if (status == SR_OK)
        status = sr_nearest_rows(&view, K, found, distance);
    sr_free(distance);
    if (status == SR_OK && row == SR_ROW_STARTED) {
        c->before = found;
        c->n = rows->n;
        return SR_OK;
    }
    for (int64_t i = 0; status == SR_OK && i < rows->n; i++)
        same += common(c->before + i * K, found + i * K);
    if (status == SR_OK)
        c->out->kept = (double)same / (double)(rows->n * K);
    c->out->images = rows->n;
    sr_free(found);
    return status;
}

static SrStatus measure(void *arg, SrReportRow row, SrMatrix *bank, SrMatrix *test) {
    Call *c = arg;
    (void)test;
    SR_TRY(sr_representation_measure(bank->x, 1, (int)bank->n, bank->d, &c->out->row[row]));
    return row >= SR_ROW_STARTED ? count_kept(c, row, bank) : SR_OK;
}

SrStatus sr_feature_spread(const SrConfig *config, SrModel *trained, SrModel *started,
                           SrFeatureSpread *out) {
    SrConfig *limited;
    SrBaselines rows;
    SrStatus status;
    Call call = {.out = out};
    *out = (SrFeatureSpread){.kept = -1};
    SR_TRY(sr_config_copy(config, &limited));
    limited->knn.bank_limit = limited->knn.test_limit = SR_SPREAD_IMAGES;
    SR_TRY_GOTO(sr_baselines_open(&rows, limited, config->knn.layer));
    rows.started = started;
    SR_TRY_GOTO(sr_baselines_each(&rows, trained, true, measure, &call));
done:
    sr_free(call.before);
    sr_baselines_close(&rows);
    sr_config_free(limited);
    return status;
}

bool sr_feature_spread_narrower(const SrFeatureSpread *s) {
    return s->row[SR_ROW_TRAINED].effective_rank < s->row[SR_ROW_STARTED].effective_rank / 2;
}

static void add_row(const char *name, const SrRepresentation *r, SrText *out) {
    sr_text_printf(out, "  %-14s  %14.1f  %10.2f\n", name, r->effective_rank, r->uniformity);
}

static void add_sentence(const SrFeatureSpread *s, SrText *out) {
    double before = s->row[SR_ROW_STARTED].effective_rank;
    double after = s->row[SR_ROW_TRAINED].effective_rank;
    if (sr_feature_spread_narrower(s))
        sr_text_printf(out,
                       "training on these pictures made the features narrower: their effective "
                       "rank fell from %.1f to %.1f; try a lower learning rate, fewer epochs, or "
                       "MODEL.LORA",
                       before, after);
    else
        sr_text_printf(out,
                       "the features did not collapse: their effective rank was %.1f before and is "
                       "%.1f after",
                       before, after);
    if (s->kept >= 0)
        sr_text_printf(out, "; %.0f %% of the %d nearest neighbours stayed", 100 * s->kept,
                       SR_SPREAD_NEIGHBOURS);
    sr_text_add(out, ". Whether they are better needs labels: sslrun compare RUN --data DIR takes "
                     "a folder with one sub-folder per class.");
}

void sr_feature_spread_text(const SrFeatureSpread *s, SrText *out) {
    sr_text_printf(out, "features before and after training, on %lld images without labels\n",
                   (long long)s->images);
    sr_text_printf(out, "  %-14s  %14s  %10s\n", "", "effective rank", "uniformity");
    add_row("before", &s->row[SR_ROW_STARTED], out);
    add_row("after", &s->row[SR_ROW_TRAINED], out);
    add_row("untrained", &s->row[SR_ROW_UNTRAINED], out);
    add_row("raw pixels", &s->row[SR_ROW_PIXELS], out);
    sr_text_add(out, "verdict: ");
    add_sentence(s, out);
    sr_text_add(out, "\n");
}

static void json_row(const char *name, const SrRepresentation *r, SrText *out) {
    char key[64];
    snprintf(key, sizeof key, "%s_effective_rank", name);
    sr_json_float(out, key, r->effective_rank);
    snprintf(key, sizeof key, "%s_uniformity", name);
    sr_json_float(out, key, r->uniformity);
}

void sr_feature_spread_json(const SrFeatureSpread *s, SrText *out) {
    SrText sentence = SR_TEXT_INIT;
    add_sentence(s, &sentence);
    sr_json_begin(out);
    json_row("first", &s->row[SR_ROW_STARTED], out);
    json_row("second", &s->row[SR_ROW_TRAINED], out);
    json_row("untrained", &s->row[SR_ROW_UNTRAINED], out);
    json_row("pixels", &s->row[SR_ROW_PIXELS], out);
    if (s->kept >= 0)
        sr_json_float(out, "neighbours_kept", s->kept);
    sr_json_bool(out, "before_after", true);
    sr_json_string(out, "verdict", sr_feature_spread_narrower(s) ? "narrower" : "no labels");
    sr_json_string(out, "sentence", sentence.s ? sentence.s : "");
    sr_json_end(out);
    sr_text_deinit(&sentence);
}
