// Weighted kNN: blocks of similarities by sr_gemm, one bounded heap per test image, then the vote.
//
// The cost is n_test * n_train * d multiply-adds.  Memory is one block of similarities and k
// neighbours for each test image of a block.
#include "measure/neighbours/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/gemm.h"

// Block sizes of the matrix product.  They affect the last bits of the result, so they do not
// depend on the machine.
#define TEST_BLOCK 256
#define TRAIN_BLOCK 4096

typedef struct {
    float sim;
    int32_t row; // row of the training set
} Neighbour;

// The best neighbours of one test image so far, with the worst at the root.
typedef struct {
    Neighbour *at; // (cap)
    int n, cap;
} Heap;

// Orders the heap: the root is the neighbour that is displaced next.
static bool worse(Neighbour a, Neighbour b) {
    return a.sim < b.sim || (a.sim == b.sim && a.row > b.row);
}

// Moves entry i down until neither child is worse.
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
    SR_ASSERT(h->n <= h->cap && h->cap > 0);
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

// Orders neighbours for the vote, which takes the first k of them.
static int best_first(const void *a, const void *b) {
    const Neighbour *x = a, *y = b;
    if (x->sim != y->sim)
        return x->sim < y->sim ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

// ---- the search ---------------------------------------------------------------------------------

typedef struct {
    const SrRowView *train;
    const float *sim; // (test_rows, TRAIN_BLOCK)
    Heap *heaps;      // (test_rows)
    int64_t first;    // training row of column 0
    int columns;
} Scan;

// Handles one test image per call, so threads share nothing.
static void scan_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Scan *s = arg;
    const float *row = s->sim + i * TRAIN_BLOCK; // (columns)
    SR_ASSERT(s->columns <= TRAIN_BLOCK && s->first + s->columns <= s->train->n);
    for (int j = 0; j < s->columns; j++)
        if (sr_row_view_label(s->train, s->first + j) >= 0)
            heap_offer(&s->heaps[i], (Neighbour){row[j], (int32_t)(s->first + j)});
}

// Compares every test row of the block with every training row.  The product of a block is read
// while it is still in the cache.  space: TRAIN_BLOCK rows; NULL: they lie in memory.
static void search_block(const SrRowView *train, float *space, const float *test, int rows,
                         float *sim, Heap *heaps) {
    for (int64_t first = 0; first < train->n; first += TRAIN_BLOCK) {
        int columns = (int)SR_MIN(train->n - first, TRAIN_BLOCK);
        const float *x = sr_row_view_at_once(train, first, columns, space); // (columns, d)
        sr_gemm(false, true, rows, columns, train->d, 1.0f, test, train->d, x, train->d, 0.0f, sim,
                TRAIN_BLOCK);
        Scan scan = {train, sim, heaps, first, columns};
        sr_parallel_for(rows, scan_row, &scan);
    }
    for (int i = 0; i < rows; i++)
        qsort(heaps[i].at, (size_t)heaps[i].n, sizeof(Neighbour), best_first);
}

// ---- the vote -----------------------------------------------------------------------------------

// Counts the votes of one image's first k neighbours.  votes: (classes).  Only ratios matter, so
// the exponent is shifted by the best similarity.  That makes every sigma and feature scale safe.
static void vote(const SrKnnOptions *o, const SrMatrix *train, const Heap *h, int k, double *votes,
                 int classes) {
    memset(votes, 0, (size_t)classes * sizeof *votes);
    for (int i = 0; i < SR_MIN(k, h->n); i++)
        votes[train->label[h->at[i].row]] +=
            exp(((double)h->at[i].sim - (double)h->at[0].sim) / o->sigma);
}

