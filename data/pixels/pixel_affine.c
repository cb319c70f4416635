// PIL's Image.transform(AFFINE) and rotate, with a bilinear or bicubic filter and a fill colour
// (Geometry of PIL's libImaging).  Positions are in double precision as there; pixels are centred
// at .5, and there is no antialiasing.
#include "data/pixels/pixel_affine.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/image_pool.h"

static int clamp(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }

static double linear(const double v[4], double d) { return v[0] + (v[1] - v[0]) * d; }

// The cubic with a = -1 through v[1] and v[2], which PIL uses here (its resize has a = -0.5).
static double cubic(const double v[4], double d) {
    double p1 = v[1], p2 = -v[0] + v[2], p3 = 2 * (v[0] - v[1]) + v[2] - v[3];
    return p1 + d * (p2 + d * (p3 + d * (-v[0] + v[1] - v[2] + v[3])));
}

typedef struct {
    int taps, first; // pixels a direction, and the first one relative to the one below the point
    double (*mix)(const double v[4], double d);
} Kernel;

// Columns are repeated beyond the edge; a row beyond the lower edge repeats the mixture above it.
static double sample(const SrImage *src, const Kernel *k, double x, double y, int c) {
    int x0 = (int)floor(x) + k->first, y0 = (int)floor(y) + k->first;
    double rows[4] = {0};
    for (int i = 0; i < k->taps; i++) {
        if (i > 0 && (y0 + i < 0 || y0 + i >= src->H)) {
            rows[i] = rows[i - 1];
            continue;
        }
        const uint8_t *row = src->rgb + (size_t)clamp(y0 + i, src->H) * (size_t)src->W * 3;
        double v[4] = {0};
        for (int j = 0; j < k->taps; j++)
            v[j] = row[3 * clamp(x0 + j, src->W) + c];
        rows[i] = k->mix(v, x - floor(x));
    }
    double value = k->mix(rows, y - floor(y));
    return value <= 0 ? 0 : value >= 255 ? 255 : value;
}

SrStatus sr_pixel_affine(SrImage *image, const double m[6], SrFilter filter, int fill,
                         SrImagePool *pool) {
    static const Kernel bilinear = {2, 0, linear}, bicubic = {4, -1, cubic};
    const Kernel *k = filter == SR_FILTER_BICUBIC ? &bicubic : &bilinear;
    SrImage out;
    SR_TRY(sr_image_new(pool, image->H, image->W, &out));
    memset(out.rgb, fill, (size_t)out.H * (size_t)out.W * 3);
    uint8_t *to = out.rgb;
    for (int y = 0; y < out.H; y++)
        for (int x = 0; x < out.W; x++, to += 3) {
            double from_x = m[0] * (x + 0.5) + m[1] * (y + 0.5) + m[2];
            double from_y = m[3] * (x + 0.5) + m[4] * (y + 0.5) + m[5];
            if (from_x < 0 || from_y < 0 || from_x >= image->W || from_y >= image->H)
                continue;
            for (int c = 0; c < 3; c++)
                to[c] = (uint8_t)sample(image, k, from_x - 0.5, from_y - 0.5, c);
        }
    *image = out;
    return SR_OK;
}

// Rounds as PIL does, so that multiples of a right angle are exact.
static double round15(double x) { return nearbyint(x * 1e15) / 1e15; }

SrStatus sr_pixel_rotate_filtered(SrImage *image, double degrees, SrFilter filter, int fill,
                                  SrImagePool *pool) {
    double turn = -fmod(fmod(degrees, 360) + 360, 360) * M_PI / 180;
    double c = round15(cos(turn)), s = round15(sin(turn));
    double cx = image->W / 2.0, cy = image->H / 2.0;
    if (degrees == 0)
        return SR_OK;
    double m[6] = {c, s, cx - (c * cx + s * cy), -s, c, cy - (-s * cx + c * cy)};
    return sr_pixel_affine(image, m, filter, fill, pool);
}
