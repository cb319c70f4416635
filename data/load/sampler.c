// Draws the subset (DATA_LIMIT) and the order of an epoch from the counter generator
// (base/rng.h), so that a resumed run has nothing to restore.
#include "data/load/sampler.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"

// Writes `take` items of a random order of pool[0 .. n), after leaving out the first `skip`.
static void choose(SrRng *rng, uint32_t *pool, int64_t n, int64_t skip, int64_t take,
                   uint32_t *out) {
    for (int64_t i = 0; i < skip + take; i++) {
        int64_t j = i + sr_rng_below(rng, (uint32_t)(n - i));
        uint32_t chosen = pool[j];
        pool[j] = pool[i];
        pool[i] = chosen;
        if (i >= skip)
            out[i - skip] = chosen;
    }
}

// Images grouped by label.
typedef struct {
    uint32_t *pool; // (n) positions, label by label
    int64_t *first; // (classes + 1)
    int classes;
} Groups;

// A counting sort by label: positions within a class stay in order.
static void groups_fill(const SrSubset *config, int64_t n, Groups *g) {
    const SrDataset *d = config->dataset;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = d->label(config->set, i);
        if (label >= 0 && label < g->classes)
            g->first[label + 1]++;
    }
    for (int c = 0; c < g->classes; c++)
        g->first[c + 1] += g->first[c];
    // Filling moves each begin to its end, which is the next begin: shifted back afterwards.
    for (int64_t i = 0; i < n; i++) {
        int64_t label = d->label(config->set, i);
        if (label >= 0 && label < g->classes)
            g->pool[g->first[label]++] = (uint32_t)i;
    }
    memmove(g->first + 1, g->first, sizeof *g->first * (size_t)g->classes);
    g->first[0] = 0;
    SR_ASSERT(g->first[g->classes] <= n);
}

// Share of one class in a total: an equal part, and one more for the first total % C of the C
// classes that have images.
static int64_t share(int64_t total, int present, int rank) {
    return total / present + (rank < total % present);
}

// Each class has a stream of its own: adding a class does not change the draws of the others.
static SrStatus choose_balanced(const SrSubset *config, Groups *g, uint32_t *out) {
    int present = 0, rank = 0;
    for (int c = 0; c < g->classes; c++)
        present += g->first[c + 1] > g->first[c];
    if (config->limit < present)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA_LIMIT is %lld, but it is balanced over %d classes; set it to at least %d",
                (long long)config->limit, present, present);
    for (int c = 0; c < g->classes; c++) {
        int64_t have = g->first[c + 1] - g->first[c];
        if (!have)
            continue;
        int64_t skip = share(config->limit_skip, present, rank),
                take = share(config->limit, present, rank);
        if (skip + take > have)
            SR_FAIL(SR_ERR_CONFIG,
                    "DATA_LIMIT %lld with IS_BALANCED needs %lld images of class %d, but there are "
                    "%lld; lower DATA_LIMIT or set IS_BALANCED to False",
                    (long long)config->limit, (long long)(skip + take), c, (long long)have);
        SrRng rng = sr_rng(config->limit_seed, SR_RNG_SUBSET, 0, (uint64_t)c, 0, 0);
        choose(&rng, g->pool + g->first[c], have, skip, take, out);
        out += take;
        rank++;
    }
    return SR_OK;
}

static SrStatus subset_balanced(const SrSubset *config, int64_t n, uint32_t *pool, uint32_t *out) {
    Groups g = {.pool = pool, .classes = config->dataset->classes(config->set)};
    if (g.classes < 1)
        SR_FAIL(SR_ERR_CONFIG, "DATA_LIMIT_SAMPLING.IS_BALANCED needs labels, but these images "
                               "have none; set it to False");
    if (config->dataset->targets && config->dataset->targets(config->set, 0))
        SR_FAIL(SR_ERR_CONFIG, "DATA_LIMIT_SAMPLING.IS_BALANCED needs one class per image, but "
                               "these images have several labels; set it to False");
    g.first = sr_calloc((size_t)g.classes + 1, sizeof *g.first);
    SR_TRY_MEMORY(g.first, "%d classes", g.classes);
    groups_fill(config, n, &g);
    SrStatus status = choose_balanced(config, &g, out);
    sr_free(g.first);
    return status;
}

// VISSL draws with NumPy's generator: the subsets differ, their distribution does not.
static SrStatus subset_plain(const SrSubset *config, int64_t n, uint32_t *pool, uint32_t *out) {
    SrRng rng = sr_rng(config->limit_seed, SR_RNG_SUBSET, 0, 0, 0, 1);
    for (int64_t i = 0; i < n; i++)
        pool[i] = (uint32_t)i;
    choose(&rng, pool, n, config->limit_skip, config->limit, out);
    return SR_OK;
}

