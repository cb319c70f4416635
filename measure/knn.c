// Weighted kNN: similarities in blocks through sr_gemm, one bounded heap a test image, then the
// vote.
//
// Cost n_test * n_train * d multiply-adds; memory is one block of similarities and k neighbours a
// test image.
#include "measure/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/gemm.h"

// Sizes are part of the result's bits (blocks of the matrix product), never of the machine.
#define TEST_BLOCK 256
#define TRAIN_BLOCK 4096

typedef struct {
    float sim;
    int32_t row; // of the training set
} Neighbour;

// The k best so far of one test image, the worst at the root.
typedef struct {
    Neighbour *at; // room for `cap`
    int n, cap;
} Heap;

// The order of the heap: the root is the neighbour to be displaced next.
static bool worse(Neighbour a, Neighbour b) {
    return a.sim < b.sim || (a.sim == b.sim && a.row > b.row);
}

// Downwards from i until neither child is worse.
static void heap_sift(Heap *h, int i) {
    for (;;) {
        int worst = i, left = 2 * i + 1, right = left + 1;
        if (left < h->n && worse(h->at[left], h->at[worst]))
            worst = left;
        if (right < h->n && worse(h->at[right], h->at[worst]))
            worst = right;
        if (worst == i)
            return;
        Neighbour t = h->at[i];
        h->at[i] = h->at[worst];
        h->at[worst] = t;
        i = worst;
    }
}

// Rows arrive in rising order, so a newcomer that only equals the worst one loses the tie.
static void heap_offer(Heap *h, Neighbour x) {
    if (h->n == h->cap) {
        if (!(x.sim > h->at[0].sim))
            return;
        h->at[0] = x;
        heap_sift(h, 0);
        return;
    }
    if (isnan(x.sim))
        return;
    int i = h->n++;
    h->at[i] = x;
    for (; i > 0 && worse(h->at[i], h->at[(i - 1) / 2]); i = (i - 1) / 2) {
        Neighbour t = h->at[i];
        h->at[i] = h->at[(i - 1) / 2];
        h->at[(i - 1) / 2] = t;
    }
}

// The order in which neighbours vote, and in which the first k of them are taken.
static int best_first(const void *a, const void *b) {
    const Neighbour *x = a, *y = b;
    if (x->sim != y->sim)
        return x->sim < y->sim ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

// ---- the search ---------------------------------------------------------------------------------

typedef struct {
    const SrMatrix *train;
    const float *sim; // (test_rows, TRAIN_BLOCK)
    Heap *heaps;      // one a row of the test block
    int64_t first;    // training row of column 0
    int columns;
} Scan;

// One test image per call: threads share nothing.
static void scan_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Scan *s = arg;
    const float *row = s->sim + i * TRAIN_BLOCK; // (columns)
    for (int j = 0; j < s->columns; j++)
        if (s->train->label[s->first + j] >= 0)
            heap_offer(&s->heaps[i], (Neighbour){row[j], (int32_t)(s->first + j)});
}

// Every test row of the block meets every training row; the product of a block is read while it is
// still in the cache.
static void search_block(const SrMatrix *train, const float *test, int rows, float *sim,
                         Heap *heaps) {
    for (int64_t first = 0; first < train->n; first += TRAIN_BLOCK) {
        int columns = (int)SR_MIN(train->n - first, TRAIN_BLOCK);
        sr_gemm(false, true, rows, columns, train->d, 1.0f, test, train->d,
                train->x + first * train->d, train->d, 0.0f, sim, TRAIN_BLOCK);
        Scan scan = {train, sim, heaps, first, columns};
        sr_parallel_for(rows, scan_row, &scan);
    }
    for (int i = 0; i < rows; i++)
        qsort(heaps[i].at, (size_t)heaps[i].n, sizeof(Neighbour), best_first);
}

// ---- the vote -----------------------------------------------------------------------------------

// One image's votes over its first k neighbours, votes: (classes).  Only ratios matter, so the
// exponent is shifted by the best similarity, and every sigma and feature scale is safe.
static void vote(const SrKnnOptions *o, const SrMatrix *train, const Heap *h, int k, double *votes,
                 int classes) {
    memset(votes, 0, (size_t)classes * sizeof *votes);
    for (int i = 0; i < SR_MIN(k, h->n); i++)
        votes[train->label[h->at[i].row]] +=
            exp(((double)h->at[i].sim - (double)h->at[0].sim) / o->sigma);
}

// VISSL sums onehot * weight over the neighbours in single precision: an infinite weight turns
// every other class's product 0 * inf, and so its sum, into NaN.
static void vote_vissl(const SrKnnOptions *o, const SrMatrix *train, const Heap *h, int k,
                       double *votes, int classes) {
    int64_t infinite = -1; // the class with an infinite weight
    bool several = false;
    memset(votes, 0, (size_t)classes * sizeof *votes);
    for (int i = 0; i < SR_MIN(k, h->n); i++) {
        int64_t label = train->label[h->at[i].row];
        // Single precision on purpose: its overflow is what is being reproduced.
        float weight = expf(h->at[i].sim / (float)o->sigma);
        votes[label] += (double)weight;
        if (isinf(weight)) {
            several |= infinite >= 0 && infinite != label;
            infinite = label;
        }
    }
    for (int c = 0; infinite >= 0 && c < classes; c++)
        if (several || c != infinite)
            votes[c] = (double)NAN;
}

