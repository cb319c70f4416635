// Fits a linear layer to drawn pixels of frozen maps, by AdamW.
#include "measure/probes/pixel_probe.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/core/gemm.h"
#include "measure/patches/patch_maps.h"

enum { TRIES = 64, CHANNELS = 16 }; // draws of a pixel until it has a class; channels of a block
#define NORM_EPSILON 1e-5           // torch's batch norm
#define BETA1 0.9                   // torch's Adam
#define BETA2 0.999
#define ADAM_EPSILON 1e-8

typedef struct {
    const SrPixelProbeOptions *o;
    const SrProbeImage *image; // (n)
    int64_t n;
    int step;
    double *mean, *scale; // (d) x is (map - mean) * scale
    float *x;             // (pixels, d + 1) rows of a step, the last number 1
    uint8_t *label;       // (pixels)
    float *score, *dw;    // (pixels, classes), (classes, d + 1)
    float *w;             // (classes, d + 1)
    double *m, *v;        // (classes, d + 1) Adam's moments
} Fit;

static SrStatus out_of_memory(void) { return sr_out_of_memory("a probe"); }

// ---- batch norm ---------------------------------------------------------------------------------

// Adds the values of a block of channels, or with `mean` their squared distances to it, over all
// maps.  sum: (n) at 0.
static void add_channels(const Fit *f, int first, int n, const double *mean, double *sum) {
    int64_t positions = (int64_t)f->o->h * f->o->w;
    for (int64_t i = 0; i < f->n; i++)
        for (int64_t p = 0; p < positions; p++) {
            const float *x = f->image[i].map + p * f->o->d + first;
            for (int j = 0; j < n; j++) {
                double off = (double)x[j] - (mean ? mean[j] : 0);
                sum[j] += mean ? off * off : off;
            }
        }
}

// Measures a block of channels.
static void measure_channels(void *arg, int64_t block, int thread) {
    (void)thread;
    Fit *f = arg;
    int first = (int)block * CHANNELS, n = SR_MIN(f->o->d - first, CHANNELS);
    double count = (double)f->o->h * f->o->w * (double)f->n;
    double sum[CHANNELS] = {0}, square[CHANNELS] = {0};
    add_channels(f, first, n, NULL, sum);
    for (int j = 0; j < n; j++)
        f->mean[first + j] = sum[j] / count;
    add_channels(f, first, n, f->mean + first, square);
    for (int j = 0; j < n; j++)
        f->scale[first + j] = 1 / sqrt(square[j] / count + NORM_EPSILON);
}

// ---- pixels of a step ---------------------------------------------------------------------------

// Draws the pixel of row r and interpolates its features.
static void draw_row(void *arg, int64_t r, int thread) {
    (void)thread;
    Fit *f = arg;
    const SrPixelProbeOptions *o = f->o;
    SrRng rng = sr_rng(o->seed, SR_RNG_PATCHES, (uint64_t)f->step, (uint64_t)r, 1, 0);
    const SrProbeImage *image = &f->image[sr_rng_below(&rng, (uint32_t)f->n)];
    float *x = f->x + r * (o->d + 1);
    int at = 0;
    f->label[r] = SR_CONFUSION_IGNORED;
    for (int i = 0; i < TRIES && f->label[r] == SR_CONFUSION_IGNORED; i++) {
        at = (int)sr_rng_below(&rng, (uint32_t)(image->H * image->W));
        f->label[r] = image->label[at];
    }
    SrPatchPlace v = sr_patch_place(at / image->W, o->h, image->H);
    SrPatchPlace u = sr_patch_place(at % image->W, o->w, image->W);
    const float *a = image->map + ((int64_t)v.low * o->w + u.low) * o->d;
    const float *b = image->map + ((int64_t)v.low * o->w + u.high) * o->d;
    const float *c = image->map + ((int64_t)v.high * o->w + u.low) * o->d;
    const float *e = image->map + ((int64_t)v.high * o->w + u.high) * o->d;
    for (int j = 0; j < o->d; j++) {
        float top = a[j] + (b[j] - a[j]) * u.part, low = c[j] + (e[j] - c[j]) * u.part;
        x[j] = (float)(((double)(top + (low - top) * v.part) - f->mean[j]) * f->scale[j]);
    }
    x[o->d] = 1;
}

// ---- gradient -----------------------------------------------------------------------------------

// Turns scores into the gradient of their mean cross entropy and returns the loss of the row.
static double softmax_row(float *score, int classes, int label, double share) {
    double most = (double)score[0], sum = 0;
    for (int k = 1; k < classes; k++)
        most = fmax(most, (double)score[k]);
    for (int k = 0; k < classes; k++)
        sum += exp((double)score[k] - most);
    double loss = log(sum) + most - (double)score[label];
    for (int k = 0; k < classes; k++)
        score[k] = (float)((exp((double)score[k] - most) / sum - (k == label)) * share);
    return loss * share;
}

double sr__pixel_probe_gradient(const float *x, const uint8_t *label, int n, int width, int classes,
                                const float *w, float *score, float *dw) {
    double loss = 0;
    int counted = 0;
    for (int i = 0; i < n; i++)
        counted += label[i] != SR_CONFUSION_IGNORED;
    sr_gemm(false, true, n, classes, width, 1, x, width, w, width, 0, score, classes);
    for (int i = 0; i < n; i++) {
        float *row = score + (int64_t)i * classes;
        if (label[i] == SR_CONFUSION_IGNORED)
            memset(row, 0, (size_t)classes * sizeof *row);
        else
            loss += softmax_row(row, classes, label[i], 1.0 / counted);
    }
    sr_gemm(true, false, classes, width, n, 1, score, classes, x, width, 0, dw, width);
    return loss;
}

