// Weighted kNN: a look at tiles of similarities, one bounded heap of exact ones per test image, and
// the vote.
//
// The cost is n_test * n_train * d multiply-adds.  Memory is a tile of similarities per thread and
// k neighbours for each test image of a block.
#include "measure/neighbours/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/core/row_glance.h"
#include "kernels/core/rows.h"

enum {
    TEST_BLOCK = 256,  // test rows per thread and multiplication, at most
    TRAIN_BLOCK = 512, // training rows in a multiplication
    TRAIN_READ = 4096, // training rows that are read at once
    FEW = 3            // test rows for which a first look costs more than it spares
};

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

// Takes blocks of test rows through the training rows.  Each thread takes a part of a block.
typedef struct {
    const SrRowView *train;
    int threads, part;     // test rows of a thread
    int k;                 // neighbours of a test row
    Neighbour *neighbours; // (block_rows, k)
    Heap *heaps;           // (block_rows)
    float *centre;         // (d) near the mean of the training rows
    SrGlance *glance;      // (threads); NULL: parts are too small for a first look
    float *space;          // TRAIN_READ training rows; NULL: they lie in memory
    const float *test;     // (rows, d) the present block
    int rows;
    const float *x; // (columns, d) the present training rows
    int64_t first;  // number of the first of them
    int columns;
} Search;

static int block_rows(const Search *s) { return s->part * s->threads; } // at most

static void search_deinit(Search *s) {
    for (int i = 0; s->glance && i < s->threads; i++)
        sr_glance_deinit(&s->glance[i]);
    sr_free(s->glance);
    sr_free(s->centre);
    sr_free(s->space);
    sr_free(s->neighbours);
    sr_free(s->heaps);
}

static SrStatus prepare_glances(Search *s) {
    int d = s->train->d;
    s->centre = sr_alloc((size_t)d * sizeof *s->centre);
    s->glance = sr_calloc((size_t)s->threads, sizeof *s->glance);
    SR_TRY_MEMORY(s->centre && s->glance, "a first look at rows of %d numbers", d);
    SR_TRY(sr_row_view_middle(s->train, s->centre));
    for (int i = 0; i < s->threads; i++)
        SR_TRY(sr_glance_init(&s->glance[i], sr_machine_default(), s->centre, d, s->part,
                              TRAIN_BLOCK, s->part));
    return SR_OK;
}

// Prepares searches for the k neighbours of `tests` rows.  Free with search_deinit, also after a
// failure.
static SrStatus search_init(Search *s, const SrRowView *train, int64_t tests, int k) {
    int threads = sr_parallel_threads();
    *s = (Search){.train = train, .threads = threads, .k = k};
    s->part = (int)SR_MAX(SR_MIN((tests + threads - 1) / threads, TEST_BLOCK), 1);
    s->neighbours = sr_calloc((size_t)block_rows(s) * (size_t)k, sizeof *s->neighbours);
    s->heaps = sr_calloc((size_t)block_rows(s), sizeof *s->heaps);
    SR_TRY_MEMORY(s->neighbours && s->heaps, "%d neighbours", k);
    SR_TRY(sr_row_view_space(train, SR_MIN(train->n, TRAIN_READ), &s->space));
    return s->part > FEW ? prepare_glances(s) : SR_OK;
}

// Offers the training rows of a tile to test row i of the thread's part.
static void scan_row(const Search *s, const SrGlance *g, int i, Heap *h, int64_t first, int n) {
    float bar = h->n == h->cap ? h->at[0].sim : -INFINITY;
    for (int j = sr_glance_next(g, i, bar, 0); j < n; j = sr_glance_next(g, i, bar, j + 1)) {
        if (sr_row_view_label(s->train, first + j) < 0)
            continue;
        heap_offer(h, (Neighbour){sr_glance_exact(g, i, j), (int32_t)(first + j)});
        bar = h->n == h->cap ? h->at[0].sim : -INFINITY;
    }
}

static void search_few(const Search *s, int from, int rows) {
    const SrRows *k = sr__rows(sr_machine_default());
    int d = s->train->d;
    for (int j = 0; j < s->columns; j++)
        for (int i = from; i < from + rows && sr_row_view_label(s->train, s->first + j) >= 0; i++) {
            double sim = k->dot(s->test + (int64_t)i * d, s->x + (int64_t)j * d, d);
            heap_offer(&s->heaps[i], (Neighbour){(float)sim, (int32_t)(s->first + j)});
        }
}

static void search_part(void *arg, int64_t p, int thread) {
    Search *s = arg;
    int from = (int)p * s->part, rows = SR_MIN(s->rows - from, s->part);
    if (rows <= FEW) {
        search_few(s, from, rows);
        return;
    }
    SrGlance *g = &s->glance[thread];
    sr_glance_left(g, s->test + (int64_t)from * s->train->d, rows);
    for (int j = 0; j < s->columns; j += TRAIN_BLOCK) {
        int n = SR_MIN(s->columns - j, TRAIN_BLOCK);
        sr_glance_right(g, s->x + (int64_t)j * s->train->d, n);
        sr_glance_multiply(g, NULL, 0, rows);
        for (int i = 0; i < rows; i++)
            scan_row(s, g, i, &s->heaps[from + i], s->first + j, n);
    }
}