// Descending as torch.sort has it: NaN above everything; the smaller class first among equals.
static bool ranks_before(double a, double b) { return isnan(a) ? !isnan(b) : a > b; }

// Without neighbours no class is named.
static void rank_votes(const double *votes, int classes, int neighbours, int64_t top[SR_KNN_TOP]) {
    for (int r = 0; r < SR_KNN_TOP; r++)
        top[r] = -1;
    for (int c = 0; neighbours > 0 && c < classes; c++) {
        int r = SR_KNN_TOP;
        while (r > 0 && (top[r - 1] < 0 || ranks_before(votes[c], votes[top[r - 1]])))
            r--;
        for (int q = SR_KNN_TOP - 1; q > r; q--)
            top[q] = top[q - 1];
        if (r < SR_KNN_TOP)
            top[r] = c;
    }
}

// ---- putting it together ------------------------------------------------------------------------

typedef struct {
    float *sim;            // (TEST_BLOCK, TRAIN_BLOCK)
    Neighbour *neighbours; // (TEST_BLOCK, k_max)
    double *votes;         // (classes)
    Heap heaps[TEST_BLOCK];
    int k_max, classes;
} Work;

// Classes are numbered by labels; the largest k asked for bounds the heaps.
static SrStatus work_init(Work *w, const SrMatrix *train, const int *k, int n_k) {
    *w = (Work){.classes = 1};
    int64_t labelled = 0;
    if (train->target)
        SR_FAIL(SR_ERR_CONFIG,
                "neighbours vote for one class, and these images have several labels each: `sslrun "
                "svm`, `logreg` and `retrieve` take them");
    for (int64_t i = 0; i < train->n; i++) {
        labelled += train->label[i] >= 0;
        w->classes = SR_MAX(w->classes, (int)train->label[i] + 1);
    }
    for (int i = 0; i < n_k; i++)
        w->k_max = SR_MAX(w->k_max, k[i]);
    w->k_max = (int)SR_MIN((int64_t)w->k_max, labelled);
    if (w->k_max < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "kNN needs at least one labelled training image and TOPK of at least 1");
    w->sim = sr_alloc(sizeof(float) * TEST_BLOCK * TRAIN_BLOCK);
    w->neighbours = sr_calloc((size_t)TEST_BLOCK * (size_t)w->k_max, sizeof *w->neighbours);
    w->votes = sr_calloc((size_t)w->classes, sizeof *w->votes);
    if (!w->sim || !w->neighbours || !w->votes)
        SR_FAIL(SR_ERR_MEMORY, "kNN: out of memory for %d neighbours", w->k_max);
    return SR_OK;
}

// Safe for a Work whose work_init failed.
static void work_deinit(Work *w) {
    sr_free(w->sim);
    sr_free(w->neighbours);
    sr_free(w->votes);
}

// Unlabelled test images are ranked and not counted.
static void count_hits(SrKnnResult *r, const int64_t top[SR_KNN_TOP], int64_t label) {
    if (label < 0)
        return;
    r->n++;
    r->top1 += top[0] == label;
    for (int i = 0; i < SR_KNN_TOP; i++)
        r->top5 += top[i] == label;
}

// Votes of the neighbours of test image `image`, which heap holds, for each k.
static void judge(const SrKnnOptions *options, const SrMatrix *train, const SrMatrix *test,
                  int64_t image, const Heap *heap, int n_k, Work *w, SrKnnResult *result,
                  int64_t *ranked) {
    for (int j = 0; j < n_k; j++) {
        int64_t top[SR_KNN_TOP];
        if (options->vissl_overflow)
            vote_vissl(options, train, heap, result[j].k, w->votes, w->classes);
        else
            vote(options, train, heap, result[j].k, w->votes, w->classes);
        rank_votes(w->votes, w->classes, heap->n, top);
        count_hits(&result[j], top, test->label[image]);
        if (ranked)
            memcpy(ranked + (j * test->n + image) * SR_KNN_TOP, top, sizeof top);
    }
}

// Judges every test image, a block of them against all of `train` at a time.
static void judge_all(const SrKnnOptions *options, const SrMatrix *train, const SrMatrix *test,
                      int n_k, Work *w, SrKnnResult *result, int64_t *ranked) {
    SrBar bar;
    sr_bar_begin(&bar, "neighbours of images", test->n);
    for (int64_t first = 0; first < test->n; first += TEST_BLOCK) {
        sr_bar_at(&bar, first);
        int rows = (int)SR_MIN(test->n - first, TEST_BLOCK);
        for (int i = 0; i < rows; i++)
            w->heaps[i] = (Heap){w->neighbours + (int64_t)i * w->k_max, 0, w->k_max};
        search_block(train, test->x + first * test->d, rows, w->sim, w->heaps);
        for (int i = 0; i < rows; i++)
            judge(options, train, test, first + i, &w->heaps[i], n_k, w, result, ranked);
    }
    sr_bar_end(&bar);
}

