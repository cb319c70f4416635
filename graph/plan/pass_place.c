// The place pass gives buffers their addresses.  A buffer lives from the first to the last call
// that touches it, and buffers whose spans do not meet may share bytes.
//
// Buffers are placed by decreasing size, each in the smallest gap that fits between those that it
// meets ("greedy by size" of Pisarchyk and Lee, "Efficient memory management for deep neural net
// inference", 2020).  Time is quadratic in the number of buffers, a few thousand at most.
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "graph/plan/plan_internal.h"

// Calls are visited in order, so the first touch opens the span and the last one closes it.
static void touch(SrPlan *plan, int buffer, int call) {
    if (buffer == SR_NO_BUFFER)
        return;
    SrBuffer *b = &plan->buffers[buffer];
    if (b->first < 0)
        b->first = call;
    b->last = call;
}

static void find_spans(SrPlan *plan) {
    for (int c = 0; c < plan->n_calls; c++) {
        const SrPlanCall *call = &plan->calls[c];
        touch(plan, call->y, c);
        touch(plan, call->dy, c);
        touch(plan, call->prepared, c);
        touch(plan, call->sums, c);
        touch(plan, call->x_sums, c);
        touch(plan, call->saved, c);
        touch(plan, call->scratch, c);
        for (int i = 0; i < SR_OP_MAX_IN; i++) {
            touch(plan, call->x[i], c);
            touch(plan, call->dx[i], c);
        }
    }
    for (int i = 0; i < plan->n_buffers; i++) {
        SrBuffer *b = &plan->buffers[i];
        // The host fills inputs before the first call and reads results after the last.
        if (b->whole_run)
            b->first = 0;
        if (b->whole_run || b->to_end)
            b->last = plan->n_calls;
    }
}

// Returns the offset of `b`.  `placed` is in order of offset.
static size_t best_gap(const SrBuffer *b, SrBuffer *const *placed, int n) {
    size_t end = 0, best = SIZE_MAX, best_gap_bytes = SIZE_MAX; // end: of what meets b so far
    for (int i = 0; i < n; i++) {
        const SrBuffer *p = placed[i];
        if (!sr__buffers_meet(b, p)) // may lie under b
            continue;
        size_t gap = p->offset > end ? p->offset - end : 0;
        if (gap >= b->bytes && gap < best_gap_bytes) {
            best = end;
            best_gap_bytes = gap;
        }
        end = SR_MAX(end, p->offset + p->bytes);
    }
    return best == SIZE_MAX ? end : best; // no gap: after all buffers that it meets
}

// Compares by size, then by number, so that addresses do not depend on the sort algorithm.
static int larger_first(const void *x, const void *y) {
    const SrBuffer *a = *(SrBuffer *const *)x, *b = *(SrBuffer *const *)y;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

SrStatus sr__pass_place(SrPlan *plan) {
    find_spans(plan);
    size_t n = (size_t)plan->n_buffers;
    SrBuffer **order = sr_calloc(n + 1, sizeof *order), **placed = sr_calloc(n + 1, sizeof *placed);
    if (!order || !placed) {
        sr_free(order);
        sr_free(placed);
        return sr_out_of_memory("placing %d buffers", plan->n_buffers);
    }
    for (size_t i = 0; i < n; i++)
        order[i] = &plan->buffers[i];
    qsort(order, n, sizeof *order, larger_first);
    plan->memory_bytes = 0;
    for (int i = 0; i < plan->n_buffers; i++) {
        SrBuffer *b = order[i];
        b->offset = best_gap(b, placed, i);
        plan->memory_bytes = SR_MAX(plan->memory_bytes, b->offset + b->bytes);
        // Keep `placed` in order of offset by insertion.
        int at = i;
        for (; at > 0 && placed[at - 1]->offset > b->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = b;
    }
    sr_free(order);
    sr_free(placed);
    return SR_OK;
}

size_t sr__plan_live_bytes(const SrPlan *plan) {
    size_t most = 0;
    for (int c = 0; c <= plan->n_calls; c++) {
        size_t live = 0;
        for (int i = 0; i < plan->n_buffers; i++)
            if (plan->buffers[i].first <= c && c <= plan->buffers[i].last)
                live += plan->buffers[i].bytes;
        most = SR_MAX(most, live);
    }
    return most;
}
