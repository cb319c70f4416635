// Normalised cross-correlation of a picture with the parts of another one.
#include "folder/picture_match.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "kernels/core/rows.h"

enum { SIDE = SR_PICTURE_SIDE, SMALLEST = 22, STEP = 2 };
// A part counts only if it holds this share of the picture's variance per pixel: flat parts of two
// pictures match by chance.
#define LEAST_DETAIL 0.25
#define LEAST_REFINED 0.6 // places of a lower score are not refined

// Sums of values and of squares over the rectangle above and left of each pixel.
typedef struct {
    double sum[SIDE + 1][SIDE + 1], squares[SIDE + 1][SIDE + 1];
} Sums;

static void sums_of(const float *x, Sums *s) {
    memset(s, 0, sizeof *s);
    for (int h = 0; h < SIDE; h++)
        for (int w = 0; w < SIDE; w++) {
            double v = (double)x[h * SIDE + w];
            s->sum[h + 1][w + 1] = v + s->sum[h][w + 1] + s->sum[h + 1][w] - s->sum[h][w];
            s->squares[h + 1][w + 1] =
                v * v + s->squares[h][w + 1] + s->squares[h + 1][w] - s->squares[h][w];
        }
}

static double over(const double t[SIDE + 1][SIDE + 1], int h, int w, int side) {
    return t[h + side][w + side] - t[h][w + side] - t[h + side][w] + t[h][w];
}

// Shrinks a picture to side x side by averages over fractions of pixels, in one direction each.
static void shrink_row(const float *x, int stride, int side, float *y, int y_stride) {
    float scale = (float)SIDE / (float)side;
    for (int i = 0; i < side; i++) {
        float from = (float)i * scale, to = (float)(i + 1) * scale, sum = 0;
        for (int k = (int)from; k < SIDE && (float)k < to; k++)
            sum += x[k * stride] * (SR_MIN((float)(k + 1), to) - SR_MAX((float)k, from));
        y[i * y_stride] = sum / scale;
    }
}

static void shrink(const float *x, int side, float *y) {
    float rows[SIDE * SIDE];
    for (int h = 0; h < SIDE; h++)
        shrink_row(x + h * SIDE, 1, side, rows + h * side, 1);
    for (int w = 0; w < side; w++)
        shrink_row(rows + w, side, side, y + w, side);
}

// Makes the mean 0 and the length 1.  Returns false for a flat picture.
static bool normalize(float *x, int n) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i];
    for (int i = 0; i < n; i++) {
        x[i] = (float)((double)x[i] - sum / n);
        squares += (double)x[i] * (double)x[i];
    }
    if (squares < 1e-12)
        return false;
    for (int i = 0; i < n; i++)
        x[i] = (float)((double)x[i] / sqrt(squares));
    return true;
}

// Correlation of the part of `a` at (h, w) with `part` (side, side), which has mean 0 and length 1.
static double at(const float *a, const Sums *s, const float *part, int h, int w, int side,
                 double least) {
    const SrRows *rows = sr__rows(sr_machine_default());
    int n = side * side;
    double sum = over(s->sum, h, w, side), dot = 0;
    double variance = over(s->squares, h, w, side) - sum * sum / n;
    if (variance < least * n)
        return 0;
    for (int k = 0; k < side; k++)
        dot += (double)rows->float_dot(SR_F32, a + (h + k) * SIDE + w, part + k * side, side);
    return dot / sqrt(variance);
}

// A place of the whole of `b` in `a`: its corner and its side, in pixels.
typedef struct {
    double h, w, side, score;
} Place;

// Averages each number with its neighbours along rows, then along columns: 1/4, 1/2, 1/4.  The
// finest detail of small pictures depends on where their pixels lie: it is left out.
static void smooth(float *x) {
    float above[SIDE];
    for (float *row = x; row < x + SIDE * SIDE; row += SIDE) {
        float before = row[0];
        for (int i = 0; i < SIDE; i++) {
            float here = row[i], after = row[SR_MIN(i + 1, SIDE - 1)];
            row[i] = 0.25f * (before + after) + 0.5f * here;
            before = here;
        }
    }
    memcpy(above, x, sizeof above);
    for (int h = 0; h < SIDE; h++) {
        float *row = x + h * SIDE;
        const float *below = x + SR_MIN(h + 1, SIDE - 1) * SIDE;
        for (int w = 0; w < SIDE; w++) {
            float here = row[w], after = below[w];
            row[w] = 0.25f * (above[w] + after) + 0.5f * here;
            above[w] = here;
        }
    }
}

// Cubic interpolation through four neighbours, the derivative of which is continuous (Keys,
// "Cubic Convolution Interpolation for Digital Image Processing", 1981, a = -1/2).
typedef struct {
    int at[4]; // of the neighbours, inside the picture
    float weight[4];
} Taps;

