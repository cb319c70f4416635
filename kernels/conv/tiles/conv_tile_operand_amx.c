// Operands of tile products: pixels into padded chunks, weights into pairs, both sides of the
// weight gradient, and its sums back into PyTorch's order.
#include "kernels/conv/tiles/conv_tile_kernels.h"
#include "kernels/core/tiles.h"

enum { MOST_PARTS = 3, BLOCK = SR_TILE_BLOCK };

// Reads n numbers from p, followed by zeros: the numbers themselves, or the parts of floats.
T_INLINE void split(const char *p, int parts, int n, H part[MOST_PARTS]) {
    if (parts == 1) {
        part[0] = n >= BLOCK ? h_load(p) : h_load_n(p, n);
        return;
    }
    W rest = n >= BLOCK ? w_load((const float *)p) : w_load_n((const float *)p, n);
    for (int q = 0; q < parts; q++) {
        part[q] = w_round(rest);
        rest = w_sub(rest, h_widen(part[q]));
    }
}

T_INLINE int64_t number_bytes(int parts) { return parts == 1 ? 2 : 4; }

// `whole` is a constant that says that the channels are whole chunks.
T_INLINE void copy_rows(const SrTileCopy *c, int parts, bool whole) {
    char *row = c->to;
    for (int64_t i = 0; i < c->pixels; i++, row += c->row) {
        char *at = row;
        const char *from = c->x + c->table[i] * c->pixel_bytes;
        for (int k = 0; k < c->channels; k += BLOCK, at += c->chunk) {
            H part[MOST_PARTS] = {h_zero(), h_zero(), h_zero()};
            if (c->table[i] >= 0)
                split(from + k * number_bytes(parts), parts, whole ? BLOCK : c->channels - k, part);
            for (int q = 0; q < parts; q++)
                h_store(at + q * c->part, part[q]);
        }
    }
}

static void copy(const SrTileCopy *c) {
    if (c->parts == 1 && c->channels % BLOCK == 0)
        copy_rows(c, 1, true);
    else if (c->parts == 1)
        copy_rows(c, 1, false);
    else if (c->parts == 2)
        copy_rows(c, 2, false);
    else
        copy_rows(c, 3, false);
}

// Splits 32 weights into parts.
T_INLINE void split_weights(const float *w, int n, int step, int parts, H part[MOST_PARTS]) {
    W rest = n > 0 ? w_gather(w, n, step) : w_zero();
    for (int q = 0; q < parts; q++) {
        part[q] = w_round(rest);
        rest = w_sub(rest, h_widen(part[q]));
    }
}

// Packs one tile of outputs k to k + 15 and inputs c to c + 31: 16 rows of inputs, transposed as
// pairs.
T_INLINE void pack_rows(const SrTilePacking *p, int k, int c, int tap, char *to) {
    H rows[MOST_PARTS][16];
    for (int i = 0; i < 16; i++) {
        H part[MOST_PARTS];
        int n = k + i < p->K ? p->C - c : 0;
        split_weights(p->w + ((int64_t)(k + i) * p->C + c) * p->taps + tap, n, p->taps, p->parts,
                      part);
        for (int q = 0; q < p->parts; q++)
            rows[q][i] = part[q];
    }
    for (int q = 0; q < p->parts; q++) {
        h_transpose(rows[q]);
        for (int i = 0; i < 16; i++)
            h_store(to + q * p->part + SR_TILE_LINE * i, rows[q][i]);
    }
}

static void pack_forward(const SrTilePacking *p, int block) {
    int chunks = (p->C + BLOCK - 1) / BLOCK;
    char *to = p->packed + (int64_t)block * chunks * p->taps * SR_TILE_BYTES;
    for (int c = 0; c < chunks; c++)
        for (int t = 0; t < p->taps; t++, to += SR_TILE_BYTES)
            for (int half = 0; half < 2; half++)
                pack_rows(p, BLOCK * block + 16 * half, BLOCK * c, t, to + 1024 * half);
}

