// PIL's ImageEnhance blends, its grey conversion and its 8-bit hue, as torchvision's ColorJitter
// uses them.
//
// All arithmetic is PIL's down to the type: blends in single precision, HSV in a mixture of single
// and double.
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "data/pixel.h"

// ITU-R 601 luma with 16 fractional bits.
static inline int luma(const uint8_t *p) {
    return (p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 0x8000) >> 16;
}

// a + f * (b - a), cut off at 0 and 255 and truncated: ImagingBlend.
static inline uint8_t blend(int a, int b, float f) {
    float v = (float)a + f * (float)(b - a);
    return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : v);
}

static size_t pixels(const SrImage *image) {
    return (size_t)image->H * (size_t)image->W;
}

SR_VECTOR_CLONES
// p (n): every byte through a table.
static void map_levels(uint8_t *restrict p, size_t n, const uint8_t *restrict table) {
    for (size_t i = 0; i < n; i++)
        p[i] = table[p[i]];
}

// Every level blended with one grey level.
static void blend_with(SrImage *image, int gray, double factor) {
    uint8_t table[256];
    for (int v = 0; v < 256; v++)
        table[v] = blend(gray, v, (float)factor);
    map_levels(image->rgb, pixels(image) * 3, table);
}

void sr_pixel_brightness(SrImage *image, double factor) {
    if ((float)factor != 1)
        blend_with(image, 0, factor);
}

SR_VECTOR_CLONES
// p (n, 3): the sum of all grey levels, from which the mean is exact.
static int64_t luma_sum(const uint8_t *p, size_t n) {
    int64_t sum = 0;
    while (n) {
        size_t part = SR_MIN(n, 4096); // 32-bit sums inside, so that more of them fit a register
        int32_t s = 0;
        for (size_t i = 0; i < part; i++)
            s += luma(p + 3 * i);
        sum += s;
        p += 3 * part;
        n -= part;
    }
    return sum;
}

// The mean is rounded to a level first: PIL blends with an image, not with a number.
void sr_pixel_contrast(SrImage *image, double factor) {
    if ((float)factor == 1)
        return;
    double mean = (double)luma_sum(image->rgb, pixels(image)) / (double)pixels(image);
    blend_with(image, (int)(mean + 0.5), factor);
}

SR_VECTOR_CLONES
// p (n, 3), each pixel blended with its own grey.
static void saturate(uint8_t *p, size_t n, float factor) {
    for (size_t i = 0; i < n; i++, p += 3) {
        int gray = luma(p);
        for (int c = 0; c < 3; c++)
            p[c] = blend(gray, p[c], factor);
    }
}

void sr_pixel_saturation(SrImage *image, double factor) {
    if ((float)factor != 1)
        saturate(image->rgb, pixels(image), (float)factor);
}

SR_VECTOR_CLONES
static void to_gray(uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++, p += 3)
        p[0] = p[1] = p[2] = (uint8_t)luma(p);
}

void sr_pixel_grayscale(SrImage *image) {
    to_gray(image->rgb, pixels(image));
}

// ---- hue ----

typedef struct {
    int h, s, v; // each 0 .. 255
} Hsv;

// Of the three differences to the maximum one is 0 and one is the whole range, so one division
// gives the hue.
static inline Hsv to_hsv(const uint8_t *p) {
    int r = p[0], g = p[1], b = p[2];
    int high = SR_MAX(r, SR_MAX(g, b)), low = SR_MIN(r, SR_MIN(g, b));
    if (high == low)
        return (Hsv){0, 0, high};
    float range = (float)(high - low), h;
    if (r == high)
        h = (float)(high - b) / range - (float)(high - g) / range;
    else if (g == high)
        h = (float)(2.0 + (float)(high - r) / range - (float)(high - b) / range);
    else
        h = (float)(4.0 + (float)(high - g) / range - (float)(high - r) / range);
    double turn = h / 6.0 + 1.0; // 5/6 .. 2
    h = (float)(turn >= 1 ? turn - 1 : turn);
    return (Hsv){(int)(h * 255.0), (int)(range / (float)high * 255.0), high};
}

static inline uint8_t round_level(double x) {
    return (uint8_t)(int)(x + 0.5);
}

// Sector and position in it for each of the 256 hues.
typedef struct {
    int sector[256];
    float part[256];
} Hues;

static void hues_fill(Hues *hues) {
    for (int h = 0; h < 256; h++) {
        double x = (float)h * 6.0 / 255.0;
        hues->sector[h] = (int)floor(x) % 6;
        hues->part[h] = (float)(x - floor(x));
    }
}

static inline void from_hsv(Hsv c, const Hues *hues, uint8_t *p) {
    float s = (float)c.s / 255.0f, f = hues->part[c.h], v = (float)c.v;
    uint8_t level[4] = {(uint8_t)c.v, round_level(v * (1.0 - s)), round_level(v * (1.0 - s * f)),
                        round_level(v * (1.0 - s * (1.0 - f)))};
    // Which of v, p, q, t each channel takes in the six sectors.
    static const uint8_t pick[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3},
                                       {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
    const uint8_t *from = pick[hues->sector[c.h]];
    for (int i = 0; i < 3; i++)
        p[i] = level[from[i]];
}

// A shift of 0 is not skipped: the way through 8-bit HSV and back changes levels, in PIL as well.
void sr_pixel_hue(SrImage *image, double shift) {
    Hues hues;
    hues_fill(&hues);
    int step = (int)(shift * 255) & 255; // truncated towards zero, then modulo 256
    uint8_t *p = image->rgb;
    for (size_t i = 0, n = pixels(image); i < n; i++, p += 3) {
        Hsv c = to_hsv(p);
        if (c.s == 0) {
            p[0] = p[1] = p[2] = (uint8_t)c.v;
            continue;
        }
        c.h = (c.h + step) & 255;
        from_hsv(c, &hues, p);
    }
}
