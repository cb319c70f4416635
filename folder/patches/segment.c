// Fits directions or clusters to patches, and maps every image by them.
#include "folder/patches/segment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "folder/patches/patch_rows.h"
#include "kernels/core/gemm.h"
#include "measure/clusters/kmeans.h"
#include "measure/pca.h"

enum { COLORS = 3, BINS = 256, ITERATIONS = 100 };
#define LOW_SHARE 0.01 // of the patches lie below the range of a colour, and as many above it

static SrStatus out_of_memory(void) { return sr_out_of_memory("segments of images"); }

static void fill_report(const SrPatchRows *rows, SrSegmentReport *report) {
    *report =
        (SrSegmentReport){.images = rows->images->n, .bad = rows->bad, .patches = rows->rows.n};
}

// ---- directions as colours ----------------------------------------------------------------------

typedef struct {
    SrPatchRows rows;
    bool foreground;
    SrPca split;       // first direction of all patches, with `foreground`
    double threshold;  // of its values
    bool above;        // the foreground lies above the threshold
    SrPca pca;         // colours
    float low[COLORS]; // range of each colour
    float high[COLORS];
    float *map, *side; // (positions, COLORS), (positions) work space
    SrEachMap each;
    void *arg;
} Colors;

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

// Returns the threshold between two groups of values that differ most (Otsu, "A threshold selection
// method from gray-level histograms", 1979).  value: (n), sorted.
static double otsu(const float *value, int64_t n) {
    double low = (double)value[0], step = ((double)value[n - 1] - low) / BINS, count[BINS] = {0};
    double total = 0, below = 0, sum = 0, best = -1, threshold = low;
    if (!(step > 0))
        return low;
    for (int64_t i = 0; i < n; i++) {
        int bin = SR_MIN((int)(((double)value[i] - low) / step), BINS - 1);
        count[bin]++;
        total += bin;
    }
    for (int b = 0; b + 1 < BINS; b++) {
        below += count[b];
        sum += b * count[b];
        double above = (double)n - below;
        if (below == 0 || above == 0)
            continue;
        double apart = sum / below - (total - sum) / above, between = below * above * apart * apart;
        if (between > best) {
            best = between;
            threshold = low + (b + 1) * step;
        }
    }
    return threshold;
}

static bool is_at_border(const SrPatchRows *r, int position) {
    int h = sr_patch_source_rows(r->source), w = sr_patch_source_columns(r->source);
    int y = position / w, x = position % w;
    return y == 0 || x == 0 || y == h - 1 || x == w - 1;
}

// Decides which side of the threshold is the foreground: the one with the smaller share of patches
// at borders.  value: (rows) along the first direction.
static void choose_side(Colors *c, const float *value) {
    double border[2] = {0, 0}, all[2] = {0, 0};
    for (int64_t i = 0; i < c->rows.rows.n; i++) {
        int above = (double)value[i] > c->threshold;
        all[above]++;
        border[above] += is_at_border(&c->rows, c->rows.position[i]);
    }
    c->above = border[1] * all[0] <= border[0] * all[1];
}

static bool is_foreground(const Colors *c, float value) {
    return !c->foreground || ((double)value > c->threshold) == c->above;
}

// Splits the patches by their first direction and copies those of the foreground.
static SrStatus split(Colors *c, SrMatrix *front) {
    int64_t n = c->rows.rows.n, kept = 0;
    float *value = sr_alloc((size_t)n * 2 * sizeof *value);
    int64_t *row = sr_alloc((size_t)n * sizeof *row);
    SrStatus status = value && row ? sr_pca_fit(&c->rows.rows, 1, &c->split) : out_of_memory();
    if (status == SR_OK) {
        float *sorted = value + n;
        sr_pca_project(&c->split, c->rows.rows.x, n, value);
        memcpy(sorted, value, (size_t)n * sizeof *value);
        qsort(sorted, (size_t)n, sizeof *sorted, by_value);
        c->threshold = otsu(sorted, n);
        choose_side(c, value);
        for (int64_t i = 0; i < n; i++)
            if (is_foreground(c, value[i]))
                row[kept++] = i;
        status = kept > 0 ? sr_matrix_take(&c->rows.rows, row, kept, front)
                          : sr_fail(SR_ERR_CONFIG, "all patches are alike, so that there is no "
                                                   "foreground: leave out --foreground");
    }
    sr_free(value);
    sr_free(row);
    return status;
}

