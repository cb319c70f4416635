// PatchCore's bank: projection, choice, and the search for the nearest patch.
#include "measure/patches/patch_bank.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kernels/core/gemm.h"
#include "measure/clusters/k_centre.h"
#include "measure/neighbours/knn.h"

enum { BLOCK = 4096 }; // rows of a product

static void fill_projection(int d, int dims, uint64_t seed, float *matrix) {
    double density = 1 / sqrt((double)d), value = sqrt(1 / (density * (double)dims));
    for (int i = 0; i < dims; i++) {
        SrRng rng = sr_rng(seed, SR_RNG_PATCHES, 0, (uint64_t)i, 0, 0);
        for (int j = 0; j < d; j++) {
            double u = sr_rng_uniform(&rng);
            matrix[(int64_t)i * d + j] = u < density / 2 ? (float)-value
                                         : u < density   ? (float)value
                                                         : 0;
        }
    }
}

SrStatus sr_patch_project(const SrMatrix *rows, int dims, uint64_t seed, SrMatrix *out) {
    int d = rows->d;
    SR_ASSERT(dims > 0 && out->n == rows->n && out->d == dims);
    float *matrix = sr_alloc((size_t)dims * (size_t)d * sizeof *matrix); // (dims, d)
    SR_TRY_MEMORY(matrix, "a projection to %d numbers", dims);
    fill_projection(d, dims, seed, matrix);
    for (int64_t first = 0; first < rows->n; first += BLOCK)
        sr_gemm(false, true, (int)SR_MIN(rows->n - first, BLOCK), dims, d, 1.0f,
                rows->x + first * d, d, matrix, d, 0.0f, out->x + first * dims, dims);
    sr_free(matrix);
    return SR_OK;
}

// Copies the chosen patches and appends minus half of each squared length.
static SrStatus copy_bank(const SrMatrix *patches, const int64_t *chosen, int64_t keep,
                          SrMatrix *bank) {
    int d = patches->d;
    SR_TRY(sr_matrix_init(bank, keep, d + 1));
    for (int64_t i = 0; i < keep; i++) {
        float *to = bank->x + i * (d + 1); // (d + 1)
        SR_ASSERT(chosen[i] >= 0 && chosen[i] < patches->n);
        double square = 0;
        memcpy(to, patches->x + chosen[i] * d, (size_t)d * sizeof *to);
        for (int j = 0; j < d; j++)
            square += (double)to[j] * (double)to[j];
        to[d] = (float)(-square / 2);
    }
    return SR_OK;
}

SrStatus sr_patch_bank(const SrMatrix *patches, int64_t keep, int dims, uint64_t seed,
                       SrMatrix *bank) {
    SrMatrix small = {0};
    SrKCentreOptions o = {.first = -1};
    SrStatus status = SR_OK;
    int64_t *chosen = sr_alloc((size_t)keep * sizeof *chosen);
    *bank = (SrMatrix){0};
    if (!chosen)
        status = sr_out_of_memory("a bank of %lld patches", (long long)keep);
    if (status == SR_OK && dims > 0)
        status = sr_matrix_init(&small, patches->n, dims);
    if (status == SR_OK && dims > 0)
        status = sr_patch_project(patches, dims, seed, &small);
    const SrRowView rows = sr_row_view(dims > 0 ? &small : patches);
    if (status == SR_OK)
        status = sr_k_centre(&o, &rows, keep, chosen, NULL);
    if (status == SR_OK)
        status = copy_bank(patches, chosen, keep, bank);
    sr_matrix_deinit(&small);
    sr_free(chosen);
    return status;
}

// ---- scores -------------------------------------------------------------------------------------

static double distance_between(const float *a, const float *b, int d) {
    double sum = 0;
    for (int j = 0; j < d; j++) {
        double difference = (double)a[j] - (double)b[j];
        sum += difference * difference;
    }
    return sqrt(sum);
}

// Returns the weight of equation 7 for the patch with the largest score.  near: (k) neighbours of
// the bank's patch, itself among them.  The largest distance is subtracted in every exponent.
static double weight_of(const SrRowView *bank, const float *patch, double largest,
                        const int64_t *near, int k) {
    int d = bank->d - 1;
    double distance[SR_PATCH_NEIGHBOURS], top = largest, sum = 0;
    for (int i = 0; i < k; i++) {
        distance[i] = distance_between(patch, bank->x + near[i] * bank->d, d);
        top = fmax(top, distance[i]);
    }
    for (int i = 0; i < k; i++)
        sum += exp(distance[i] - top);
    return 1 - exp(largest - top) / sum;
}

typedef struct {
    SrRowView bank;    // the caller's rows, all of which count
    float *query;      // (n, d + 1) patches with a 1 at the end
    float *similarity; // (n)
    int64_t *row;      // (n) nearest patch of the bank
} Search;

static SrStatus search_init(Search *s, const SrMatrix *bank, const float *patches, int64_t n) {
    size_t d = (size_t)bank->d - 1;
    s->bank = (SrRowView){.n = bank->n, .d = bank->d, .x = bank->x};
    s->query = sr_alloc((size_t)n * (d + 1) * sizeof *s->query);
    s->similarity = sr_alloc((size_t)SR_MAX(n, SR_PATCH_NEIGHBOURS) * sizeof *s->similarity);
    s->row = sr_alloc((size_t)n * sizeof *s->row);
    SR_TRY_MEMORY(s->query && s->similarity && s->row, "the scores of %lld patches", (long long)n);
    for (size_t i = 0; i < (size_t)n; i++) {
        memcpy(s->query + i * (d + 1), patches + i * d, d * sizeof *patches);
        s->query[i * (d + 1) + d] = 1;
    }
    return SR_OK;
}

static SrStatus weigh(Search *s, const float *patch, double largest, int64_t nearest,
                      double *image) {
    int k = (int)SR_MIN(s->bank.n, (int64_t)SR_PATCH_NEIGHBOURS), d = s->bank.d - 1;
    int64_t near[SR_PATCH_NEIGHBOURS];
    memcpy(s->query, s->bank.x + nearest * s->bank.d, (size_t)d * sizeof *s->query);
    s->query[d] = 1;
    SR_TRY(sr_knn_nearest(&s->bank, s->query, 1, k, near, s->similarity));
    *image = k < 2 ? largest : largest * weight_of(&s->bank, patch, largest, near, k);
    return SR_OK;
}

SrStatus sr_patch_scores(const SrMatrix *bank, const float *patches, int64_t n, float *score,
                         double *image) {
    Search s = {.query = NULL};
    SrStatus status;
    int d = bank->d - 1;
    int64_t worst = 0;
    SR_TRY_GOTO(search_init(&s, bank, patches, n));
    SR_TRY_GOTO(sr_knn_nearest(&s.bank, s.query, n, 1, s.row, s.similarity));
    for (int64_t i = 0; i < n; i++) {
        const float *near = bank->x + SR_MAX(s.row[i], 0) * bank->d; // (d)
        score[i] = s.row[i] < 0 ? NAN : (float)distance_between(patches + i * d, near, d);
        worst = score[i] > score[worst] || isnan(score[i]) ? i : worst;
    }
    if (isnan(score[worst])) {
        *image = (double)NAN;
        goto done;
    }
    SR_TRY_GOTO(weigh(&s, patches + worst * d, (double)score[worst], s.row[worst], image));
done:
    sr_free(s.query);
    sr_free(s.similarity);
    sr_free(s.row);
    return status;
}
