// PaDiM: sums per position, Cholesky factors, Mahalanobis distances.
#include "measure/patches/patch_gauss.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"

static int64_t triangle(int d) { return (int64_t)d * (d + 1) / 2; }

SrStatus sr_patch_gauss_init(int positions, int d, SrPatchGauss *out) {
    *out = (SrPatchGauss){.positions = positions, .d = d};
    out->mean = sr_calloc((size_t)positions * (size_t)d, sizeof *out->mean);
    out->factor = sr_calloc((size_t)positions * (size_t)triangle(d), sizeof *out->factor);
    SR_TRY_MEMORY(out->mean && out->factor, "the Gaussians of %d positions", positions);
    return SR_OK;
}

void sr_patch_gauss_deinit(SrPatchGauss *g) {
    sr_free(g->mean);
    sr_free(g->factor);
    *g = (SrPatchGauss){0};
}

typedef struct {
    SrPatchGauss *g;
    const SrPatchGauss *known;
    const float *patches; // (positions, d)
    float *score;         // (positions)
    double *solved;       // (positions, d) work space
    int8_t *bad;          // (positions) 1: the covariance is not finite
} Job;

static void add_position(void *arg, int64_t p, int thread) {
    (void)thread;
    const Job *job = arg;
    int d = job->g->d;
    const float *x = job->patches + p * d;              // (d)
    double *mean = job->g->mean + p * d;                // (d)
    double *product = job->g->factor + p * triangle(d); // (d (d + 1) / 2)
    for (int i = 0; i < d; i++) {
        mean[i] += (double)x[i];
        for (int j = 0; j <= i; j++)
            *product++ += (double)x[i] * (double)x[j];
    }
}

void sr_patch_gauss_add(SrPatchGauss *gauss, const float *patches) {
    sr_parallel_for(gauss->positions, add_position, &(Job){.g = gauss, .patches = patches});
    gauss->n++;
}

// Replaces sums by the mean and the Cholesky factor of the covariance.
static void finish_position(void *arg, int64_t p, int thread) {
    (void)thread;
    const Job *job = arg;
    int d = job->g->d;
    double n = (double)job->g->n, *mean = job->g->mean + p * d;
    double *l = job->g->factor + p * triangle(d);
    for (int i = 0; i < d; i++)
        mean[i] /= n;
    for (int i = 0; i < d; i++) {
        double *row = l + triangle(i); // (i + 1)
        for (int j = 0; j <= i; j++) {
            const double *other = l + triangle(j); // (j + 1)
            double sum = (row[j] - n * mean[i] * mean[j]) / (n - 1);
            sum += i == j ? SR_PATCH_GAUSS_RIDGE : 0;
            for (int k = 0; k < j; k++)
                sum -= row[k] * other[k];
            row[j] = i == j ? sqrt(sum) : sum / other[j];
        }
        job->bad[p] |= !(row[i] > 0) || !isfinite(row[i]);
    }
}

SrStatus sr_patch_gauss_finish(SrPatchGauss *gauss) {
    if (gauss->n < 2)
        SR_FAIL(SR_ERR_CONFIG, "a Gaussian needs at least 2 images, but there are %lld",
                (long long)gauss->n);
    int8_t *bad = sr_calloc((size_t)gauss->positions, 1), any = 0;
    SR_TRY_MEMORY(bad, "%d positions", gauss->positions);
    sr_parallel_for(gauss->positions, finish_position, &(Job){.g = gauss, .bad = bad});
    for (int p = 0; p < gauss->positions; p++)
        any |= bad[p];
    sr_free(bad);
    if (any)
        SR_FAIL(SR_ERR_CONFIG, "features of the images are not finite, so that they have no "
                               "covariance: check the weights of the model");
    return SR_OK;
}

// Solves L z = x - mean; the distance is the length of z.
static void score_position(void *arg, int64_t p, int thread) {
    (void)thread;
    const Job *job = arg;
    int d = job->known->d;
    const float *x = job->patches + p * d;                  // (d)
    const double *mean = job->known->mean + p * d;          // (d)
    const double *l = job->known->factor + p * triangle(d); // (d (d + 1) / 2)
    double *z = job->solved + p * d, sum = 0;               // (d)
    for (int i = 0; i < d; i++) {
        const double *row = l + triangle(i); // (i + 1)
        z[i] = (double)x[i] - mean[i];
        for (int k = 0; k < i; k++)
            z[i] -= row[k] * z[k];
        z[i] /= row[i];
        sum += z[i] * z[i];
    }
    job->score[p] = (float)sqrt(sum);
}

SrStatus sr_patch_gauss_scores(const SrPatchGauss *g, const float *patches, float *score,
                               double *image) {
    double *solved = sr_alloc((size_t)g->positions * (size_t)g->d * sizeof *solved);
    SR_TRY_MEMORY(solved, "the scores of %d positions", g->positions);
    sr_parallel_for(g->positions, score_position,
                    &(Job){.known = g, .patches = patches, .score = score, .solved = solved});
    sr_free(solved);
    *image = (double)score[0];
    for (int p = 1; p < g->positions; p++)
        *image = fmax(*image, (double)score[p]);
    return SR_OK;
}

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

SrStatus sr_patch_channels(int d, int keep, uint64_t seed, int *channel) {
    uint32_t *order = sr_alloc((size_t)d * sizeof *order);
    SrRng rng = sr_rng(seed, SR_RNG_PATCHES, 1, 0, 0, 0);
    SR_TRY_MEMORY(order, "%d channels", d);
    sr_rng_permutation(&rng, order, (uint32_t)d);
    for (int i = 0; i < keep; i++)
        channel[i] = (int)order[i];
    qsort(channel, (size_t)keep, sizeof *channel, by_value);
    sr_free(order);
    return SR_OK;
}
