// Packs rows, multiplies them by blocks and bounds the error (row_glance.h).
#include "kernels/core/row_glance.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "kernels/core/block_product.h"
#include "kernels/core/rows.h"

enum { CHUNK = 256 }; // floats of a packed row in a product: the tile's part stays in the cache

// Both factors are rounded by 2^-9 of themselves at most.
#define PAIR_ERROR 0.00393
// Rounding of d sums and of the differences from the centre, per product of lengths.
#define FLOAT_ERROR(d) (((double)(d) + 8) * 0x1p-23)

static float *room(size_t rows, size_t columns) {
    return sr_alloc((rows * columns + 1) * sizeof(float));
}

SrStatus sr_glance_init(SrGlance *g, const SrMachine *machine, const float *centre, int d, int left,
                        int right, int product) {
    bool pairs = SR_CPU_PICK_TILES(machine, sr__block_tiles) != NULL;
    *g = (SrGlance){.machine = machine,
                    .pairs = pairs,
                    .d = d,
                    .width = pairs ? (d + 1) / 2 : d,
                    .left_cap = left,
                    .right_cap = right,
                    .product_cap = product,
                    .centre = centre};
    size_t n = (size_t)left, m = (size_t)right, width = (size_t)g->width;
    g->centre_length = sqrt(sr__rows(machine)->dot(centre, centre, d));
    g->left = room(n + (size_t)product, width); // and those that are picked
    g->shift = room(n, 1);
    g->left_length = room(n, 1);
    g->right = room(width, m);
    g->bias = room(m, 1);
    g->rest = room(m + 1, (size_t)d + 1);
    g->product = room((size_t)product, m);
    g->asks = sr_alloc((size_t)product * sizeof *g->asks);
    SR_TRY_MEMORY(g->left && g->shift && g->left_length && g->right && g->bias && g->rest &&
                      g->product && g->asks,
                  "products of rows");
    return SR_OK;
}

void sr_glance_deinit(SrGlance *g) {
    sr_free(g->left);
    sr_free(g->shift);
    sr_free(g->left_length);
    sr_free(g->right);
    sr_free(g->bias);
    sr_free(g->rest);
    sr_free(g->product);
    sr_free(g->asks);
    *g = (SrGlance){.d = 0};
}

// Packs x - c.  Returns its length, a little too large.
static double pack(const SrGlance *g, const float *x, float *to) {
    const SrRows *rows = sr__rows(g->machine);
    float *rest = g->pairs ? g->rest + (int64_t)g->right_cap * g->width : to;
    for (int k = 0; k < g->d; k++)
        rest[k] = x[k] - g->centre[k];
    if (g->pairs) {
        rest[g->d] = 0;
        rows->cast(SR_BF16, to, SR_F32, rest, 2 * g->width, false);
    }
    return sqrt(rows->dot(rest, rest, g->d)) * (1 + 1e-6);
}

void sr_glance_left(SrGlance *g, const float *a, int n) {
    SR_ASSERT(n <= g->left_cap);
    const SrRows *rows = sr__rows(g->machine);
    g->a = a;
    g->left_n = n;
    for (int i = 0; i < n; i++) {
        const float *x = a + (int64_t)i * g->d;
        g->left_length[i] = (float)(pack(g, x, g->left + (int64_t)i * g->width) * (1 + 1e-6));
        g->shift[i] = (float)(rows->dot(x, g->centre, g->d) - g->centre_length * g->centre_length);
    }
}

void sr_glance_right(SrGlance *g, const float *b, int n) {
    SR_ASSERT(n <= g->right_cap);
    const SrRows *rows = sr__rows(g->machine);
    g->b = b;
    g->right_n = n;
    g->right_length = 0;
    for (int j = 0; j < n; j++) {
        const float *x = b + (int64_t)j * g->d;
        double length = pack(g, x, g->rest + (int64_t)j * g->width);
        // An infinite bound, which a row that is not finite needs, stays.
        g->right_length = isfinite(length) ? SR_MAX(g->right_length, length) : INFINITY;
        g->bias[j] = (float)rows->dot(x, g->centre, g->d);
    }
    sr__block_transpose(g->machine, g->rest, g->width, n, g->width, g->right, g->right_cap);
}

// Copies the picked rows to the end of the others, because a product reads rows at equal distances.
static const float *pick(SrGlance *g, const int32_t *which, int n) {
    float *picked = g->left + (int64_t)g->left_cap * g->width;
    for (int i = 0; i < n; i++)
        memcpy(picked + (int64_t)i * g->width, g->left + (int64_t)which[i] * g->width,
               (size_t)g->width * sizeof *picked);
    return picked;
}

void sr_glance_multiply(SrGlance *g, const int32_t *which, int first, int n) {
    SR_ASSERT(n <= g->product_cap && (which || first + n <= g->left_n));
    const float *a = which ? pick(g, which, n) : g->left + (int64_t)first * g->width;
    for (int i = 0; i < n; i++)
        g->asks[i] = which ? which[i] : first + i;
    for (int l = 0; l < g->width; l += CHUNK) {
        SrBlockProduct p = {.m = n,
                            .n = g->right_n,
                            .k = SR_MIN(CHUNK, g->width - l),
                            .alpha = 1,
                            .a = a + l,
                            .a_row = g->width,
                            .a_step = 1,
                            .b = g->right + (int64_t)l * g->right_cap,
                            .b_row = g->right_cap,
                            .c = g->product,
                            .c_row = g->right_cap,
                            .add = l > 0};
        if (g->pairs)
            sr__block_pair_product(g->machine, &p);
        else
            sr__block_product(g->machine, &p);
    }
}

// Returns the smallest look at which the product may reach the bar.  It is no number, or minus
// infinity, where lengths are not finite; then every look passes.
static float least_look(const SrGlance *g, int32_t ask, float bar) {
    double u = (double)g->left_length[ask], v = g->right_length, c = g->centre_length;
    double error = (g->pairs ? PAIR_ERROR * u * v : 0) + FLOAT_ERROR(g->d) * (u + c) * (v + c);
    double least = (double)bar - (double)g->shift[ask] - error;
    return (float)(least - fabs(least) * 0x1p-22);
}

int sr_glance_next(const SrGlance *g, int i, float bar, int j) {
    const SrRows *rows = sr__rows(g->machine);
    const float *look = g->product + (int64_t)i * g->right_cap, *bias = g->bias;
    float least = least_look(g, g->asks[i], bar);
    int n = g->right_n;
    if (j == 0 && n > 0 && rows->max_sum(look, bias, n) < least)
        return n;
    for (; j < n; j++) {
        int step = SR_MIN(SR_GLANCE_STEP, n - j);
        if (j % SR_GLANCE_STEP == 0 && rows->max_sum(look + j, bias + j, step) < least)
            j += step - 1;
        else if (!(look[j] + bias[j] < least))
            return j;
    }
    return n;
}

float sr_glance_exact(const SrGlance *g, int i, int j) {
    const float *a = g->a + (int64_t)g->asks[i] * g->d, *b = g->b + (int64_t)j * g->d;
    return (float)sr__rows(g->machine)->dot(a, b, g->d);
}
