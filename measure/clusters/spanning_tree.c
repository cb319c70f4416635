// Prim's algorithm over rows, and the walk over its edges from the shortest to the longest.
#include "measure/clusters/spanning_tree.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "measure/clusters/row_distances.h"

static int by_length(const void *a, const void *b) {
    const SrTreeEdge *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? 1 : -1;
    if (x->from != y->from)
        return x->from > y->from ? 1 : -1;
    return (x->to > y->to) - (x->to < y->to);
}

typedef struct {
    SrRowDistances to;         // distances to one row
    float *query;              // (d) the newest row of the tree
    float *distance, *nearest; // (n) to the newest row; to the tree, -1: the row is in the tree
    int64_t *parent;           // (n) row of the tree that is nearest
} Prim;

static SrStatus prim_init(const SrRowView *rows, Prim *p) {
    size_t n = (size_t)rows->n;
    *p = (Prim){.query = sr_alloc((size_t)rows->d * sizeof *p->query),
                .distance = sr_alloc(n * sizeof *p->distance),
                .nearest = sr_alloc(n * sizeof *p->nearest),
                .parent = sr_calloc(n, sizeof *p->parent)};
    SR_TRY_MEMORY(p->query && p->distance && p->nearest && p->parent, "the tree of %lld images",
                  (long long)rows->n);
    return sr_row_distances_init(rows, &p->to);
}

static void prim_deinit(Prim *p) {
    sr_row_distances_deinit(&p->to);
    sr_free(p->query);
    sr_free(p->distance);
    sr_free(p->nearest);
    sr_free(p->parent);
}

// Compares the rows outside the tree with its newest row.  Returns the one that is nearest to the
// tree, the smaller of several.
static int64_t next_row(Prim *p, int64_t n, int64_t newest) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++) {
        if (p->nearest[i] < 0)
            continue;
        if (p->distance[i] < p->nearest[i]) {
            p->nearest[i] = p->distance[i];
            p->parent[i] = newest;
        }
        if (best < 0 || p->nearest[i] < p->nearest[best])
            best = i;
    }
    return best;
}

static void grow(const SrRowView *rows, Prim *p, SrTreeEdge *edge) {
    SrBar bar;
    int64_t newest = 0;
    sr_bar_begin(&bar, "tree of images", rows->n);
    for (int64_t i = 1; i < rows->n; i++)
        p->nearest[i] = FLT_MAX;
    p->nearest[0] = -1;
    for (int64_t e = 0; e < rows->n - 1; e++) {
        sr_bar_at(&bar, e);
        sr_row_distances(&p->to, sr_row_view_at(rows, newest, 1, p->query), p->distance);
        int64_t i = next_row(p, rows->n, newest);
        edge[e] =
            (SrTreeEdge){SR_MIN(i, p->parent[i]), SR_MAX(i, p->parent[i]), sqrtf(p->nearest[i])};
        p->nearest[i] = -1;
        newest = i;
    }
    sr_bar_end(&bar);
}

SrStatus sr_spanning_tree(const SrRowView *rows, SrTreeEdge *edge) {
    Prim p;
    SrStatus status = prim_init(rows, &p);
    if (status == SR_OK)
        grow(rows, &p, edge);
    prim_deinit(&p);
    if (status == SR_OK)
        qsort(edge, (size_t)(rows->n - 1), sizeof *edge, by_length);
    return status;
}

// ---- single linkage -----------------------------------------------------------------------------

// Groups as linked lists, so that the rows of the smaller side can be visited.  Each row is
// visited at most log2(n) times, because its group at least doubles.
typedef struct {
    int64_t *group;       // (n) the group's first row
    int64_t *next, *last; // (n) next row of the list, -1: none; last row of the list of a first row
    int64_t *size;        // (n) rows of the group of a first row
} Groups;

static void mark(const Groups *g, int64_t first, float height, float *leaf) {
    for (int64_t i = first; i >= 0; i = g->next[i])
        leaf[i] = height;
}

// Appends the rows of group b to those of group a.
static void join(Groups *g, int64_t a, int64_t b) {
    for (int64_t i = b; i >= 0; i = g->next[i])
        g->group[i] = a;
    g->next[g->last[a]] = b;
    g->last[a] = g->last[b];
    g->size[a] += g->size[b];
}

static void walk(const SrTreeEdge *edge, int64_t n, int64_t largest, Groups *g, float *leaf) {
    for (int64_t i = 0; i < n; i++) {
        g->group[i] = g->last[i] = i;
        g->next[i] = -1;
        g->size[i] = 1;
        leaf[i] = 0;
    }
    for (int64_t e = 0; e < n - 1; e++) {
        int64_t a = g->group[edge[e].from], b = g->group[edge[e].to];
        int64_t small = g->size[a] < g->size[b] ? a : b, big = small == a ? b : a;
        if (g->size[small] <= largest)
            mark(g, small, edge[e].length, leaf);
        if (g->size[small] == g->size[big] && g->size[big] <= largest)
            mark(g, big, edge[e].length, leaf);
        join(g, big, small);
    }
}

SrStatus sr_leaf_distances(const SrTreeEdge *edge, int64_t n, int64_t largest, float *leaf) {
    size_t bytes = (size_t)n * sizeof(int64_t);
    Groups g = {sr_alloc(bytes), sr_alloc(bytes), sr_alloc(bytes), sr_alloc(bytes)};
    bool enough = g.group && g.next && g.last && g.size;
    if (enough)
        walk(edge, n, largest, &g, leaf);
    sr_free(g.group);
    sr_free(g.next);
    sr_free(g.last);
    sr_free(g.size);
    return enough ? SR_OK : sr_out_of_memory("groups of %lld images", (long long)n);
}
