// Products on tile registers, 32 pixels x 32 output channels at a time: tiles 0 to 3 hold sums, 4
// and 5 pixels, 6 and 7 weights.  The four loads and four products of a step take 64 cycles.
#include "kernels/conv/tiles/conv_tile_kernels.h"
#include "kernels/core/tiles.h"

// Facts about the end that an instance of the loops below knows at compile time.
typedef enum { PLAIN, SUMS, ANY } Kind;

// The waiting block while it is written.
typedef struct {
    const float *sum;
    char *const *out;
    int64_t first; // first channel
    int n;         // number of channels
    int row;
    bool stream;
    const SrTileEnd *end;
    W bias, shift, total, square;
} Tail;

T_INLINE W read_number(const SrTileEnd *end, const char *p, int n) {
    return end->type == SR_BF16 ? h_widen(h_load_n(p, n)) : w_load_n((const float *)p, n);
}

// Returns what is in memory after the store.
T_INLINE W write_number(const Tail *t, char *p, W v, bool bf16) {
    if (!bf16) {
        if (t->stream)
            w_stream((float *)p, v);
        else if (t->n == 32)
            w_store((float *)p, v);
        else
            w_store_n((float *)p, v, t->n);
        return v;
    }
    H h = w_round(v);
    if (t->stream)
        h_stream(p, h);
    else if (t->n == 32)
        h_store(p, h);
    else
        h_store_n(p, h, t->n);
    return h_widen(h);
}

T_INLINE void tail_row(Kind kind, bool bf16, Tail *t) {
    char *at = t->out[t->row];
    W v = w_load(t->sum + SR_TILE_BLOCK * t->row);
    t->row++;
    if (!at)
        return;
    at += t->first * (bf16 ? 2 : 4);
    if (kind == ANY) {
        v = w_add(v, t->bias);
        if (t->end->residual)
            v = w_add(v, read_number(t->end, at + t->end->residual_at, t->n));
        v = t->end->relu ? w_relu(v) : v;
    }
    v = write_number(t, at, v, bf16);
    if (kind == SUMS) {
        W d = w_sub(v, t->shift);
        t->total = w_add(t->total, d);
        t->square = w_fma(d, d, t->square);
    }
}

static Tail nothing(void) { return (Tail){.row = SR_TILE_BLOCK}; }

T_INLINE Tail begin_tail(Kind kind, const SrTileEnd *end, SrTilePipe *pipe) {
    if (!pipe->waits)
        return nothing();
    Tail t = {.sum = pipe->sum[pipe->at ^ 1], .out = pipe->out, .end = end};
    t.first = (int64_t)SR_TILE_BLOCK * pipe->block;
    t.n = SR_MIN(SR_TILE_BLOCK, end->channels - (int)t.first);
    t.stream = end->stream && t.n == SR_TILE_BLOCK;
    pipe->waits = false;
    if (kind == ANY)
        t.bias = end->bias ? w_load_n(end->bias + t.first, t.n) : w_zero();
    if (kind != SUMS)
        return t;
    float *sums = end->sums + t.first;
    if (!pipe->begins) {
        t.shift = w_load_n(sums, t.n);
        t.total = w_load_n(sums + end->sums_stride, t.n);
        t.square = w_load_n(sums + 2 * end->sums_stride, t.n);
        return t;
    }
    int row = 0;
    while (!t.out[row])
        row++;
    t.shift = w_load(t.sum + SR_TILE_BLOCK * row);
    t.shift = end->type == SR_BF16 ? h_widen(w_round(t.shift)) : t.shift;
    t.total = t.square = w_zero();
    w_store_n(sums, t.shift, t.n);
    return t;
}

T_INLINE void finish_tail(Kind kind, bool bf16, Tail *t) {
    if (!t->end)
        return;
    while (t->row < SR_TILE_BLOCK)
        tail_row(kind, bf16, t);
    if (kind == SUMS) {
        w_store_n(t->end->sums + t->end->sums_stride + t->first, t->total, t->n);
        w_store_n(t->end->sums + 2 * t->end->sums_stride + t->first, t->square, t->n);
    }
}

T_INLINE void zero_sums(void) {
    T_ZERO(0);
    T_ZERO(1);
    T_ZERO(2);
    T_ZERO(3);
}

T_INLINE void load_sums(const float *sum) {
    T_LOAD(0, sum, 128);
    T_LOAD(1, sum + 16, 128);
    T_LOAD(2, sum + 512, 128);
    T_LOAD(3, sum + 528, 128);
}

T_INLINE void store_sums(float *sum) {
    T_STORE(0, sum, 128);
    T_STORE(1, sum + 16, 128);
    T_STORE(2, sum + 512, 128);
    T_STORE(3, sum + 528, 128);
}

