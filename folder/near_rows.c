// Multiplies blocks of rows and keeps the largest products of each row.
#include "folder/near_rows.h"

#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "kernels/core/gemm.h"

enum { MOST_BLOCK = 2048, LEAST_BLOCK = 64 };

typedef struct {
    const SrNearOptions *o;
    SrNear *out;
    float *a, *b, *product; // (block, d), (block, d), (block, block)
    int block, d;
    int64_t a_first, b_first; // first rows of the present blocks
    int n_a, n_b;             // and their numbers
} Search;

void sr_near_insert(SrNear *list, int k, uint32_t row, float similarity) {
    int at = k - 1;
    while (at > 0 && (list[at - 1].row == UINT32_MAX || list[at - 1].similarity < similarity)) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = (SrNear){row, similarity};
}

// Candidates come in the order of their rows, so that an equal product never takes a place.
static void scan_row(void *arg, int64_t i, int thread) {
    const Search *s = arg;
    const SrNearOptions *o = s->o;
    int64_t from = s->a_first + i;
    SrNear *list = s->out + from * o->k;
    const float *product = s->product + i * s->n_b;
    (void)thread;
    if (o->skip_from && o->skip_from[from])
        return;
    for (int j = 0; j < s->n_b; j++) {
        const SrNear *last = &list[o->k - 1];
        int64_t to = s->b_first + j;
        if (last->row != UINT32_MAX && !(product[j] > last->similarity))
            continue;
        if (!(o->self && to == from) && !(o->skip_to && o->skip_to[to]) && !isnan(product[j]))
            sr_near_insert(list, o->k, (uint32_t)to, product[j]);
    }
}

static void one_block(Search *s, int64_t a, int64_t b) {
    const SrNearOptions *o = s->o;
    s->b_first = b;
    s->n_b = (int)SR_MIN(sr_index_rows(o->to) - b, s->block);
    sr_index_read(o->to, b, s->n_b, s->b);
    s->a_first = a;
    sr_gemm(false, true, s->n_a, s->n_b, s->d, 1.0f, s->a, s->d, s->b, s->d, 0.0f, s->product,
            s->n_b);
    sr_parallel_for(s->n_a, scan_row, s);
}

static SrStatus search(Search *s) {
    const SrNearOptions *o = s->o;
    int64_t rows = sr_index_rows(o->from), others = sr_index_rows(o->to);
    SrStatus status = SR_OK;
    SrBar bar;
    sr_bar_begin(&bar, o->what, rows);
    for (int64_t a = 0; status == SR_OK && a < rows; a += s->block) {
        s->n_a = (int)SR_MIN(rows - a, s->block);
        sr_index_read(o->from, a, s->n_a, s->a);
        for (int64_t b = 0; status == SR_OK && b < others; b += s->block) {
            one_block(s, a, b);
            status = sr_stop_check();
        }
        sr_bar_at(&bar, a + s->n_a);
    }
    sr_bar_end(&bar);
    return status;
}

// Blocks so large that two of them and their products fit.
static int block_of(const SrNearOptions *o, int d) {
    int block = MOST_BLOCK;
    while (block > LEAST_BLOCK &&
           (size_t)block * (2 * (size_t)d + (size_t)block) * sizeof(float) > o->memory)
        block /= 2;
    return block;
}

SrStatus sr_near_rows(const SrNearOptions *o, SrNear *out) {
    Search s = {.o = o, .out = out, .d = sr_index_dim(o->from)};
    if (sr_index_dim(o->to) != s.d)
        SR_FAIL(SR_ERR_CONFIG, "rows of %d and of %d numbers cannot be compared", s.d,
                sr_index_dim(o->to));
    s.block = block_of(o, s.d);
    size_t rows = (size_t)s.block * (size_t)s.d * sizeof(float);
    for (int64_t i = 0; i < sr_index_rows(o->from) * o->k; i++)
        out[i] = (SrNear){UINT32_MAX, -INFINITY};
    s.a = sr_alloc(rows);
    s.b = sr_alloc(rows);
    s.product = sr_alloc((size_t)s.block * (size_t)s.block * sizeof(float));
    SrStatus status = s.a && s.b && s.product ? sr_gemm_reserve() : sr_out_of_memory("blocks");
    if (status == SR_OK)
        status = search(&s);
    sr_free(s.a);
    sr_free(s.b);
    sr_free(s.product);
    return status;
}