// VISSL sums onehot * weight over the neighbours in single precision.  An infinite weight makes the
// product 0 * inf, and so the sum, of every other class NaN.
static void vote_vissl(const SrKnnOptions *o, const SrMatrix *train, const Heap *h, int k,
                       double *votes, int classes) {
    int64_t infinite = -1; // the class with an infinite weight
    bool several = false;
    memset(votes, 0, (size_t)classes * sizeof *votes);
    for (int i = 0; i < SR_MIN(k, h->n); i++) {
        int64_t label = train->label[h->at[i].row];
        // Single precision on purpose, because its overflow is reproduced here.
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

// Sorts in descending order as torch.sort does: NaN comes first, and among equals the smaller
// class.
static bool ranks_before(double a, double b) { return isnan(a) ? !isnan(b) : a > b; }

// Ranks the classes by votes; -1 where no class is left, and everywhere without neighbours.
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

// Allocates for the classes of the training labels and for the largest k.
static SrStatus work_init(Work *w, const SrMatrix *train, const int *k, int n_k) {
    *w = (Work){.classes = 1};
    int64_t labelled = 0;
    if (train->target)
        SR_FAIL(SR_ERR_CONFIG, "kNN needs one class per image, but these images have several "
                               "labels each; use `sslrun svm`, `logreg` or `retrieve`");
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

// Counts a hit; unlabelled test images are ranked but not counted.
static void count_hits(SrKnnResult *r, const int64_t top[SR_KNN_TOP], int64_t label) {
    if (label < 0)
        return;
    r->n++;
    r->top1 += top[0] == label;
    for (int i = 0; i < SR_KNN_TOP; i++)
        r->top5 += top[i] == label;
}

// Ranks the classes of test image `image` by the votes of its neighbours in `heap`, for each k.
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

// Judges every test image; one block of test images at a time is compared with all of `train`.
static void judge_all(const SrKnnOptions *options, const SrMatrix *train, const SrMatrix *test,
                      int n_k, Work *w, SrKnnResult *result, int64_t *ranked) {
    const SrRowView bank = sr_row_view(train);
    SrBar bar;
    sr_bar_begin(&bar, "neighbours of images", test->n);
    for (int64_t first = 0; first < test->n; first += TEST_BLOCK) {
        sr_bar_at(&bar, first);
        int rows = (int)SR_MIN(test->n - first, TEST_BLOCK);
        for (int i = 0; i < rows; i++)
            w->heaps[i] = (Heap){w->neighbours + (int64_t)i * w->k_max, 0, w->k_max};
        search_block(&bank, NULL, test->x + first * test->d, rows, w->sim, w->heaps);
        for (int i = 0; i < rows; i++)
            judge(options, train, test, first + i, &w->heaps[i], n_k, w, result, ranked);
    }
    sr_bar_end(&bar);
}

SrStatus sr_knn(const SrKnnOptions *options, SrMatrix *train, SrMatrix *test, const int *k, int n_k,
                SrKnnResult *result, int64_t *ranked) {
    if (train->d != test->d || train->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "kNN: test features have length %d, but training features %d",
                test->d, train->d);
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
    float *space;          // TRAIN_BLOCK rows of the bank; NULL: it lies in memory
    Neighbour *neighbours; // (TEST_BLOCK, k)
    Heap heaps[TEST_BLOCK];
} Search;

static void write_neighbours(const Heap *h, int k, int64_t *row, float *similarity) {
    for (int i = 0; i < k; i++) {
        row[i] = i < h->n ? h->at[i].row : -1; // a query of NaN has no neighbours
        similarity[i] = i < h->n ? h->at[i].sim : NAN;
    }
}

static void search_all(Search *s, const SrRowView *bank, const float *queries, int64_t n, int k,
                       int64_t *row, float *similarity) {
    for (int64_t first = 0; first < n; first += TEST_BLOCK) {
        int rows = (int)SR_MIN(n - first, TEST_BLOCK);
        for (int i = 0; i < rows; i++)
            s->heaps[i] = (Heap){s->neighbours + (int64_t)i * k, 0, k};
        search_block(bank, s->space, queries + first * bank->d, rows, s->sim, s->heaps);
        for (int i = 0; i < rows; i++)
            write_neighbours(&s->heaps[i], k, row + (first + i) * k, similarity + (first + i) * k);
    }
}

SrStatus sr_knn_nearest(const SrRowView *bank, const float *queries, int64_t n, int k, int64_t *row,
                        float *similarity) {
    if (k < 1 || k > bank->n || bank->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG,
                "%d neighbours are asked for, but there are %lld rows; expected a number from 1 to "
                "that",
                k, (long long)bank->n);
    Search *s = sr_calloc(1, sizeof *s);
    if (s) {
        s->sim = sr_alloc(sizeof(float) * TEST_BLOCK * TRAIN_BLOCK);
        s->neighbours = sr_calloc((size_t)TEST_BLOCK * (size_t)k, sizeof *s->neighbours);
    }
    bool enough = s && s->sim && s->neighbours &&
                  sr_row_view_space(bank, SR_MIN(bank->n, TRAIN_BLOCK), &s->space) == SR_OK;
    if (enough)
        search_all(s, bank, queries, n, k, row, similarity);
    if (s) {
        sr_free(s->sim);
        sr_free(s->space);
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

// The class is chosen on the training rows.  Choosing on the test labels would give the best
// constant answer, which needs the labels.
double sr_knn_majority(const SrMatrix *train, const SrMatrix *test) {
    int64_t most = 0, chosen = -1, labelled = test->n - count_of(test, -1);
    for (int64_t i = 0; i < train->n; i++) {
        // Each class is counted at its first row.  The search backwards finds an earlier row soon,
        // whether labels are sorted or mixed.  The cost therefore grows with the classes, not with
        // the square of the rows.
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
