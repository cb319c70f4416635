// Runs golden cases tf_rrc_distribution*: quantiles of RandomResizedCrop's boxes against those of
// torchvision.
//
// Both are samples. sslrun's is larger, and the tolerance is four standard errors of a quantile
// of torchvision's.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/pixels/pixel_geometry.h"
#include "tests/golden/images.h"

#define DRAWS 200000

// Quantities measured for each box; TOP and LEFT only if the box could have been elsewhere.
enum { AREA, ASPECT, TOP, LEFT, MEASURES };
static const char *const names[MEASURES] = {"area", "logaspect", "topfrac", "leftfrac"};

typedef struct {
    double *x[MEASURES];
    int n[MEASURES];
} Samples;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Returns NumPy's percentile, linear between neighbours.
static double percentile(const double *sorted, int n, double percent) {
    double at = percent / 100 * (n - 1);
    int i = (int)at;
    return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static void draw(Samples *s, int H, int W, const double scale[2], int number) {
    static const double ratio[2] = {3.0 / 4, 4.0 / 3};
    for (int i = 0; i < DRAWS; i++) {
        SrRng rng = sr_rng(1, SR_RNG_TEST, (uint64_t)number, (uint64_t)i, 0, 0);
        SrBox b = sr_pixel_draw_box(&rng, H, W, scale, ratio);
        s->x[AREA][s->n[AREA]++] = (double)b.h * b.w / ((double)H * W);
        s->x[ASPECT][s->n[ASPECT]++] = log((double)b.w / b.h);
        if (b.h < H)
            s->x[TOP][s->n[TOP]++] = (double)b.top / (H - b.h);
        if (b.w < W)
            s->x[LEFT][s->n[LEFT]++] = (double)b.left / (W - b.w);
    }
}

// The fraction of draws below torchvision's quantile must be the percentage of that quantile. At
// a point mass both sides of it count.
static SrStatus compare(SrGoldenCase *c, const Samples *s, int measure, int number, double theirs) {
    int64_t n, m;
    const float *percent = golden_floats(c, "percent", &n);
    const float *reference = golden_floats(c, golden_numbered(c, names[measure], number), &m);
    if (!percent || !reference || n != m)
        SR_FAIL(SR_ERR_RUN, "%s: no quantiles of %s%d", c->name, names[measure], number);
    const double *x = s->x[measure];
    double range = fmax(1e-9, x[s->n[measure] - 1] - x[0]);
    for (int k = 0; k < n; k++) {
        double p = percent[k] / 100.0, slack = (100 * 4 * sqrt(p * (1 - p) / theirs)) + 0.05;
        double low = percentile(x, s->n[measure], fmax(0, percent[k] - slack));
        double high = percentile(x, s->n[measure], fmin(100, percent[k] + slack));
        double outside = fmax(0, fmax(low - (double)reference[k], (double)reference[k] - high));
        char where[64];
        snprintf(where, sizeof where, "%s%d at %g %%", names[measure], number, (double)percent[k]);
        SR_TRY(golden_number(c, where, 1 + outside / range, 1, 0.01));
    }
    return SR_OK;
}

static SrStatus run_number(SrGoldenCase *c, const SrYaml *value, int number) {
    const SrYaml *w = sr_yaml_find(value, "w"), *h = sr_yaml_find(value, "h"),
                 *scale = sr_yaml_find(value, "scale");
    const SrYaml *n = sr_yaml_find(value, "n");
    if (!w || !h || !scale || scale->n != 2)
        SR_FAIL(SR_ERR_RUN, "%s: case%d lacks w, h or scale", c->name, number);
    Samples s = {0};
    for (int k = 0; k < MEASURES; k++)
        if (!(s.x[k] = sr_arena_alloc(c->arena, sizeof(double) * DRAWS)))
            SR_FAIL(SR_ERR_MEMORY, "out of memory for %d draws", DRAWS);
    draw(&s, (int)h->i, (int)w->i, (double[2]){scale->items[0]->f, scale->items[1]->f}, number);
    for (int k = 0; k < MEASURES; k++) {
        qsort(s.x[k], (size_t)s.n[k], sizeof(double), by_value);
        if (s.n[k])
            SR_TRY(compare(c, &s, k, number, n ? n->f : 20000));
    }
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    for (int i = 0;; i++) {
        const SrYaml *value = sr_yaml_find(c->values, golden_numbered(c, "case", i));
        if (!value)
            return SR_OK;
        SR_TRY(run_number(c, value, i));
    }
}

const SrGolden sr_golden_tf_rrc_distribution = {.prefixes = {"tf_rrc_distribution"}, .run = run};
