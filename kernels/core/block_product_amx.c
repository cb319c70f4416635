// Products of bfloat16 pairs (block_product.h) on tile registers.  A row of a tile is a contiguous
// row of pairs, on either side of the product, so whole tiles are read in place.  Blocks that end
// inside a tile are copied and padded with zeros.  A left operand whose rows are not contiguous is
// transposed, 16 x 16 pairs at a time.
#include "kernels/core/block_product.h"

#include "kernels/core/tiles.h"

enum {
    SIDE = 16, // rows of a tile, pairs of a row
    // Rows and columns computed together: tiles 0 to 3 are sums, 4 and 5 left, 6 and 7 right
    // operands.
    BLOCK = 2 * SIDE,
    // chunks of pairs at a time: two rows of left tiles, 16 KB, stay in the first-level cache
    CHUNKS = 8,
    TILE = SIDE * SIDE
};

typedef struct {
    const float *at;
    int64_t row; // lanes from row to row
} Tile;

// Returns the left tile of rows i and up, pairs l and up; a tile that must be made goes to space
// (TILE).
T_INLINE Tile left_tile(const SrBlockProduct *p, int i, int l, float *space) {
    const float *a = p->a + i * p->a_row + l * p->a_step;
    int rows = SR_MIN(SIDE, p->m - i), pairs = SR_MIN(SIDE, p->k - l);
    bool turned = p->a_step != 1;
    if (!turned && rows == SIDE && pairs == SIDE)
        return (Tile){a, p->a_row};
    H r[SIDE];
    for (int j = 0; j < SIDE; j++)
        if (turned)
            r[j] = j < pairs ? h_load_n(a + j * p->a_step, 2 * rows) : h_zero();
        else
            r[j] = j < rows ? h_load_n(a + j * p->a_row, 2 * pairs) : h_zero();
    if (turned)
        h_transpose(r);
    for (int j = 0; j < SIDE; j++)
        h_store(space + j * SIDE, r[j]);
    return (Tile){space, SIDE};
}

// Returns the right tile of pairs l and up, columns j and up.
T_INLINE Tile right_tile(const SrBlockProduct *p, int l, int j, float *space) {
    const float *b = p->b + l * p->b_row + j;
    int pairs = SR_MIN(SIDE, p->k - l), columns = SR_MIN(SIDE, p->n - j);
    if (pairs == SIDE && columns == SIDE)
        return (Tile){b, p->b_row};
    for (int i = 0; i < SIDE; i++)
        h_store(space + i * SIDE, i < pairs ? h_load_n(b + i * p->b_row, 2 * columns) : h_zero());
    return (Tile){space, SIDE};
}

// A panel: two rows of left tiles.
typedef struct {
    _Alignas(SR_ALIGN) float space[2][CHUNKS][TILE];
    Tile tile[2][CHUNKS];
    int first, rows, chunks;
} Panel;

T_INLINE void take_panel(const SrBlockProduct *p, int i, Panel *panel) {
    panel->first = i;
    panel->rows = SR_MIN(BLOCK, p->m - i);
    panel->chunks = (p->k + SIDE - 1) / SIDE;
    for (int half = 0; half * SIDE < panel->rows; half++)
        for (int c = 0; c < panel->chunks; c++)
            panel->tile[half][c] = left_tile(p, i + half * SIDE, c * SIDE, panel->space[half][c]);
}

T_INLINE void begin_sums(const float *from, int64_t row) {
    if (!from) {
        T_ZERO(0);
        T_ZERO(1);
        T_ZERO(2);
        T_ZERO(3);
        return;
    }
    T_LOAD(0, from, 4 * row);
    T_LOAD(1, from + SIDE, 4 * row);
    T_LOAD(2, from + SIDE * row, 4 * row);
    T_LOAD(3, from + SIDE * row + SIDE, 4 * row);
}

T_INLINE void store_sums(float *to, int64_t row) {
    T_STORE(0, to, 4 * row);
    T_STORE(1, to + SIDE, 4 * row);
    T_STORE(2, to + SIDE * row, 4 * row);
    T_STORE(3, to + SIDE * row + SIDE, 4 * row);
}

// Adds the panel times columns j and up to the sums.
T_INLINE void add_products(const SrBlockProduct *p, const Panel *panel, int j) {
    _Alignas(SR_ALIGN) float space[2][TILE];
    bool down = panel->rows > SIDE, across = p->n - j > SIDE;
    for (int c = 0; c < panel->chunks; c++) {
        Tile left = panel->tile[0][c], right = right_tile(p, c * SIDE, j, space[0]);
        T_LOAD(4, left.at, 4 * left.row);
        T_LOAD(6, right.at, 4 * right.row);
        T_PRODUCT(0, 4, 6);
        if (across) {
            right = right_tile(p, c * SIDE, j + SIDE, space[1]);
            T_LOAD(7, right.at, 4 * right.row);
            T_PRODUCT(1, 4, 7);
        }
        if (!down)
            continue;
        left = panel->tile[1][c];
        T_LOAD(5, left.at, 4 * left.row);
        T_PRODUCT(2, 5, 6);
        if (across)
            T_PRODUCT(3, 5, 7);
    }
}

// Writes c (rows, columns) = or += alpha sum.
T_INLINE void leave(const SrBlockProduct *p, const float *sum, float *c, int rows, int columns) {
    W alpha = w_set1(p->alpha);
    for (int r = 0; r < rows; r++, c += p->c_row)
        w_store_n(c,
                  w_fma(alpha, w_load(sum + r * BLOCK), p->add ? w_load_n(c, columns) : w_zero()),
                  columns);
}

// A whole block that is not multiplied by alpha is summed in place.
T_INLINE void block(const SrBlockProduct *p, const Panel *panel, int j) {
    _Alignas(SR_ALIGN) float sum[BLOCK * BLOCK];
    int columns = SR_MIN(BLOCK, p->n - j);
    float *c = p->c + panel->first * p->c_row + j;
    if (p->alpha == 1 && panel->rows == BLOCK && columns == BLOCK) {
        begin_sums(p->add ? c : NULL, p->c_row);
        add_products(p, panel, j);
        store_sums(c, p->c_row);
        return;
    }
    begin_sums(NULL, 0);
    add_products(p, panel, j);
    store_sums(sum, BLOCK);
    leave(p, sum, c, panel->rows, columns);
}

static void some_pairs(const SrBlockProduct *p) {
    Panel panel;
    for (int i = 0; i < p->m; i += BLOCK) {
        take_panel(p, i, &panel);
        for (int j = 0; j < p->n; j += BLOCK)
            block(p, &panel, j);
    }
}

static void pair_product(const SrBlockProduct *p) {
    tiles_configure();
    SrBlockProduct some = *p;
    for (int l = 0; l < p->k; l += some.k, some.add = true) {
        some.k = SR_MIN(CHUNKS * SIDE, p->k - l);
        some.a = p->a + l * p->a_step;
        some.b = p->b + l * p->b_row;
        some_pairs(&some);
    }
    tiles_release();
}

const SrBlockTiles T_SYMBOL(sr__block_tiles) = {SIDE, pair_product};