SrStatus sr_knn(const SrKnnOptions *options, SrMatrix *train, SrMatrix *test, const int *k, int n_k,
                SrKnnResult *result, int64_t *ranked) {
    if (train->d != test->d || train->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "kNN: features of length %d against %d", test->d, train->d);
    Work *w = sr_alloc(sizeof *w);
    if (!w)
        SR_FAIL(SR_ERR_MEMORY, "kNN: out of memory");
    SrStatus status;
    SR_TRY_GOTO(work_init(w, train, k, n_k));
    double ratio = 1;
    if (options->l2_norm) {
        sr_matrix_normalize(train, 0);
        sr_matrix_normalize(test, 0);
    } else {
        SR_TRY_GOTO(sr_matrix_length_ratio(train, &ratio));
    }
    for (int j = 0; j < n_k; j++)
        result[j] = (SrKnnResult){.k = SR_MIN(k[j], w->k_max), .length_ratio = ratio};
    judge_all(options, train, test, n_k, w, result, ranked);
    for (int j = 0; j < n_k; j++) {
        result[j].top1 *= result[j].n ? 100.0 / (double)result[j].n : 0;
        result[j].top5 *= result[j].n ? 100.0 / (double)result[j].n : 0;
    }
done:
    work_deinit(w);
    sr_free(w);
    return status;
}

// ---- neighbours alone ---------------------------------------------------------------------------

typedef struct {
    float *sim;            // (TEST_BLOCK, TRAIN_BLOCK)
    Neighbour *neighbours; // (TEST_BLOCK, k)
    Heap heaps[TEST_BLOCK];
} Search;

static void write_neighbours(const Heap *h, int k, int64_t *row, float *similarity) {
    for (int i = 0; i < k; i++) {
        row[i] = i < h->n ? h->at[i].row : -1; // a query of NaN has no neighbours
        similarity[i] = i < h->n ? h->at[i].sim : NAN;
    }
}

static void search_all(Search *s, const SrMatrix *bank, const float *queries, int64_t n, int k,
                       int64_t *row, float *similarity) {
    for (int64_t first = 0; first < n; first += TEST_BLOCK) {
        int rows = (int)SR_MIN(n - first, TEST_BLOCK);
        for (int i = 0; i < rows; i++)
            s->heaps[i] = (Heap){s->neighbours + (int64_t)i * k, 0, k};
        search_block(bank, queries + first * bank->d, rows, s->sim, s->heaps);
        for (int i = 0; i < rows; i++)
            write_neighbours(&s->heaps[i], k, row + (first + i) * k, similarity + (first + i) * k);
    }
}

SrStatus sr_knn_nearest(const SrMatrix *bank, const float *queries, int64_t n, int k, int64_t *row,
                        float *similarity) {
    if (k < 1 || k > bank->n || bank->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%d neighbours among %lld rows: 1 to as many as there are", k,
                (long long)bank->n);
    Search *s = sr_calloc(1, sizeof *s);
    if (s) {
        s->sim = sr_alloc(sizeof(float) * TEST_BLOCK * TRAIN_BLOCK);
        s->neighbours = sr_calloc((size_t)TEST_BLOCK * (size_t)k, sizeof *s->neighbours);
    }
    bool enough = s && s->sim && s->neighbours;
    if (enough)
        search_all(s, bank, queries, n, k, row, similarity);
    if (s) {
        sr_free(s->sim);
        sr_free(s->neighbours);
    }
    sr_free(s);
    return enough ? SR_OK : sr_fail(SR_ERR_MEMORY, "kNN: out of memory for %d neighbours", k);
}

// ---- chance -------------------------------------------------------------------------------------

static int64_t count_of(const SrMatrix *f, int64_t label) {
    int64_t n = 0;
    for (int64_t i = 0; i < f->n; i++)
        n += f->label[i] == label;
    return n;
}

// The class is chosen on the training rows: the test labels would choose the best constant there
// is.
double sr_knn_majority(const SrMatrix *train, const SrMatrix *test) {
    int64_t most = 0, chosen = -1, labelled = test->n - count_of(test, -1);
    for (int64_t i = 0; i < train->n; i++) {
        // Each class is counted at its first row.  Looking back finds an earlier one soon, whether
        // labels are sorted or mixed: the cost grows with the classes, not with the square of the
        // rows.
        int64_t label = train->label[i], j = i - 1;
        while (label >= 0 && j >= 0 && train->label[j] != label)
            j--;
        if (label < 0 || j >= 0)
            continue;
        int64_t count = count_of(train, label);
        if (count > most || (count == most && label < chosen))
            chosen = label;
        most = SR_MAX(most, count);
    }
    return labelled && chosen >= 0 ? 100.0 * (double)count_of(test, chosen) / (double)labelled : 0;
}
