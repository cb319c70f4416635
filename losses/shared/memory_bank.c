// Memory bank: its entry, draws of negatives, nodes that compare and move rows, and writing.
#include "losses/shared/memory_bank.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "kernels/core/rows.h"
#include "kernels/memory/memory_scores.h"

SrStatus sr_memory_bank_build(SrLossContext *ctx, int D, SrMemoryBank *out) {
    SrBuilder *b = ctx->builder;
    *out = (SrMemoryBank){.N = ctx->n_samples, .D = D};
    if (ctx->n_samples < 1 || ctx->n_samples > INT32_MAX)
        return sr_builder_fail(
            b, SR_ERR_CONFIG,
            "%s keeps a row for each image, and there are %lld images; expected 1 to 2147483647",
            ctx->name, (long long)ctx->n_samples);
    out->memory = sr_build_state(b, "memory", SR_SHAPE((int)out->N, D), SR_F32,
                                 (SrInit){SR_INIT_UNIFORM, 1 / sqrt(D / 3.0)});
    out->place = sr_loss_alloc(ctx, (size_t)out->N * sizeof *out->place);
    return sr_builder_status(b);
}

// The length is at least 1e-12, as in PyTorch.
static void normalize(float *row, int D) {
    const SrRows *k = sr__rows(sr_machine_default());
    double length = sqrt(k->dot(row, row, D));
    k->scale(row, row, (float)(1 / fmax(length, 1e-12)), D);
}

typedef struct {
    float *memory; // (N, D)
    int D;
} Rows;

static void normalize_row(void *arg, int64_t i, int thread) {
    const Rows *rows = arg;
    (void)thread;
    normalize(rows->memory + i * rows->D, rows->D);
}

void sr_memory_bank_start(const SrMemoryBank *bank, SrParams *params) {
    Rows rows = {sr_params_at(params, bank->memory)->value, bank->D};
    sr_parallel_for(bank->N, normalize_row, &rows);
}

void sr_memory_bank_draw(const SrMemoryBank *bank, uint64_t seed, int64_t iteration, int draw,
                         const int64_t *image, int n, int K, int64_t *index) {
    SR_ASSERT(bank->N > 0 && n > 0 && K > 0);
    for (int i = 0; i < n; i++) {
        int64_t *row = index + (int64_t)i * (1 + K);
        SrRng rng =
            sr_rng(seed, SR_RNG_NEGATIVES, (uint64_t)iteration, (uint64_t)i, (uint32_t)draw, 0);
        row[0] = image[i];
        for (int k = 1; k <= K; k++)
            row[k] = sr_rng_below(&rng, (uint32_t)bank->N);
    }
}

void sr_memory_bank_redirect(const SrMemoryBank *bank, const int64_t *image, int n, int64_t *index,
                             int64_t count) {
    for (int i = 0; i < n; i++)
        if (image[i] >= 0 && image[i] < bank->N)
            bank->place[image[i]] = 1 + i;
    for (int64_t k = 0; k < count; k++)
        if (index[k] >= 0 && index[k] < bank->N && bank->place[index[k]] > 0)
            index[k] = bank->N + bank->place[index[k]] - 1;
    for (int i = 0; i < n; i++)
        if (image[i] >= 0 && image[i] < bank->N)
            bank->place[image[i]] = 0;
}

SrNodeId sr_memory_bank_scores(SrLossContext *ctx, const SrMemoryBank *bank, SrNodeId z,
                               SrNodeId index, SrNodeId moved) {
    SrMemoryScoresParams p = {.size = (int)bank->N};
    return sr_build_bound(ctx->builder, "memory_scores", "scores", &p,
                          (SrNodeId[]){z, index, moved}, moved == SR_NO_NODE ? 2 : 3, &bank->memory,
                          1);
}

SrNodeId sr_memory_bank_move(SrLossContext *ctx, const SrMemoryBank *bank, double momentum,
                             SrNodeId z, SrNodeId index, SrNodeId moved) {
    SrMemoryMoveParams p = {.size = (int)bank->N, .momentum = momentum};
    return sr_build_bound(ctx->builder, "memory_move", "move", &p, (SrNodeId[]){z, index, moved},
                          moved == SR_NO_NODE ? 2 : 3, &bank->memory, 1);
}

void sr_memory_bank_put(const SrMemoryBank *bank, SrParams *params, const int64_t *image,
                        int64_t ignored, const float *x, int n) {
    float *memory = sr_params_at(params, bank->memory)->value; // (N, D)
    for (int i = 0; i < n; i++)
        if (image[i] != ignored && image[i] >= 0 && image[i] < bank->N)
            memcpy(memory + image[i] * bank->D, x + (int64_t)i * bank->D,
                   (size_t)bank->D * sizeof *x);
}
