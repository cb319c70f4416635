// Builds plans of the tile design: taps, planes, phases, and tables of the pixels at each position.
#include "kernels/conv/tiles/conv_tile_plan.h"

#include "base/compiler.h"

static int ceil_div(int a, int b) { return (a + b - 1) / b; }
static int floor_div(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// Counts planes and phases by the remainders that taps leave; a few may be unused.
static int plane_of(SrTilePlan *p, int a, int b) {
    for (int i = 0; i < p->planes; i++)
        if (p->plane_h[i] == a && p->plane_w[i] == b)
            return i;
    p->plane_h[p->planes] = a;
    p->plane_w[p->planes] = b;
    return p->planes++;
}

static void forward_taps(SrTilePlan *p, const SrConvShape *s) {
    for (int t = 0; t < s->R * s->S; t++) {
        int h = t / s->S * s->dilation_h - s->pad_h, w = t % s->S * s->dilation_w - s->pad_w;
        int dh = floor_div(h, s->stride_h), dw = floor_div(w, s->stride_w);
        int plane = plane_of(p, h - dh * s->stride_h, w - dw * s->stride_w);
        p->tap[p->taps++] = (SrTileTap){plane, dh, dw, t};
    }
    p->phase[0] = (SrTilePhase){.taps = p->taps};
    p->phases = 1;
}

static void backward_taps(SrTilePlan *p, const SrConvShape *s) {
    p->planes = 1;
    for (int a = 0; a < s->stride_h; a++)
        for (int b = 0; b < s->stride_w; b++) {
            SrTilePhase *f = &p->phase[p->phases++];
            *f = (SrTilePhase){.first = p->taps, .at_h = a, .at_w = b};
            for (int t = 0; t < s->R * s->S; t++) {
                int h = a + s->pad_h - t / s->S * s->dilation_h;
                int w = b + s->pad_w - t % s->S * s->dilation_w;
                int dh = floor_div(h, s->stride_h), dw = floor_div(w, s->stride_w);
                if (h == dh * s->stride_h && w == dw * s->stride_w)
                    p->tap[p->taps++] = (SrTileTap){0, dh, dw, t};
            }
            f->taps = p->taps - f->first;
        }
}

// Sets the zeros around the map: as many as the furthest tap needs.
static void pad(SrTilePlan *p) {
    int top = 0, bottom = 0, left = 0, right = 0;
    for (int t = 0; t < p->taps; t++) {
        top = SR_MAX(top, -p->tap[t].dh);
        bottom = SR_MAX(bottom, p->tap[t].dh);
        left = SR_MAX(left, -p->tap[t].dw);
        right = SR_MAX(right, p->tap[t].dw);
    }
    p->data_h = SR_MIN(ceil_div(p->in_h, p->step_h), p->map_h + bottom);
    p->data_w = SR_MIN(ceil_div(p->in_w, p->step_w), p->map_w + right);
    p->rows = SR_MAX(p->map_h + bottom, p->data_h + top);
    p->pitch = SR_MAX(p->map_w + right, p->data_w + left);
    p->before = (int64_t)top * p->pitch + left;
    p->after = (int64_t)bottom * p->pitch + right;
    p->positions = (int64_t)p->N * p->rows * p->pitch;
}

bool sr__tile_plan(SrTilePlan *p, const SrConvShape *s, SrConvPass pass) {
    bool forward = pass != SR_CONV_BACKWARD_DATA;
    if (s->R * s->S > SR_TILE_TAPS || s->stride_h * s->stride_w > SR_TILE_PHASES ||
        (int64_t)s->N * s->H * s->W > INT32_MAX || (int64_t)s->N * s->P * s->Q > INT32_MAX)
        return false;
    *p = (SrTilePlan){.N = s->N, .groups = s->groups};
    p->in_h = forward ? s->H : s->P;
    p->in_w = forward ? s->W : s->Q;
    p->in_c = forward ? s->C : s->K;
    p->out_h = forward ? s->P : s->H;
    p->out_w = forward ? s->Q : s->W;
    p->out_c = forward ? s->K : s->C;
    p->C = p->in_c / s->groups;
    p->K = p->out_c / s->groups;
    p->step_h = forward ? s->stride_h : 1;
    p->step_w = forward ? s->stride_w : 1;
    p->out_step_h = forward ? 1 : s->stride_h;
    p->out_step_w = forward ? 1 : s->stride_w;
    p->map_h = ceil_div(p->out_h, p->out_step_h);
    p->map_w = ceil_div(p->out_w, p->out_step_w);
    if (forward)
        forward_taps(p, s);
    else
        backward_taps(p, s);
    pad(p);
    return p->positions + p->before + p->after < INT32_MAX;
}

// A walk over positions, row by row.
typedef struct {
    int64_t n;
    int h, w;
} Place;

static Place place(const SrTilePlan *p, int64_t m) {
    int64_t image = (int64_t)p->rows * p->pitch;
    int64_t n = m >= 0 ? m / image : -((image - 1 - m) / image), left = m - n * image;
    return (Place){n, (int)(left / p->pitch), (int)(left % p->pitch)};
}

// Returns how many positions of this row are left, `most` at most, and moves the walk past them.
static int rest_of_row(const SrTilePlan *p, Place *at, int64_t most) {
    int run = (int)SR_MIN(p->pitch - at->w, most);
    SR_ASSERT(run > 0);
    at->w = 0;
    if (++at->h == p->rows) {
        at->h = 0;
        at->n++;
    }
    return run;
}

void sr__tile_inputs(const SrTilePlan *p, int plane, int64_t from, int64_t to, int32_t *table) {
    SR_ASSERT(plane >= 0 && plane < p->planes && from <= to);
    int a = p->plane_h[plane], b = p->plane_w[plane];
    int rows = SR_MIN(ceil_div(p->in_h - a, p->step_h), p->data_h);
    int columns = SR_MIN(ceil_div(p->in_w - b, p->step_w), p->data_w);
    Place at = place(p, from);
    while (from < to) {
        Place row = at;
        int run = rest_of_row(p, &at, to - from);
        bool inside = row.n >= 0 && row.n < p->N && row.h < rows;
        int64_t pixel = (row.n * p->in_h + row.h * p->step_h + a) * p->in_w + b;
        for (int i = 0, w = row.w; i < run; i++, w++)
            *table++ = inside && w < columns ? (int32_t)(pixel + w * p->step_w) : -1;
        from += run;
    }
}

int64_t sr__tile_outputs(const SrTilePlan *p, const SrTilePhase *f, int64_t from, int64_t to,
                         int32_t *table) {
    int64_t found = 0;
    SR_ASSERT(from >= 0 && from <= to);
    Place at = place(p, from);
    int columns = SR_MIN(p->map_w, ceil_div(p->out_w - f->at_w, p->out_step_w));
    while (from < to) {
        Place row = at;
        int run = rest_of_row(p, &at, to - from), h = row.h * p->out_step_h + f->at_h;
        bool inside = row.n < p->N && row.h < p->map_h && h < p->out_h;
        int64_t pixel = (row.n * p->out_h + h) * p->out_w + f->at_w;
        for (int i = 0, w = row.w; i < run; i++, w++)
            *table++ = inside && w < columns ? (int32_t)(pixel + w * p->out_step_w) : -1;
        found += inside ? SR_MAX(0, SR_MIN(columns - row.w, run)) : 0;
        from += run;
    }
    return found;
}