// Positions have 32 bits to save memory: four bytes per image.
SrStatus sr__sampler_subset(const SrSubset *config, uint32_t **subset, int64_t *n) {
    *subset = NULL;
    *n = config->dataset->length(config->set);
    if (*n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "there are %lld images, expected at most %d", (long long)*n,
                INT32_MAX);
    if (config->limit <= 0)
        return SR_OK;
    if (config->limit_skip < 0 || config->limit > *n - config->limit_skip)
        SR_FAIL(SR_ERR_CONFIG,
                "DATA_LIMIT %lld and SKIP_NUM_SAMPLES %lld need more than the %lld images there "
                "are; lower one of them",
                (long long)config->limit, (long long)config->limit_skip, (long long)*n);
    uint32_t *pool = sr_alloc(sizeof *pool * (size_t)*n);
    *subset = sr_alloc(sizeof **subset * (size_t)config->limit);
    SrStatus status = pool && *subset ? SR_OK : sr_out_of_memory("a subset");
    if (status == SR_OK)
        status =
            (config->limit_balanced ? subset_balanced : subset_plain)(config, *n, pool, *subset);
    sr_free(pool);
    *n = config->limit;
    if (status != SR_OK) {
        sr_free(*subset);
        *subset = NULL;
    }
    return status;
}

void sr__sampler_order(uint64_t seed, int64_t epoch, bool shuffle, uint32_t *order, int64_t n) {
    if (shuffle) {
        SrRng rng = sr_rng(seed, SR_RNG_ORDER, (uint64_t)epoch, 0, 0, 0);
        sr_rng_permutation(&rng, order, (uint32_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
}

// ---- runs

// Writes all items into line, in the order of the epoch's runs.
static void line_up(SrRuns runs, const uint32_t *of, uint32_t *line) {
    int64_t at = 0;
    for (int64_t k = 0; k < runs.n; k++)
        for (int64_t i = runs.first[of[k]]; i < runs.first[of[k] + 1]; i++)
            line[at++] = (uint32_t)i;
    SR_ASSERT(at == runs.first[runs.n]); // every item once
}

// Passes the line through the shuffle buffer, in place: each position gets a random one of the next
// SR_SAMPLER_BUFFER items, whose place takes the item that was there.
static void shuffle_part(SrRng *rng, uint32_t *line, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i + sr_rng_below(rng, (uint32_t)SR_MIN(n - i, SR_SAMPLER_BUFFER));
        uint32_t drawn = line[j];
        line[j] = line[i];
        line[i] = drawn;
    }
}

// Makes the k-th batch of replica r batch k * replicas + r of all.  Items that fill no round of
// batches stay at the end.
static void deal(const uint32_t *line, int replicas, int batch, int64_t rounds, int64_t n,
                 uint32_t *order) {
    int64_t part = rounds * batch, all = part * replicas;
    SR_ASSERT(all <= n);
    for (int64_t k = 0; k < rounds; k++)
        for (int r = 0; r < replicas; r++)
            memcpy(order + (k * replicas + r) * batch, line + r * part + k * batch,
                   sizeof *order * (size_t)batch);
    memcpy(order + all, line + all, sizeof *order * (size_t)(n - all));
}

SrStatus sr__sampler_runs(uint64_t seed, int64_t epoch, SrRuns runs, int replicas, int batch,
                          uint32_t *order, int64_t n) {
    uint32_t *of = sr_alloc(sizeof *of * (size_t)runs.n),
             *line = sr_alloc(sizeof *line * (size_t)n);
    int64_t rounds = n / ((int64_t)replicas * batch), part = rounds * batch;
    if (of && line) {
        SrRng rng = sr_rng(seed, SR_RNG_ORDER, (uint64_t)epoch, 0, 1, 0);
        sr_rng_permutation(&rng, of, (uint32_t)runs.n);
        line_up(runs, of, line);
        for (int r = 0; r <= replicas; r++) { // the last part fills no round
            rng = sr_rng(seed, SR_RNG_ORDER, (uint64_t)epoch, (uint64_t)r, 2, 0);
            shuffle_part(&rng, line + r * part, r < replicas ? part : n - r * part);
        }
        deal(line, replicas, batch, rounds, n, order);
    }
    bool ok = of && line;
    sr_free(of);
    sr_free(line);
    return ok ? SR_OK : sr_out_of_memory("the order of %lld images", (long long)n);
}

int64_t sr_share_batch(SrShare s, int64_t k) {
    SR_ASSERT(k >= 0 && (s.of <= 0 || (s.first >= 0 && s.count > 0 && s.first + s.count <= s.of)));
    return s.of > 0 ? k / s.count * s.of + s.first + k % s.count : k;
}

int64_t sr_share_count(SrShare s, int64_t batches) {
    if (s.of <= 0)
        return batches;
    int64_t rest = batches % s.of - s.first;
    return batches / s.of * s.count + SR_MAX(0, SR_MIN(rest, s.count));
}
