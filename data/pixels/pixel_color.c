// PIL's ImageEnhance blends, grey conversion and 8-bit hue, as torchvision's ColorJitter uses
// them.  A list of steps takes one walk over the image, or two if a contrast needs the mean
// first.
//
// Each tile of pixels is split into three planes in the first-level cache, goes through all steps
// in plain loops that the compiler vectorises, and is joined again.  Blends keep PIL's single
// precision. Hue reaches PIL's levels by another computation: even_hue and from_hsv_tile explain
// it.
#include "data/pixels/pixel_color.h"

#include <pthread.h>

#include "base/compiler.h"

#define TILE 512 // pixels: nine planes of at most two bytes stay below 8 kB

typedef struct {
    uint8_t c[3][TILE]; // red, green, blue
} Planes;

// ITU-R 601 luma with 16 fractional bits.
SR_INLINE int luma(int r, int g, int b) {
    return (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16;
}

// a + f * (b - a), cut off at 0 and 255 and truncated: ImagingBlend.
SR_INLINE uint8_t blend(int a, int b, float f) {
    float v = (float)a + f * (float)(b - a);
    v = v < 0 ? 0 : v;
    return (uint8_t)(int)(v > 255 ? 255 : v);
}

// ---- between interleaved pixels and planes; p (n, 3) ----

SR_VECTOR_CLONES
static void take_apart(const uint8_t *restrict p, int n, Planes *restrict t) {
    for (int i = 0; i < n; i++) {
        t->c[0][i] = p[3 * i];
        t->c[1][i] = p[3 * i + 1];
        t->c[2][i] = p[3 * i + 2];
    }
}

SR_VECTOR_CLONES
static void put_together(const Planes *restrict t, int n, uint8_t *restrict p) {
    for (int i = 0; i < n; i++) {
        p[3 * i] = t->c[0][i];
        p[3 * i + 1] = t->c[1][i];
        p[3 * i + 2] = t->c[2][i];
    }
}

// ---- one step on one tile of n pixels ----

// Every level blended with one grey level.
SR_VECTOR_CLONES
static void blend_tile(Planes *t, int n, int gray, float factor) {
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < n; i++)
            t->c[c][i] = blend(gray, t->c[c][i], factor);
}

SR_VECTOR_CLONES
static int luma_sum_tile(const Planes *t, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += luma(t->c[0][i], t->c[1][i], t->c[2][i]);
    return sum;
}

// Each pixel blended with its own grey.
SR_VECTOR_CLONES
static void saturate_tile(Planes *t, int n, float factor) {
    uint8_t gray[TILE];
    for (int i = 0; i < n; i++)
        gray[i] = (uint8_t)luma(t->c[0][i], t->c[1][i], t->c[2][i]);
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < n; i++)
            t->c[c][i] = blend(gray[i], t->c[c][i], factor);
}

SR_VECTOR_CLONES
static void gray_tile(Planes *t, int n) {
    for (int i = 0; i < n; i++)
        t->c[0][i] = t->c[1][i] = t->c[2][i] = (uint8_t)luma(t->c[0][i], t->c[1][i], t->c[2][i]);
}

// ---- hue ----

// PIL's 8-bit hue of a colour that is not grey, in PIL's arithmetic: single precision if r is the
// largest, else double and rounded.  One of the three differences to the maximum is 0, and one is
// the whole range.
static int pil_hue(int r, int g, int b) {
    int high = SR_MAX(r, SR_MAX(g, b)), low = SR_MIN(r, SR_MIN(g, b));
    float range = (float)(high - low), h;
    float rc = (float)(high - r) / range, gc = (float)(high - g) / range,
          bc = (float)(high - b) / range;
    if (r == high)
        h = bc - gc;
    else if (g == high)
        h = (float)(2.0 + rc - bc);
    else
        h = (float)(4.0 + gc - rc);
    double turn = h / 6.0 + 1.0; // 5/6 .. 2
    h = (float)(turn >= 1 ? turn - 1 : turn);
    return (int)(h * 255.0);
}

// The hue is trunc(255 n / (6 range)) with an integer n in 0 .. 6 range.  If the division leaves
// no remainder, rounding may take PIL one below.  The quotient alone decides that (the tests go
// through all ranges), so PIL's results for these quotients come from the colours of range 255: n
// = 6 q.
static uint8_t even_hue[256];
static pthread_once_t even_hue_once = PTHREAD_ONCE_INIT;

static void even_hue_fill(void) {
    for (int q = 0; q < 256; q++) {
        int n = 6 * q % 1530, up = n % 255, down = 255 - up;
        const int colors[6][3] = {{255, up, 0},   {down, 255, 0}, {0, 255, up},
                                  {0, down, 255}, {up, 0, 255},   {255, 0, down}};
        const int *c = colors[n / 255];
        even_hue[q] = (uint8_t)pil_hue(c[0], c[1], c[2]);
    }
}

// turned[q + 256 * even] is 6 times the hue after the shift, modulo 256.
typedef struct {
    uint16_t turned[512];
} HueTable;

static void hue_table_fill(int step, HueTable *table) {
    pthread_once(&even_hue_once, even_hue_fill);
    for (int q = 0; q < 256; q++) {
        table->turned[q] = (uint16_t)(6 * ((q + step) & 255));
        table->turned[256 + q] = (uint16_t)(6 * ((even_hue[q] + step) & 255));
    }
}

// A tile in PIL's HSV; hue as an index into the table.
typedef struct {
    uint16_t hue[TILE];
    uint8_t s[TILE], v[TILE];
} Hsv;

