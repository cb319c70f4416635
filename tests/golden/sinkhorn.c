// Runs golden cases sinkhorn: Sinkhorn-Knopp alone over a grid of settings. Each tensor
// codes<i>_eps<epsilon>_it<iterations> holds the codes of scores<i> of the same case.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/assign/sinkhorn.h"
#include "tests/golden/golden.h"

typedef struct {
    int scores, num_iters;
    double epsilon;
} GridPoint;

static bool parse_name(const char *name, GridPoint *out) {
    char rest;
    return sscanf(name, "codes%d_eps%lf_it%d%c", &out->scores, &out->epsilon, &out->num_iters,
                  &rest) == 3;
}

static SrStatus solve(SrGoldenCase *c, const char *name, GridPoint at) {
    char scores_name[64];
    snprintf(scores_name, sizeof scores_name, "scores%d", at.scores);
    const SrTensor *t = golden_tensor(c, scores_name);
    float *scores = golden_floats(c, scores_name, NULL);
    if (!scores || t->shape.rank != 2)
        SR_FAIL(SR_ERR_RUN, "%s: no matrix '%s' beside it", name, scores_name);
    SrSinkhorn s = {.n = t->shape.d[0],
                    .P = t->shape.d[1],
                    .scores = scores,
                    .params.epsilon = at.epsilon,
                    .params.num_iters = at.num_iters};
    int64_t n = (int64_t)s.n * s.P;
    float *codes = sr_arena_alloc(c->arena, (size_t)n * sizeof *codes);
    void *scratch = sr_alloc(sr_sinkhorn_scratch_bytes(sr_machine_default(), &s));
    if (!codes || !scratch) {
        sr_free(scratch);
        SR_FAIL(SR_ERR_MEMORY, "out of memory");
    }
    sr_sinkhorn(sr_machine_default(), &s, codes, scratch);
    sr_free(scratch);
    return golden_compare(c, name, codes, n, 1e-4);
}

static SrStatus run(SrGoldenCase *c) {
    for (int i = 0; i < c->tensors->n; i++) {
        const char *name = c->tensors->tensors[i].name;
        GridPoint at;
        if (strncmp(name, "codes", 5) != 0)
            continue;
        if (!parse_name(name, &at))
            SR_FAIL(SR_ERR_RUN, "tensor '%s': expected codes<i>_eps<epsilon>_it<iterations>", name);
        SR_TRY(solve(c, name, at));
    }
    return SR_OK;
}

const SrGolden sr_golden_sinkhorn = {.prefixes = {"sinkhorn"}, .run = run};