// Searches for the next test rows of (n, d) from row `first` on, and returns how many these are.
// Their heaps are sorted, best first.
static int search_block(Search *s, const float *test, int64_t n, int64_t first) {
    s->test = test + first * s->train->d;
    s->rows = (int)SR_MIN(n - first, block_rows(s));
    for (int i = 0; i < s->rows; i++)
        s->heaps[i] = (Heap){s->neighbours + (int64_t)i * s->k, 0, s->k};
    for (s->first = 0; s->first < s->train->n; s->first += s->columns) {
        s->columns = (int)SR_MIN(s->train->n - s->first, TRAIN_READ);
        s->x = sr_row_view_at_once(s->train, s->first, s->columns, s->space);
        sr_parallel_for((s->rows + s->part - 1) / s->part, search_part, s);
    }
    for (int i = 0; i < s->rows; i++)
        qsort(s->heaps[i].at, (size_t)s->heaps[i].n, sizeof(Neighbour), best_first);
    return s->rows;
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
    SrRowView bank; // the training rows
    Search search;
    double *votes; // (classes)
    int k_max, classes;
} Work;

// Counts the classes of the training labels and takes the largest k.
static SrStatus count_classes(Work *w, const SrMatrix *train, const int *k, int n_k) {
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
    return SR_OK;
}

static SrStatus work_init(Work *w, const SrMatrix *train, int64_t tests) {
    w->bank = sr_row_view(train);
    w->votes = sr_calloc((size_t)w->classes, sizeof *w->votes);
    SR_TRY_MEMORY(w->votes, "%d classes", w->classes);
    return search_init(&w->search, &w->bank, tests, w->k_max);
}

// Safe for a Work whose work_init failed.
static void work_deinit(Work *w) {
    search_deinit(&w->search);
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
    SrBar bar;
    sr_bar_begin(&bar, "neighbours of images", test->n);
    for (int64_t first = 0, rows; first < test->n; first += rows) {
        sr_bar_at(&bar, first);
        rows = search_block(&w->search, test->x, test->n, first);
        for (int64_t i = 0; i < rows; i++)
            judge(options, train, test, first + i, &w->search.heaps[i], n_k, w, result, ranked);
    }
    sr_bar_end(&bar);
}

SrStatus sr_knn(const SrKnnOptions *options, SrMatrix *train, SrMatrix *test, const int *k, int n_k,
                SrKnnResult *result, int64_t *ranked) {
    if (train->d != test->d || train->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "kNN: test features have length %d, but training features %d",
                test->d, train->d);
    Work w = {.classes = 1};
    double ratio = 1;
    SrStatus status;
    SR_TRY_GOTO(count_classes(&w, train, k, n_k));
    if (options->l2_norm) {
        sr_matrix_normalize(train, 0);
        sr_matrix_normalize(test, 0);
    } else {
        SR_TRY_GOTO(sr_matrix_length_ratio(train, &ratio));
    }
    SR_TRY_GOTO(work_init(&w, train, test->n));
    for (int j = 0; j < n_k; j++)
        result[j] = (SrKnnResult){.k = SR_MIN(k[j], w.k_max), .length_ratio = ratio};
    judge_all(options, train, test, n_k, &w, result, ranked);
    for (int j = 0; j < n_k; j++) {
        result[j].top1 *= result[j].n ? 100.0 / (double)result[j].n : 0;
        result[j].top5 *= result[j].n ? 100.0 / (double)result[j].n : 0;
    }
done:
    work_deinit(&w);
    return status;
}

// ---- neighbours alone ---------------------------------------------------------------------------

static void write_neighbours(const Heap *h, int k, int64_t *row, float *similarity) {
    for (int i = 0; i < k; i++) {
        row[i] = i < h->n ? h->at[i].row : -1; // a query of NaN has no neighbours
        similarity[i] = i < h->n ? h->at[i].sim : NAN;
    }
}

SrStatus sr_knn_nearest(const SrRowView *bank, const float *queries, int64_t n, int k, int64_t *row,
                        float *similarity) {
    if (k < 1 || k > bank->n || bank->n > INT32_MAX)
        SR_FAIL(SR_ERR_CONFIG,
                "%d neighbours are asked for, but there are %lld rows; expected a number from 1 to "
                "that",
                k, (long long)bank->n);
    Search s;
    SrStatus status = search_init(&s, bank, n, k);
    for (int64_t first = 0, rows; status == SR_OK && first < n; first += rows) {
        rows = search_block(&s, queries, n, first);
        for (int64_t i = 0; i < rows; i++)
            write_neighbours(&s.heaps[i], k, row + (first + i) * k, similarity + (first + i) * k);
    }
    search_deinit(&s);
    return status;
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
