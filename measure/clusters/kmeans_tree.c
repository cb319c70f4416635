// Hierarchical k-means: levels from the rows upwards, shares from the top downwards.
#include "measure/clusters/kmeans_tree.h"

#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "measure/clusters/kmeans.h"

enum { ITERATIONS = 50 };

static SrStatus check(const SrRowView *rows, const int *k, int levels) {
    if (levels < 1 || levels > SR_KMEANS_TREE_LEVELS)
        SR_FAIL(SR_ERR_CONFIG, "%d levels of clusters: expected 1 to %d", levels,
                SR_KMEANS_TREE_LEVELS);
    for (int l = 0; l < levels; l++)
        if (k[l] < 1 || (int64_t)k[l] > (l ? (int64_t)k[l - 1] : rows->n))
            SR_FAIL(SR_ERR_CONFIG,
                    "level %d of the clusters has %d, expected 1 to %lld: the numbers fall from "
                    "level to level and start below the number of images",
                    l + 1, k[l], (long long)(l ? (int64_t)k[l - 1] : rows->n));
    return SR_OK;
}

// Clusters one level.  *centres: its centres, which the caller frees by `km`.
static SrStatus level(const SrRowView *below, int k, uint64_t seed, SrKmeans *km, int64_t *label) {
    SrKmeansOptions o = {.k = k, .iterations = ITERATIONS, .seed = seed};
    SR_TRY(sr_kmeans(&o, below, km));
    return sr_kmeans_assign(km, below, label, NULL);
}

SrStatus sr_kmeans_tree(const SrRowView *rows, const int *k, int levels, uint64_t seed,
                        SrKmeansTree *out) {
    SrKmeans km[SR_KMEANS_TREE_LEVELS] = {0};
    SrRowView below = *rows;
    SrStatus status = check(rows, k, levels);
    *out = (SrKmeansTree){.n = rows->n};
    for (int l = 0; status == SR_OK && l < levels; l++) {
        out->label[l] = sr_calloc((size_t)below.n, sizeof **out->label);
        out->k[l] = k[l];
        out->levels = l + 1;
        status = out->label[l] ? level(&below, k[l], seed + (uint64_t)l, &km[l], out->label[l])
                               : sr_out_of_memory("%d clusters", k[l]);
        below = (SrRowView){.n = k[l], .d = rows->d, .x = km[l].centre};
    }
    for (int l = 0; l < levels && l < SR_KMEANS_TREE_LEVELS; l++)
        sr_kmeans_deinit(&km[l]);
    return status;
}

void sr_kmeans_tree_deinit(SrKmeansTree *tree) {
    for (int l = 0; l < SR_KMEANS_TREE_LEVELS; l++)
        sr_free(tree->label[l]);
    *tree = (SrKmeansTree){0};
}

// ---- balanced sample ----------------------------------------------------------------------------

typedef struct {
    int64_t *size;  // (clusters) rows below each cluster
    int64_t *share; // (clusters) rows that are chosen below it
} Level;

// Shares `count` out to the clusters of `parent` at level l; the smaller index gets the odd one.
// Each turn gives one row more to every cluster that has rows left, in steps as large as the
// smallest of them allows.
static void share_out(const SrKmeansTree *t, int l, int64_t parent, int64_t count, Level *at) {
    const int64_t *up = l + 1 < t->levels ? t->label[l + 1] : NULL;
    while (count > 0) {
        int64_t open = 0, step = count;
        for (int c = 0; c < t->k[l]; c++)
            if ((!up || up[c] == parent) && at->share[c] < at->size[c]) {
                open++;
                step = SR_MIN(step, at->size[c] - at->share[c]);
            }
        step = SR_MIN(step, count / SR_MAX(open, 1));
        for (int c = 0; c < t->k[l] && count > 0; c++)
            if ((!up || up[c] == parent) && at->share[c] < at->size[c]) {
                at->share[c] += SR_MAX(step, 1);
                count -= SR_MAX(step, 1);
            }
    }
}

static void count_rows(const SrKmeansTree *t, Level *level_) {
    for (int64_t i = 0; i < t->n; i++)
        level_[0].size[t->label[0][i]]++;
    for (int l = 1; l < t->levels; l++)
        for (int c = 0; c < t->k[l - 1]; c++)
            level_[l].size[t->label[l][c]] += level_[l - 1].size[c];
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Draws the share of each lowest cluster from its rows.  member, order: (n) work space.
static int64_t draw_rows(const SrKmeansTree *t, const Level *low, uint64_t seed, int64_t *member,
                         uint32_t *order, int64_t *chosen) {
    int64_t found = 0;
    for (int c = 0; c < t->k[0]; c++) {
        uint32_t n = 0;
        SrRng rng = sr_rng(seed, SR_RNG_BALANCED, 0, (uint64_t)c, 0, 0);
        for (int64_t i = 0; low->share[c] > 0 && i < t->n; i++)
            if (t->label[0][i] == c)
                member[n++] = i;
        sr_rng_permutation(&rng, order, n);
        for (int64_t i = 0; i < low->share[c]; i++)
            chosen[found++] = member[order[i]];
    }
    qsort(chosen, (size_t)found, sizeof *chosen, by_value);
    return found;
}

SrStatus sr_balanced_sample(const SrKmeansTree *t, int64_t count, uint64_t seed, int64_t *chosen) {
    Level level_[SR_KMEANS_TREE_LEVELS] = {{0}};
    if (count < 1 || count > t->n)
        SR_FAIL(SR_ERR_CONFIG, "%lld images are to be chosen, expected 1 to %lld", (long long)count,
                (long long)t->n);
    int64_t *member = sr_alloc((size_t)t->n * sizeof *member);
    uint32_t *order = sr_alloc((size_t)t->n * sizeof *order);
    bool enough = member && order;
    for (int l = 0; l < t->levels; l++) {
        level_[l].size = sr_calloc((size_t)t->k[l], sizeof(int64_t));
        level_[l].share = sr_calloc((size_t)t->k[l], sizeof(int64_t));
        enough = enough && level_[l].size && level_[l].share;
    }
    if (enough) {
        int top = t->levels - 1;
        count_rows(t, level_);
        share_out(t, top, -1, count, &level_[top]);
        for (int l = top; l > 0; l--)
            for (int c = 0; c < t->k[l]; c++)
                share_out(t, l - 1, c, level_[l].share[c], &level_[l - 1]);
        draw_rows(t, &level_[0], seed, member, order, chosen);
    }
    for (int l = 0; l < t->levels; l++) {
        sr_free(level_[l].size);
        sr_free(level_[l].share);
    }
    sr_free(member);
    sr_free(order);
    return enough ? SR_OK : sr_out_of_memory("a balanced sample");
}