// ---- AdamW --------------------------------------------------------------------------------------

static void update(Fit *f) {
    const SrPixelProbeOptions *o = f->o;
    int width = o->d + 1, t = f->step + 1;
    double rate = o->rate * 0.5 * (1 + cos(M_PI * f->step / o->steps));
    double unbias1 = 1 - pow(BETA1, t), unbias2 = 1 - pow(BETA2, t);
    for (int64_t i = 0; i < (int64_t)o->classes * width; i++) {
        double g = (double)f->dw[i], keep = i % width < o->d ? 1 - rate * o->decay : 1;
        f->m[i] += (g - f->m[i]) * (1 - BETA1);
        f->v[i] += (g * g - f->v[i]) * (1 - BETA2);
        double move = f->m[i] / unbias1 / (sqrt(f->v[i] / unbias2) + ADAM_EPSILON);
        f->w[i] = (float)((double)f->w[i] * keep - rate * move);
    }
}

// ---- fit ----------------------------------------------------------------------------------------

static SrStatus check(const SrPixelProbeOptions *o, const SrProbeImage *images, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        bool any = false;
        for (int64_t p = 0; p < (int64_t)images[i].H * images[i].W && !any; p++)
            any = images[i].label[p] != SR_CONFUSION_IGNORED;
        if (!any)
            SR_FAIL(SR_ERR_CONFIG, "no pixel of training image %lld has a class", (long long)i);
    }
    if (n < 1 || o->classes < 2 || o->classes > SR_CONFUSION_CLASSES || o->steps < 1)
        SR_FAIL(SR_ERR_CONFIG, "a probe needs images, steps, and 2 to %d classes",
                SR_CONFUSION_CLASSES);
    return SR_OK;
}

static SrStatus fit_init(Fit *f) {
    size_t d = (size_t)f->o->d, pixels = (size_t)f->o->pixels, classes = (size_t)f->o->classes;
    f->mean = sr_alloc(d * sizeof(double));
    f->scale = sr_alloc(d * sizeof(double));
    f->x = sr_alloc(pixels * (d + 1) * sizeof(float));
    f->label = sr_alloc(pixels);
    f->score = sr_alloc(pixels * classes * sizeof(float));
    f->dw = sr_alloc(classes * (d + 1) * sizeof(float));
    f->w = sr_calloc(classes * (d + 1), sizeof(float));
    f->m = sr_calloc(classes * (d + 1), sizeof(double));
    f->v = sr_calloc(classes * (d + 1), sizeof(double));
    bool all = f->mean && f->scale && f->x && f->label && f->score && f->dw && f->w && f->m && f->v;
    return all ? SR_OK : out_of_memory();
}

// Weights of standardised maps become weights of maps as they are.
static void merge_norm(Fit *f) {
    int d = f->o->d;
    for (int k = 0; k < f->o->classes; k++) {
        float *w = f->w + (int64_t)k * (d + 1);
        double bias = (double)w[d];
        for (int j = 0; j < d; j++) {
            double weight = (double)w[j] * f->scale[j];
            bias -= weight * f->mean[j];
            w[j] = (float)weight;
        }
        w[d] = (float)bias;
    }
}

static void train(Fit *f, SrPixelProbe *out) {
    const SrPixelProbeOptions *o = f->o;
    int last = SR_MAX(o->steps / 10, 1);
    sr_parallel_for((o->d + CHANNELS - 1) / CHANNELS, measure_channels, f);
    for (f->step = 0; f->step < o->steps; f->step++) {
        sr_parallel_for(o->pixels, draw_row, f);
        double loss = sr__pixel_probe_gradient(f->x, f->label, o->pixels, o->d + 1, o->classes,
                                               f->w, f->score, f->dw);
        out->loss += f->step >= o->steps - last ? loss / last : 0;
        update(f);
    }
    merge_norm(f);
}

SrStatus sr_pixel_probe_fit(const SrPixelProbeOptions *options, const SrProbeImage *images,
                            int64_t n, SrPixelProbe *out) {
    Fit f = {.o = options, .image = images, .n = n};
    *out = (SrPixelProbe){.classes = options->classes, .d = options->d};
    SR_TRY(check(options, images, n));
    SrStatus status = fit_init(&f);
    if (status == SR_OK) {
        train(&f, out);
        out->w = f.w;
        f.w = NULL;
    }
    sr_free(f.mean);
    sr_free(f.scale);
    sr_free(f.x);
    sr_free(f.label);
    sr_free(f.score);
    sr_free(f.dw);
    sr_free(f.w);
    sr_free(f.m);
    sr_free(f.v);
    return status;
}

void sr_pixel_probe_deinit(SrPixelProbe *probe) {
    sr_free(probe->w);
    *probe = (SrPixelProbe){.classes = 0};
}

void sr_pixel_probe_scores(const SrPixelProbe *p, const float *map, int positions, float *scores) {
    sr_gemm(false, true, positions, p->classes, p->d, 1, map, p->d, p->w, p->d + 1, 0, scores,
            p->classes);
    for (int64_t i = 0; i < (int64_t)positions * p->classes; i++)
        scores[i] += p->w[(i % p->classes) * (p->d + 1) + p->d];
}