// Computes one block of outputs.  Each step also writes `rows` rows of the block before and fetches
// `lines` lines.
T_INLINE void sum_block(Kind kind, bool bf16, const SrTileProduct *p, int64_t block, Tail *t,
                        int rows, const char *ahead, int lines) {
    const SrTileStep *step = p->step;
    zero_sums();
    for (int g = 0; g < p->groups; g++, step += p->steps)
        for (int c = 0; c < p->chunks; c++)
            for (int s = 0; s < p->steps; s++) {
                const char *w = step[s].weights + block * p->weight_block + c * p->weight_chunk;
                T_LOAD(4, step[s].pixels[0] + c * p->pixel_chunk, step[s].distance[0]);
                T_LOAD(6, w, 64);
                T_PRODUCT(0, 4, 6);
                T_LOAD(7, w + 1024, 64);
                T_PRODUCT(1, 4, 7);
                T_LOAD(5, step[s].pixels[1] + c * p->pixel_chunk, step[s].distance[1]);
                T_PRODUCT(2, 5, 6);
                T_PRODUCT(3, 5, 7);
                for (int i = 0; i < rows && t->row < SR_TILE_BLOCK; i++)
                    tail_row(kind, bf16, t);
                for (int i = 0; i < lines; i++, ahead += SR_TILE_LINE)
                    fetch(ahead);
            }
    store_sums(p->pipe->sum[p->pipe->at]);
}

T_INLINE void product_any(Kind kind, bool bf16, const SrTileProduct *p) {
    SrTilePipe *pipe = p->pipe;
    int total = p->groups * p->steps * p->chunks, blocks = p->block_to - p->block_from;
    int rows = total ? (SR_TILE_BLOCK + total - 1) / total : 0;
    int lines = total ? (p->ahead_lines + blocks * total - 1) / (blocks * total) : 0;
    const char *ahead = p->ahead;
    for (int b = p->block_from; b < p->block_to;
         b++, ahead += (int64_t)lines * total * SR_TILE_LINE) {
        Tail t = begin_tail(kind, p->end, pipe);
        sum_block(kind, bf16, p, b, &t, rows, ahead, lines);
        finish_tail(kind, bf16, &t);
        if (b == p->block_from) // its tail was the last block of the pixels before
            memcpy(pipe->out, p->out, sizeof pipe->out);
        pipe->begins = !pipe->begun;
        pipe->block = b;
        pipe->at ^= 1;
        pipe->waits = true;
    }
    pipe->begun = true;
}

static Kind kind_of(const SrTileEnd *end) {
    bool any = end->bias || end->residual || end->relu;
    return any ? ANY : end->sums ? SUMS : PLAIN;
}

static void product(const SrTileProduct *p) {
    Kind kind = kind_of(p->end);
    bool bf16 = p->end->type == SR_BF16;
    if (kind == PLAIN && bf16)
        product_any(PLAIN, true, p);
    else if (kind == SUMS && bf16)
        product_any(SUMS, true, p);
    else if (bf16)
        product_any(ANY, true, p);
    else if (kind == PLAIN)
        product_any(PLAIN, false, p);
    else if (kind == SUMS)
        product_any(SUMS, false, p);
    else
        product_any(ANY, false, p);
}

T_INLINE void flush_any(Kind kind, bool bf16, const SrTileEnd *end, SrTilePipe *pipe) {
    Tail t = begin_tail(kind, end, pipe);
    finish_tail(kind, bf16, &t);
}

static void flush_block(const SrTileEnd *end, SrTilePipe *pipe) {
    Kind kind = kind_of(end);
    bool bf16 = end->type == SR_BF16;
    if (kind == PLAIN)
        bf16 ? flush_any(PLAIN, true, end, pipe) : flush_any(PLAIN, false, end, pipe);
    else if (kind == SUMS)
        bf16 ? flush_any(SUMS, true, end, pipe) : flush_any(SUMS, false, end, pipe);
    else
        bf16 ? flush_any(ANY, true, end, pipe) : flush_any(ANY, false, end, pipe);
    pipe->begun = false;
    if (end->stream)
        stream_end();
}

static void outer(const SrTileOuter *o) {
    if (o->fresh)
        zero_sums();
    else
        load_sums(o->sum);
    for (int q = 0; q < o->products; q++) {
        const char *a = o->a[q], *b = o->b[q];
        for (int i = 0; i < o->steps; i++, a += SR_TILE_BYTES, b += SR_TILE_BYTES) {
            T_LOAD(4, a, 64);
            T_LOAD(6, b, 128);
            T_PRODUCT(0, 4, 6);
            T_LOAD(7, b + 64, 128);
            T_PRODUCT(1, 4, 7);
            T_LOAD(5, a + 1024, 64);
            T_PRODUCT(2, 5, 6);
            T_PRODUCT(3, 5, 7);
        }
    }
    store_sums(o->sum);
}

static void configure(void) { tiles_configure(); }
static void release(void) { tiles_release(); }

const SrTileProducts T_SYMBOL(sr__tile_products) = {configure, release, product, flush_block,
                                                    outer};