// Finds the range of each colour over the fitted patches.
static SrStatus find_ranges(Colors *c, const SrMatrix *fitted) {
    float *value = sr_alloc((size_t)fitted->n * (size_t)(COLORS + 1) * sizeof *value);
    if (!value)
        return out_of_memory();
    float *column = value + fitted->n * COLORS;
    sr_pca_project(&c->pca, fitted->x, fitted->n, value);
    int64_t cut = (int64_t)(LOW_SHARE * (double)fitted->n);
    for (int k = 0; k < c->pca.k; k++) {
        for (int64_t i = 0; i < fitted->n; i++)
            column[i] = value[i * c->pca.k + k];
        qsort(column, (size_t)fitted->n, sizeof *column, by_value);
        c->low[k] = column[cut];
        c->high[k] = column[fitted->n - 1 - cut];
    }
    sr_free(value);
    return SR_OK;
}

static SrStatus fit_colors(Colors *c, SrSegmentReport *report) {
    SrMatrix front = {0};
    const SrMatrix *fitted = &c->rows.rows;
    SrStatus status = c->foreground ? split(c, &front) : SR_OK;
    if (c->foreground)
        fitted = &front;
    if (status == SR_OK)
        status = sr_pca_fit(fitted, COLORS, &c->pca);
    if (status == SR_OK)
        status = find_ranges(c, fitted);
    report->patches = fitted->n;
    report->share = c->pca.share;
    sr_matrix_deinit(&front);
    return status;
}

static SrStatus color_image(void *arg, int64_t image, bool good, const float *patches) {
    Colors *c = arg;
    int64_t n =
        (int64_t)sr_patch_source_rows(c->rows.source) * sr_patch_source_columns(c->rows.source);
    if (!good)
        return c->each(c->arg, image, NULL, COLORS);
    if (c->foreground)
        sr_pca_project(&c->split, patches, n, c->side);
    float *along = c->map + n * COLORS; // (n, k), k at most COLORS
    sr_pca_project(&c->pca, patches, n, along);
    for (int64_t i = 0; i < n * COLORS; i++) {
        int k = (int)(i % COLORS);
        bool shown = k < c->pca.k && is_foreground(c, c->foreground ? c->side[i / COLORS] : 0);
        float range = shown ? fmaxf(c->high[k] - c->low[k], 1e-12f) : 1;
        float at = shown ? (along[i / COLORS * c->pca.k + k] - c->low[k]) / range : 0;
        c->map[i] = fminf(fmaxf(at, 0), 1);
    }
    return c->each(c->arg, image, c->map, COLORS);
}

SrStatus sr_segment_pca(SrPatchSource *source, const SrImageSet *images, bool foreground,
                        SrSegmentReport *report, SrEachMap each, void *arg) {
    Colors c = {.foreground = foreground, .each = each, .arg = arg};
    size_t n = (size_t)sr_patch_source_rows(source) * (size_t)sr_patch_source_columns(source);
    SrStatus status;
    *report = (SrSegmentReport){.images = images->n};
    SR_TRY_GOTO(sr_patch_rows(source, images, false, SR_SEGMENT_MEMORY, &c.rows));
    fill_report(&c.rows, report);
    c.map = sr_alloc(n * 2 * COLORS * sizeof *c.map);
    c.side = sr_alloc(n * sizeof *c.side);
    SR_TRY_GOTO(c.map && c.side ? SR_OK : out_of_memory());
    SR_TRY_GOTO(fit_colors(&c, report));
    SR_TRY_GOTO(sr_patch_rows_each(&c.rows, color_image, &c));
done:
    sr_pca_deinit(&c.split);
    sr_pca_deinit(&c.pca);
    sr_free(c.map);
    sr_free(c.side);
    sr_patch_rows_deinit(&c.rows);
    return status;
}