// Quotients of integers below 2^18 in single precision truncate to the exact ones.
SR_VECTOR_CLONES
static void to_hsv_tile(const Planes *restrict t, int n, Hsv *restrict out) {
    for (int i = 0; i < n; i++) {
        int r = t->c[0][i], g = t->c[1][i], b = t->c[2][i];
        int high = SR_MAX(r, SR_MAX(g, b)), low = SR_MIN(r, SR_MIN(g, b));
        int range = high - low, two = 2 * SR_MAX(range, 1);
        int sixths = r == high ? g - b : g == high ? 2 * range + b - r : 4 * range + r - g;
        sixths = 85 * (sixths < 0 ? sixths + 6 * range : sixths);
        int q = (int)((float)sixths / (float)two);
        out->hue[i] = (uint16_t)(q * two == sixths ? q + 256 : q);
        out->s[i] = (uint8_t)(int)((float)(255 * range) / (float)SR_MAX(high, 1));
        out->v[i] = (uint8_t)high;
    }
}

// A channel is v (1 - s w), where w is 0, 1, 1, 1, 0, 0 at the six corners of the hue.  Each
// channel lags two corners after the previous one.  Hue, s and w have units of 1/255, and the
// result is rounded.  PIL computes in double for each case of a switch; all 2^24 HSV colours
// agree.
SR_VECTOR_CLONES
static void from_hsv_tile(const Hsv *restrict t, int n, Planes *restrict out) {
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < n; i++) {
            int k = t->hue[i] + (5 - 2 * c) * 255;
            k = k >= 1530 ? k - 1530 : k;
            int w = SR_MIN(k, 1020 - k);
            w = SR_MAX(SR_MIN(w, 255), 0);
            int level = t->v[i] * (65025 - t->s[i] * w) + 32512; // below 2^24
            out->c[c][i] = (uint8_t)(int)((float)level * (1.0f / 65025));
        }
}

static void hue_tile(Planes *t, int n, const HueTable *table) {
    Hsv hsv;
    to_hsv_tile(t, n, &hsv);
    for (int i = 0; i < n; i++)
        hsv.hue[i] = table->turned[hsv.hue[i]];
    from_hsv_tile(&hsv, n, t);
}

// ---- lists of steps ----

typedef struct {
    SrColorKind kind;
    float factor;
    int gray;      // level that a contrast blends with
    HueTable *hue; // table of a hue step
} Step;

static void step_tile(const Step *step, Planes *t, int n) {
    switch (step->kind) {
    case SR_COLOR_BRIGHTNESS:
    case SR_COLOR_CONTRAST: blend_tile(t, n, step->gray, step->factor); break;
    case SR_COLOR_SATURATION: saturate_tile(t, n, step->factor); break;
    case SR_COLOR_HUE: hue_tile(t, n, step->hue); break;
    case SR_COLOR_GRAY: gray_tile(t, n); break;
    }
}

// All steps on all tiles; *sum, unless NULL, becomes the sum of all grey levels of the result.
static void walk(SrImage *image, const Step *steps, int n_steps, int64_t *sum) {
    int64_t pixels = (int64_t)image->H * image->W;
    uint8_t *p = image->rgb;
    Planes t;
    for (int64_t done = 0; done < pixels; done += TILE, p += 3 * TILE) {
        int n = (int)SR_MIN(TILE, pixels - done);
        take_apart(p, n, &t);
        for (int i = 0; i < n_steps; i++)
            step_tile(&steps[i], &t, n);
        if (sum)
            *sum += luma_sum_tile(&t, n);
        if (n_steps)
            put_together(&t, n, p);
    }
}

// A contrast needs the mean after the steps before it, so these are walked first.  The mean is
// rounded to a level, because PIL blends with an image, not with a number.
void sr_pixel_color(SrImage *image, const SrColorStep *steps, int n) {
    Step list[SR_COLOR_STEPS_MAX];
    HueTable hue;
    int waiting = 0;
    for (int i = 0; i < n; i++) {
        Step *step = &list[waiting];
        bool blends = steps[i].kind <= SR_COLOR_SATURATION;
        *step = (Step){.kind = steps[i].kind, .factor = (float)steps[i].factor, .hue = &hue};
        if (blends && step->factor == 1)
            continue;
        if (step->kind == SR_COLOR_HUE) // truncated towards zero, then modulo 256
            hue_table_fill((int)(steps[i].factor * 255) & 255, &hue);
        if (step->kind == SR_COLOR_CONTRAST) {
            int64_t sum = 0, pixels = (int64_t)image->H * image->W;
            walk(image, list, waiting, &sum);
            list[0] = *step;
            list[0].gray = (int)((double)sum / (double)pixels + 0.5);
            waiting = 0;
        }
        waiting++;
    }
    if (waiting)
        walk(image, list, waiting, NULL);
}

static void one_step(SrImage *image, SrColorKind kind, double factor) {
    sr_pixel_color(image, &(SrColorStep){kind, factor}, 1);
}

void sr_pixel_brightness(SrImage *image, double factor) {
    one_step(image, SR_COLOR_BRIGHTNESS, factor);
}

void sr_pixel_contrast(SrImage *image, double factor) {
    one_step(image, SR_COLOR_CONTRAST, factor);
}

void sr_pixel_saturation(SrImage *image, double factor) {
    one_step(image, SR_COLOR_SATURATION, factor);
}

// A shift of 0 is not skipped: the way through 8-bit HSV and back changes levels, in PIL as well.
void sr_pixel_hue(SrImage *image, double shift) { one_step(image, SR_COLOR_HUE, shift); }

void sr_pixel_grayscale(SrImage *image) { one_step(image, SR_COLOR_GRAY, 0); }