static void taps_of(double from, double scale, Taps *taps) {
    for (int i = 0; i < SIDE; i++) {
        double x = from + (i + 0.5) * scale - 0.5, t = x - floor(x);
        const double w[4] = {t * (t * (2 - t) - 1) / 2, (t * t * (3 * t - 5) + 2) / 2,
                             t * (t * (4 - 3 * t) + 1) / 2, t * t * (t - 1) / 2};
        for (int k = 0; k < 4; k++) {
            taps[i].at[k] = SR_MIN(SR_MAX((int)floor(x) - 1 + k, 0), SIDE - 1);
            taps[i].weight[k] = (float)w[k];
        }
    }
}

// Correlation of `b` (smooth, mean 0, length 1) with the part of `a`, whose values are
// interpolated.
static double between(const float *a, const float *b, const Place *p) {
    float rows[SIDE * SIDE], x[SIDE * SIDE];
    Taps down[SIDE], across[SIDE];
    taps_of(p->h, p->side / SIDE, down);
    taps_of(p->w, p->side / SIDE, across);
    for (int h = 0; h < SIDE; h++) {
        const int *at = down[h].at;
        const float *t = down[h].weight, *a0 = a + at[0] * SIDE, *a1 = a + at[1] * SIDE,
                    *a2 = a + at[2] * SIDE, *a3 = a + at[3] * SIDE;
        for (int w = 0; w < SIDE; w++)
            rows[h * SIDE + w] = t[0] * a0[w] + t[1] * a1[w] + t[2] * a2[w] + t[3] * a3[w];
    }
    for (int h = 0; h < SIDE; h++)
        for (int w = 0; w < SIDE; w++) {
            const int *at = across[w].at;
            const float *t = across[w].weight, *row = rows + h * SIDE;
            x[h * SIDE + w] =
                t[0] * row[at[0]] + t[1] * row[at[1]] + t[2] * row[at[2]] + t[3] * row[at[3]];
        }
    smooth(x);
    if (!normalize(x, SIDE * SIDE))
        return 0;
    return sr__rows(sr_machine_default())->dot(x, b, SIDE * SIDE);
}

// Moves and scales the place by fractions of a pixel while that helps.
static void refine(const float *a, const float *b, Place *best) {
    static const double moves[][3] = {{0, 1, 0},   {0, -1, 0}, {1, 0, 0},     {-1, 0, 0},
                                      {0, 0, 1},   {0, 0, -1}, {-.5, -.5, 1}, {.5, .5, -1},
                                      {-1, -1, 1}, {1, 1, -1}};
    best->score = between(a, b, best);
    for (double step = 0.5; step > 0.2; step /= 2)
        for (bool better = true; better;) {
            better = false;
            for (int m = 0; m < SR_COUNT(moves); m++) {
                Place p = {best->h + step * moves[m][0], best->w + step * moves[m][1],
                           best->side + step * moves[m][2], 0};
                if (p.side > SIDE || p.side < SMALLEST || p.h < 0 || p.w < 0 ||
                    p.h + p.side > SIDE || p.w + p.side > SIDE)
                    continue;
                p.score = between(a, b, &p);
                if (p.score > best->score + 1e-4) {
                    *best = p;
                    better = true;
                }
            }
        }
}

// The whole of `b` against parts of `a`.
static double best_part(const float *a, const float *b) {
    Sums s;
    float part[SIDE * SIDE];
    Place best = {0, 0, SIDE, 0};
    sums_of(a, &s);
    double mean = s.sum[SIDE][SIDE] / (SIDE * SIDE);
    double least = LEAST_DETAIL * (s.squares[SIDE][SIDE] / (SIDE * SIDE) - mean * mean);
    for (int side = SIDE; side >= SMALLEST; side -= STEP) {
        shrink(b, side, part);
        if (!normalize(part, side * side))
            return 0;
        for (int h = 0; h + side <= SIDE; h++)
            for (int w = 0; w + side <= SIDE; w++) {
                double score = at(a, &s, part, h, w, side, SR_MAX(least, 1e-12));
                if (score > best.score)
                    best = (Place){h, w, side, score};
            }
    }
    memcpy(part, b, sizeof part);
    smooth(part);
    if (best.score > LEAST_REFINED && normalize(part, SIDE * SIDE))
        refine(a, part, &best);
    return best.score;
}

float sr_picture_match(const float *a, const float *b, bool mirrored) {
    float turned[SIDE * SIDE];
    for (int i = 0; mirrored && i < SIDE * SIDE; i++)
        turned[i] = b[i / SIDE * SIDE + SIDE - 1 - i % SIDE];
    if (mirrored)
        b = turned;
    double best = best_part(a, b);
    return (float)SR_MAX(best, best_part(b, a));
}
