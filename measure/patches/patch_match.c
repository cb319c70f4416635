// Finds mutual nearest neighbours among patches of two images.
#include "measure/patches/patch_match.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kernels/core/gemm.h"

static int most_similar_first(const void *x, const void *y) {
    const SrPatchPair *p = x, *q = y;
    return p->cosine != q->cosine ? (p->cosine < q->cosine) - (p->cosine > q->cosine) : p->a - q->a;
}

// Finds the largest product of each row and of each column.  best_a: (na), best_b: (nb).
static void find_best(const float *product, int na, int nb, int *best_a, int *best_b) {
    for (int j = 0; j < nb; j++)
        best_b[j] = 0;
    for (int i = 0; i < na; i++) {
        const float *row = product + (long)i * nb;
        best_a[i] = 0;
        for (int j = 0; j < nb; j++) {
            if (row[j] > row[best_a[i]])
                best_a[i] = j;
            if (row[j] > product[(long)best_b[j] * nb + j])
                best_b[j] = i;
        }
    }
}

SrStatus sr_patch_match(const float *a, int na, const float *b, int nb, int d, SrPatchPair *out,
                        int *n) {
    float *product = sr_alloc((size_t)na * (size_t)nb * sizeof *product);
    int *best = sr_alloc((size_t)(na + nb) * sizeof *best);
    bool enough = product && best;
    *n = 0;
    if (enough) {
        sr_gemm(false, true, na, nb, d, 1, a, d, b, d, 0, product, nb);
        find_best(product, na, nb, best, best + na);
        for (int i = 0; i < na; i++) {
            float cosine = product[(long)i * nb + best[i]];
            if (best[na + best[i]] == i && cosine != 0)
                out[(*n)++] = (SrPatchPair){i, best[i], cosine};
        }
        qsort(out, (size_t)*n, sizeof *out, most_similar_first);
    }
    sr_free(product);
    sr_free(best);
    return enough ? SR_OK : sr_out_of_memory("pairs of patches");
}

static bool is_near(int a, int b, int columns, int apart) {
    return abs(a / columns - b / columns) < apart && abs(a % columns - b % columns) < apart;
}

int sr_patch_spread(SrPatchPair *pair, int n, int columns, int count) {
    int chosen = 0;
    for (int apart = 4; apart >= 1; apart /= 2)
        for (int i = chosen; i < n && chosen < count; i++) {
            bool free = true;
            for (int k = 0; k < chosen && free; k++)
                free = !is_near(pair[i].a, pair[k].a, columns, apart);
            if (!free)
                continue;
            SrPatchPair keep = pair[i]; // the others keep their order
            for (int k = i; k > chosen; k--)
                pair[k] = pair[k - 1];
            pair[chosen++] = keep;
        }
    qsort(pair, (size_t)chosen, sizeof *pair, most_similar_first);
    return chosen;
}