// ---- clusters -----------------------------------------------------------------------------------

typedef struct {
    SrPatchRows rows;
    SrKmeans kmeans;
    float *map; // (positions, k) work space
    SrEachMap each;
    void *arg;
} Clusters;

typedef struct {
    int cluster;
    int64_t n;
} Size;

static int larger_first(const void *a, const void *b) {
    const Size *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : x->cluster - y->cluster;
}

// Puts the centres in the order of their clusters' sizes.
static SrStatus order_centres(Clusters *c) {
    SrKmeans *km = &c->kmeans;
    Size size[SR_SEGMENT_CLUSTERS];
    size_t floats = (size_t)km->k * (size_t)km->d;
    int64_t *label = sr_alloc((size_t)c->rows.rows.n * sizeof *label);
    float *centre = sr_alloc(floats * sizeof *centre);
    const SrRowView rows = sr_row_view(&c->rows.rows);
    SrStatus status = label && centre ? sr_kmeans_assign(km, &rows, label, NULL) : out_of_memory();
    if (status == SR_OK) {
        for (int k = 0; k < km->k; k++)
            size[k] = (Size){k, 0};
        for (int64_t i = 0; i < c->rows.rows.n; i++)
            size[SR_MAX(label[i], 0)].n++;
        qsort(size, (size_t)km->k, sizeof *size, larger_first);
        memcpy(centre, km->centre, floats * sizeof *centre);
        for (int k = 0; k < km->k; k++)
            memcpy(km->centre + (int64_t)k * km->d, centre + (int64_t)size[k].cluster * km->d,
                   (size_t)km->d * sizeof *centre);
    }
    sr_free(label);
    sr_free(centre);
    return status;
}

static SrStatus cluster_image(void *arg, int64_t image, bool good, const float *patches) {
    Clusters *c = arg;
    const SrKmeans *km = &c->kmeans;
    int n = sr_patch_source_rows(c->rows.source) * sr_patch_source_columns(c->rows.source);
    if (!good)
        return c->each(c->arg, image, NULL, km->k);
    sr_gemm(false, true, n, km->k, km->d, 1, patches, km->d, km->centre, km->d, 0, c->map, km->k);
    return c->each(c->arg, image, c->map, km->k);
}

SrStatus sr_segment_cluster(SrPatchSource *source, const SrImageSet *images, int k, uint64_t seed,
                            SrSegmentReport *report, SrEachMap each, void *arg) {
    Clusters c = {.each = each, .arg = arg};
    const SrKmeansOptions options = {
        .k = k, .iterations = ITERATIONS, .seed = seed, .spherical = true};
    size_t n = (size_t)sr_patch_source_rows(source) * (size_t)sr_patch_source_columns(source);
    SrRowView rows;
    SrStatus status;
    *report = (SrSegmentReport){.images = images->n};
    if (k < 2 || k > SR_SEGMENT_CLUSTERS)
        SR_FAIL(SR_ERR_CONFIG, "%d clusters are not possible; expected 2 to %d", k,
                SR_SEGMENT_CLUSTERS);
    SR_TRY_GOTO(sr_patch_rows(source, images, true, SR_SEGMENT_MEMORY, &c.rows));
    fill_report(&c.rows, report);
    c.map = sr_alloc(n * (size_t)k * sizeof *c.map);
    rows = sr_row_view(&c.rows.rows);
    SR_TRY_GOTO(c.map ? sr_kmeans(&options, &rows, &c.kmeans) : out_of_memory());
    SR_TRY_GOTO(order_centres(&c));
    SR_TRY_GOTO(sr_patch_rows_each(&c.rows, cluster_image, &c));
done:
    sr_kmeans_deinit(&c.kmeans);
    sr_free(c.map);
    sr_patch_rows_deinit(&c.rows);
    return status;
}
