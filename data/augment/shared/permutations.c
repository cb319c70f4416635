// Tables of permutations: the greedy choice of distant ones, and reading of .npy tables.
#include "data/augment/shared/permutations.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/rng.h"

enum { MOST_NUMBERS = 64, CANDIDATES = 256, SEED = 1603 };

// Counts how often place i held number v so far.  Summed over places, the counts tell how much a
// candidate agrees with all rows together, without comparing it with each.
typedef struct {
    int held[MOST_NUMBERS][MOST_NUMBERS];
} Tally;

static int64_t agreement(const Tally *tally, const uint32_t *row, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += tally->held[i][row[i]];
    return sum;
}

static bool taken(const SrPermutations *p, int count, const uint32_t *row) {
    for (int r = 0; r < count; r++) {
        int i = 0;
        while (i < p->n && p->rows[(int64_t)r * p->n + i] == row[i])
            i++;
        if (i == p->n)
            return true;
    }
    return false;
}

// Returns the best candidate that is not in the table yet.
static void add_row(SrPermutations *p, int r, Tally *tally) {
    uint32_t best[MOST_NUMBERS] = {0}, row[MOST_NUMBERS];
    int64_t least = -1;
    SrRng rng = sr_rng(SEED, SR_RNG_STATE, 0, (uint64_t)r, 0, 0);
    for (int tried = 0; tried < CANDIDATES || least < 0; tried++) {
        sr_rng_permutation(&rng, row, (uint32_t)p->n);
        int64_t a = agreement(tally, row, p->n);
        if ((least >= 0 && a >= least) || taken(p, r, row))
            continue;
        least = a;
        memcpy(best, row, sizeof best);
    }
    for (int i = 0; i < p->n; i++) {
        p->rows[(int64_t)r * p->n + i] = (uint8_t)best[i];
        tally->held[i][best[i]]++;
    }
}

static SrStatus allocate(int count, int n, SrArena *arena, SrPermutations *out) {
    *out = (SrPermutations){.count = count, .n = n};
    out->rows = sr_arena_alloc(arena, (size_t)count * (size_t)n);
    SR_TRY_MEMORY(out->rows, "%d permutations of %d numbers", count, n);
    return SR_OK;
}

SrStatus sr__permutations_make(int count, int n, SrArena *arena, SrPermutations *out) {
    int64_t all = 1;
    for (int i = 2; i <= n && all < 1 << 30; i++)
        all *= i;
    if (n < 2 || n > MOST_NUMBERS || count > all)
        SR_FAIL(SR_ERR_CONFIG,
                "%d permutations of %d patches are asked for, but there are only %lld", count, n,
                (long long)all);
    Tally *tally = sr_calloc(1, sizeof *tally);
    SrStatus status = tally ? allocate(count, n, arena, out) : sr_out_of_memory("permutations");
    for (int r = 0; status == SR_OK && r < count; r++)
        add_row(out, r, tally);
    sr_free(tally);
    return status;
}

// Checks that a row holds each number once.
static SrStatus check_row(const char *path, const SrNpy *npy, int r, int first, uint8_t *row) {
    bool seen[MOST_NUMBERS] = {false};
    for (int i = 0; i < npy->columns; i++) {
        int64_t v = sr_npy_integer(npy, (int64_t)r * npy->columns + i) - first;
        if (v < 0 || v >= npy->columns || seen[v])
            SR_FAIL(SR_ERR_CONFIG, "%s: row %d is not a permutation of %lld numbers", path, r,
                    (long long)npy->columns);
        seen[v] = true;
        row[i] = (uint8_t)v;
    }
    return SR_OK;
}

static SrStatus read_rows(const char *path, const SrNpy *npy, SrArena *arena, SrPermutations *out) {
    int64_t least = INT64_MAX;
    if (sr_npy_has_strings(npy) || npy->n < 1 || npy->n > 1 << 20 || npy->columns < 2 ||
        npy->columns > MOST_NUMBERS)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected a table of integers with one permutation per row",
                path);
    for (int64_t i = 0; i < npy->n * npy->columns; i++)
        least = SR_MIN(least, sr_npy_integer(npy, i));
    SR_TRY(allocate((int)npy->n, (int)npy->columns, arena, out));
    for (int r = 0; r < out->count; r++)
        SR_TRY(check_row(path, npy, r, least == 1 ? 1 : 0, out->rows + (int64_t)r * out->n));
    return SR_OK;
}

SrStatus sr__permutations_load(const char *path, SrArena *arena, SrPermutations *out) {
    SrNpy npy;
    SR_TRY(sr_npy_open(path, &npy));
    SrStatus status = read_rows(path, &npy, arena, out);
    sr_npy_close(&npy);
    return status;
}
