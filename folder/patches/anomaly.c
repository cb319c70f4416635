// Fits detectors of defects and scores images.
#include "folder/patches/anomaly.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "measure/patches/patch_bank.h"

enum { LEAST_IMAGES = 5, WORK_BYTES = 64 }; // bytes per patch of a k-centre choice, rounded up

static SrStatus out_of_memory(void) { return sr_out_of_memory("patches of images"); }

void sr_anomaly_deinit(SrAnomaly *a) {
    sr_patch_source_close(a->source);
    sr_matrix_deinit(&a->bank);
    sr_patch_gauss_deinit(&a->gauss);
    sr_free(a->channel);
    *a = (SrAnomaly){.source = NULL};
}

static int positions_of(const SrAnomaly *a) {
    return sr_patch_source_rows(a->source) * sr_patch_source_columns(a->source);
}

static bool is_held_out(int64_t image) {
    return image % SR_ANOMALY_HELD_OUT == SR_ANOMALY_HELD_OUT - 1;
}

// ---- fit ----------------------------------------------------------------------------------------

typedef struct {
    SrAnomaly *a;
    const SrAnomalyOptions *o;
    SrMatrix pool;       // (cap, d) patches so far, PatchCore
    int64_t per_image;   // patches of each image that enter the pool
    uint32_t *order;     // (positions) work space of the draw
    float *chosen, *map; // (positions, gauss.d) work space, PaDiM; (positions)
    double *held;        // (images) scores of the images held out
    int64_t n_held;
} Fit;

static void select_channels(const SrAnomaly *a, const float *patches, float *out) {
    int d = sr_patch_source_dim(a->source), keep = a->gauss.d;
    for (int64_t p = 0; p < a->gauss.positions; p++)
        for (int c = 0; c < keep; c++)
            out[p * keep + c] = patches[p * d + a->channel[c]];
}

// Copies patches of an image to the pool: all of them, or a random draw that depends on the image
// alone.
static void add_to_pool(Fit *f, int64_t image, const float *patches) {
    int d = f->pool.d, positions = positions_of(f->a);
    SrRng rng = sr_rng(f->o->seed, SR_RNG_PATCHES, 2, (uint64_t)image, 0, 0);
    if (f->per_image < positions)
        sr_rng_permutation(&rng, f->order, (uint32_t)positions);
    for (int64_t i = 0; i < f->per_image; i++) {
        int64_t from = f->per_image < positions ? (int64_t)f->order[i] : i;
        memcpy(f->pool.x + f->pool.n++ * d, patches + from * d, (size_t)d * sizeof *patches);
    }
}

static SrStatus fit_image(void *arg, int64_t image, bool good, const float *patches) {
    Fit *f = arg;
    f->a->images += good;
    f->a->bad += !good;
    if (!good || is_held_out(image))
        return SR_OK;
    if (!f->a->padim) {
        add_to_pool(f, image, patches);
        return SR_OK;
    }
    select_channels(f->a, patches, f->chosen);
    sr_patch_gauss_add(&f->a->gauss, f->chosen);
    return SR_OK;
}

// Scores one image by whichever method was fitted.  chosen: (positions, gauss.d) work space.
static SrStatus score_image(const SrAnomaly *a, const float *patches, float *chosen, float *map,
                            double *score) {
    if (!a->padim)
        return sr_patch_scores(&a->bank, patches, positions_of(a), map, score);
    select_channels(a, patches, chosen);
    return sr_patch_gauss_scores(&a->gauss, chosen, map, score);
}