static void pack_backward(const SrTilePacking *p, int block) {
    int chunks = (p->K + BLOCK - 1) / BLOCK, c = BLOCK * block;
    char *to = p->packed + (int64_t)block * chunks * p->taps * SR_TILE_BYTES;
    for (int chunk = 0; chunk < chunks; chunk++)
        for (int t = 0; t < p->taps; t++, to += SR_TILE_BYTES)
            for (int i = 0; i < 16; i++) {
                H pair[2][MOST_PARTS], low, high;
                for (int h = 0; h < 2; h++) {
                    int k = BLOCK * chunk + 2 * i + h;
                    const float *w = p->w + ((int64_t)k * p->C + c) * p->taps + t;
                    split_weights(w, k < p->K ? p->C - c : 0, p->taps, p->parts, pair[h]);
                }
                for (int q = 0; q < p->parts; q++) {
                    h_zip(pair[0][q], pair[1][q], &low, &high);
                    h_store(to + q * p->part + SR_TILE_LINE * i, low);
                    h_store(to + q * p->part + 1024 + SR_TILE_LINE * i, high);
                }
            }
}

T_INLINE void pair_rows(const char *const *rows, char *to) {
    for (int i = 0; i < 16; i++) {
        H first, second;
        h_pair(h_load(rows[2 * i]), h_load(rows[2 * i + 1]), &first, &second);
        h_store(to + 128 * i, first);
        h_store(to + 128 * i + 64, second);
    }
}

// Floats are split, and missing channels filled with zeros, in a small block first.
T_INLINE void turn_or_pair(const SrTileTurn *t, bool pairs) {
    _Alignas(SR_ALIGN) SrBf16 part[MOST_PARTS][BLOCK][BLOCK];
    if (t->parts == 1 && t->channels >= BLOCK) {
        pairs ? pair_rows(t->pixel, t->to) : h_turn(t->pixel, t->to);
        return;
    }
    for (int i = 0; i < BLOCK; i++) {
        H v[MOST_PARTS];
        split(t->pixel[i], t->parts, t->channels, v);
        for (int q = 0; q < t->parts; q++)
            h_store(part[q][i], v[q]);
    }
    for (int q = 0; q < t->parts; q++) {
        const char *rows[BLOCK];
        for (int i = 0; i < BLOCK; i++)
            rows[i] = (const char *)part[q][i];
        pairs ? pair_rows(rows, t->to + q * t->part) : h_turn(rows, t->to + q * t->part);
    }
}

static void turn(const SrTileTurn *t) { turn_or_pair(t, false); }
static void pair(const SrTileTurn *t) { turn_or_pair(t, true); }

static void join(const float *sum, float *dw, int64_t dw_row, int rows, int columns) {
    for (int i = 0; i < SR_MIN(rows, BLOCK); i++) {
        float *to = dw + i * dw_row;
        w_store_n(to, w_add(w_load_n(to, columns), w_unpair(w_load(sum + BLOCK * i))), columns);
    }
}

static void join_turned(const float *sum, float *dw, int64_t dw_row, int rows, int columns) {
    for (int half = 0; half < 2; half++) {
        H low[16], high[16]; // sums of rows 0 to 15 and 16 to 31: 16 words each, transposed
        for (int i = 0; i < 16; i++) {
            low[i] = h_load(sum + BLOCK * i + 16 * half);
            high[i] = h_load(sum + BLOCK * (16 + i) + 16 * half);
        }
        h_transpose(low);
        h_transpose(high);
        for (int j = 0; j < 16; j++) {
            int column = pair_column(half, j);
            float v[BLOCK], *to = dw + column * dw_row;
            if (column >= columns)
                continue;
            memcpy(v, &low[j], sizeof low[j]);
            memcpy(v + 16, &high[j], sizeof high[j]);
            w_store_n(to, w_add(w_load_n(to, rows), w_load(v)), rows);
        }
    }
}

static void join_taps(const float *sum, int taps, float *dw, int64_t dw_row, int rows,
                      int columns) {
    int at[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        at[pair_column(i / 16, i % 16)] = i;
    for (int i = 0; i < SR_MIN(rows, BLOCK); i++) {
        float *to = dw + i * dw_row;
        const float *from = sum + BLOCK * i;
        if (taps == 9) // a constant, so that the loop is unrolled
            for (int j = 0; j < SR_MIN(columns, BLOCK); j++, to += 9)
                for (int t = 0; t < 9; t++)
                    to[t] += from[1024 * t + at[j]];
        else
            for (int j = 0; j < SR_MIN(columns, BLOCK); j++, to += taps)
                for (int t = 0; t < taps; t++)
                    to[t] += from[1024 * t + at[j]];
    }
}

const SrTileOperands T_SYMBOL(sr__tile_operands) = {copy, pack_forward, pack_backward, turn,
                                                    pair, join,         join_turned,   join_taps};