static SrStatus hold_image(void *arg, int64_t image, bool good, const float *patches) {
    Fit *f = arg;
    if (!good || !is_held_out(image))
        return SR_OK;
    return score_image(f->a, patches, f->chosen, f->map, &f->held[f->n_held++]);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Returns the quantile of the held-out scores above which `false_alarms` of them lie.
static double threshold_of(Fit *f) {
    if (f->n_held == 0)
        return INFINITY;
    qsort(f->held, (size_t)f->n_held, sizeof *f->held, by_value);
    double at = (1 - f->o->false_alarms) * (double)(f->n_held - 1);
    int64_t low = (int64_t)at, high = SR_MIN(low + 1, f->n_held - 1);
    return f->held[low] + (at - (double)low) * (f->held[high] - f->held[low]);
}

// Sizes the pool so that patches, their projection and the choice fit into the memory.
static SrStatus pool_init(Fit *f, int64_t images) {
    int d = sr_patch_source_dim(f->a->source), positions = positions_of(f->a);
    size_t bytes = (size_t)(d + SR_ANOMALY_DIMS) * sizeof(float) + WORK_BYTES;
    double bank = (double)f->o->bank * (double)(d + 1) * sizeof(float);
    double room = (double)f->o->memory - bank;
    int64_t most = room > 0 ? (int64_t)(room / (double)bytes) : 0;
    f->per_image = SR_MIN((int64_t)positions, most / images);
    if (f->per_image < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "--memory of %.0f MB has no room for a patch of each of %lld images next to a bank "
                "of %lld: raise it, or lower --bank",
                (double)f->o->memory / 1e6, (long long)images, (long long)f->o->bank);
    SR_TRY(sr_matrix_init(&f->pool, images * f->per_image, d));
    f->pool.n = 0;
    return SR_OK;
}

static SrStatus gauss_init(Fit *f) {
    SrAnomaly *a = f->a;
    int d = sr_patch_source_dim(a->source), keep = SR_MIN(d, SR_ANOMALY_CHANNELS);
    double bytes = (double)positions_of(a) * keep * (keep + 3) / 2 * sizeof(double);
    if (bytes > (double)f->o->memory)
        SR_FAIL(SR_ERR_CONFIG,
                "PaDiM needs %.0f MB for %d positions, but --memory allows %.0f MB: raise it, or "
                "choose coarser --layers",
                bytes / 1e6, positions_of(a), (double)f->o->memory / 1e6);
    SR_TRY(sr_patch_gauss_init(positions_of(a), keep, &a->gauss));
    a->channel = sr_alloc((size_t)keep * sizeof *a->channel);
    return a->channel ? sr_patch_channels(d, keep, f->o->seed, a->channel) : out_of_memory();
}

static SrStatus fit_init(Fit *f, int64_t images) {
    size_t positions = (size_t)positions_of(f->a);
    f->order = sr_alloc(positions * sizeof *f->order);
    f->chosen = sr_alloc(positions * SR_ANOMALY_CHANNELS * sizeof *f->chosen);
    f->map = sr_alloc(positions * sizeof *f->map);
    f->held = sr_alloc((size_t)images * sizeof *f->held);
    if (!f->order || !f->chosen || !f->map || !f->held)
        return out_of_memory();
    return f->a->padim ? gauss_init(f) : pool_init(f, images);
}

static SrStatus make_bank(Fit *f) {
    SrAnomaly *a = f->a;
    a->patches = f->pool.n;
    int64_t keep = SR_MAX((int64_t)(SR_ANOMALY_BANK_SHARE * (double)f->pool.n), (int64_t)1);
    int dims = f->pool.d > SR_ANOMALY_DIMS ? SR_ANOMALY_DIMS : 0;
    return sr_patch_bank(&f->pool, SR_MIN(keep, f->o->bank), dims, f->o->seed, &a->bank);
}

static SrStatus fit_all(Fit *f, const SrImageSet *images) {
    SR_TRY(fit_init(f, images->n));
    SR_TRY(sr_patch_source_each(f->a->source, images, "patches of good images", fit_image, f));
    if (f->a->images < LEAST_IMAGES)
        SR_FAIL(SR_ERR_CONFIG, "%s has %lld images that can be read, at least %d are needed",
                images->path, (long long)f->a->images, LEAST_IMAGES);
    SR_TRY(f->a->padim ? sr_patch_gauss_finish(&f->a->gauss) : make_bank(f));
    SR_TRY(sr_patch_source_each(f->a->source, images, "scores of images held out", hold_image, f));
    f->a->threshold = threshold_of(f);
    return SR_OK;
}

SrStatus sr_anomaly_fit(const SrAnomalyOptions *options, const char *data, SrAnomaly *out) {
    SrImageSet images = {0};
    SrPatchOptions patches = options->patches;
    Fit f = {.a = out, .o = options};
    SrStatus status;
    *out = (SrAnomaly){.padim = options->padim};
    patches.pool = !options->padim;
    SR_TRY_GOTO(sr_patch_source_open(&patches, &out->source));
    SR_TRY_GOTO(sr_image_set_open(data, &images));
    SR_TRY_GOTO(fit_all(&f, &images));
done:
    sr_matrix_deinit(&f.pool);
    sr_free(f.order);
    sr_free(f.chosen);
    sr_free(f.map);
    sr_free(f.held);
    sr_image_set_close(&images);
    return status;
}

// ---- scores -------------------------------------------------------------------------------------

typedef struct {
    SrAnomaly *a;
    SrAnomalyEach each;
    void *arg;
    float *chosen, *map; // work space
} Scoring;

static SrStatus score_one(void *arg, int64_t image, bool good, const float *patches) {
    Scoring *s = arg;
    double score = (double)NAN;
    if (good)
        SR_TRY(score_image(s->a, patches, s->chosen, s->map, &score));
    return s->each(s->arg, image, good, score, s->map);
}

SrStatus sr_anomaly_score(SrAnomaly *a, const SrImageSet *images, SrAnomalyEach each, void *arg) {
    size_t positions = (size_t)positions_of(a);
    Scoring s = {a, each, arg, sr_alloc(positions * SR_ANOMALY_CHANNELS * sizeof(float)),
                 sr_calloc(positions, sizeof(float))};
    SrStatus status = s.chosen && s.map ? sr_patch_source_each(a->source, images,
                                                               "scores of images", score_one, &s)
                                        : out_of_memory();
    sr_free(s.chosen);
    sr_free(s.map);
    return status;
}

typedef struct {
    double score;
    int8_t defective;
} Ranked;

static int by_score(const void *a, const void *b) {
    const Ranked *x = a, *y = b;
    return (x->score > y->score) - (x->score < y->score);
}

SrStatus sr_auroc(const double *score, const int8_t *defective, int64_t n, double *out) {
    Ranked *r = sr_alloc((size_t)n * sizeof *r + 1);
    double above = 0, good = 0, bad = 0;
    *out = -1;
    if (!r)
        return out_of_memory();
    for (int64_t i = 0; i < n; i++)
        r[i] = (Ranked){score[i], defective[i]};
    qsort(r, (size_t)n, sizeof *r, by_score);
    for (int64_t i = 0, end; i < n; i = end) {
        double ties[2] = {0, 0};
        for (end = i; end < n && r[end].score == r[i].score; end++)
            ties[r[end].defective]++;
        above += ties[1] * (good + ties[0] / 2);
        good += ties[0];
        bad += ties[1];
    }
    if (good > 0 && bad > 0)
        *out = above / (good * bad);
    sr_free(r);
    return SR_OK;
}
