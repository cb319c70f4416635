// Three ways in which a unit of work on tile registers reads its pixels:
//   direct  1x1 kernels without strides: pixels where they are;
//   flat    a window of pixels is copied into padded planes in scratch, whose positions run on
//           across rows and images (conv_tile_plan.h).  The copy takes care of borders, strides and
//           tails of channels;
//   images  small maps: the same pixel of 16 images, where they are; taps outside the map are left
//           out.
#include "kernels/conv/tiles/conv_tile_ways.h"

#include <string.h>

#include "kernels/conv/tiles/conv_tile_job.h"
#include "kernels/conv/tiles/conv_tile_parts.h"
#include "kernels/conv/tiles/conv_tile_plan.h"

enum { AHEAD = 24 << 10 }; // bytes

static const char *weights(const SrTileUnit *u, int tap, int part) {
    const SrTileJob *job = u->job;
    return job->packed + u->group * job->weight_block * job->blocks + part * job->weight_part +
           (int64_t)tap * SR_TILE_BYTES;
}

static void run_block(const SrTileUnit *u, int groups, int steps, int64_t pixel_chunk,
                      char *const *out, const char *ahead, int lines) {
    const SrTileJob *job = u->job;
    job->kernels->products->product(&(SrTileProduct){.step = u->piece.step,
                                                     .groups = groups,
                                                     .steps = steps,
                                                     .chunks = job->chunks,
                                                     .pixel_chunk = pixel_chunk,
                                                     .weight_chunk = job->weight_chunk,
                                                     .weight_block = job->weight_block,
                                                     .block_from = u->from,
                                                     .block_to = u->to,
                                                     .out = out,
                                                     .ahead = ahead,
                                                     .ahead_lines = lines,
                                                     .end = &u->end,
                                                     .pipe = u->piece.pipe});
}

void sr__tile_run_direct(const SrTileUnit *u) {
    const SrTilePlan *p = &u->job->plan;
    int64_t row = 2 * p->in_c, out_row = sr__tile_number_bytes(u->job->type) * p->out_c;
    for (int64_t m = u->first; m < u->first + u->n; m += SR_TILE_BLOCK) {
        const char *x = u->in + m * row, *at = x;
        int64_t here = SR_MIN(SR_TILE_BLOCK, p->positions - m), distance = row;
        if (here < SR_TILE_BLOCK) { // a tile may not read past the end
            distance = 2 * p->C;
            for (int64_t i = 0; i < here; i++)
                memcpy(u->piece.window + i * distance, x + i * row, (size_t)distance);
            memset(u->piece.window + here * distance, 0,
                   (size_t)((SR_TILE_BLOCK - here) * distance));
            at = u->piece.window;
        }
        char *out[SR_TILE_BLOCK];
        for (int i = 0; i < SR_TILE_BLOCK; i++)
            out[i] = i < here ? u->out + (m + i) * out_row : NULL;
        u->piece.step[0] = (SrTileStep){
            {at, at + SR_TILE_SIDE * distance}, {distance, distance}, weights(u, 0, 0)};
        int64_t ahead = SR_MAX(AHEAD, SR_TILE_BLOCK * row);
        bool more = p->groups == 1 && m * row + ahead + SR_TILE_BLOCK * row <= p->positions * row;
        run_block(u, 1, 1, SR_TILE_LINE, out, x + ahead, more ? p->C : 0);
    }
}

// Copies the window of a unit, plane after plane.
static void copy_window(const SrTileUnit *u) {
    const SrTileJob *job = u->job;
    const SrTilePlan *p = &job->plan;
    int64_t from = u->first - p->before, pixels = u->n + p->before + p->after;
    for (int plane = 0; plane < p->planes; plane++) {
        sr__tile_inputs(p, plane, from, from + pixels, u->piece.inputs);
        job->kernels->operands->copy(
            &(SrTileCopy){.x = u->in,
                          .pixel_bytes = sr__tile_number_bytes(job->type) * p->in_c,
                          .parts = job->parts,
                          .channels = p->C,
                          .table = u->piece.inputs,
                          .pixels = pixels,
                          .to = u->piece.window + plane * job->chunks * job->window * SR_TILE_LINE,
                          .row = SR_TILE_LINE,
                          .chunk = job->window * SR_TILE_LINE,
                          .part = p->planes * job->chunks * job->window * SR_TILE_LINE});
    }
}

// Lists the taps for each of the products of parts; returns how many steps there are.
static int flat_steps(const SrTileUnit *u, const SrTilePhase *f, int64_t m) {
    const SrTileJob *job = u->job;
    const SrTilePlan *p = &job->plan;
    int64_t plane = job->chunks * job->window * SR_TILE_LINE;
    SrTileStep *step = u->piece.step;
    for (int q = 0; q < job->products.n; q++)
        for (int t = 0; t < f->taps; t++) {
            const SrTileTap *tap = &p->tap[f->first + t];
            int64_t at = m + p->before + tap->dh * p->pitch + tap->dw;
            const char *x = u->piece.window + job->products.pixels[q] * p->planes * plane +
                            tap->plane * plane + at * SR_TILE_LINE;
            *step++ = (SrTileStep){{x, x + SR_TILE_SIDE * SR_TILE_LINE},
                                   {SR_TILE_LINE, SR_TILE_LINE},
                                   weights(u, tap->id, job->products.weights[q])};
        }
    return f->taps;
}

// Lists the outputs of a block of positions from entry i of the table; false: there are none.
static bool place_outputs(const SrTileUnit *u, int64_t i, char *out[SR_TILE_BLOCK]) {
    int64_t pixel = sr__tile_number_bytes(u->job->type) * u->job->plan.out_c;
    bool any = false;
    for (int j = 0; j < SR_TILE_BLOCK; j++) {
        int32_t at = u->piece.outputs[i + j];
        out[j] = at < 0 ? NULL : u->out + at * pixel;
        any |= at >= 0;
    }
    return any;
}

// Writes outputs that no tap reaches.
static void write_zeros(const SrTileUnit *u, char *const out[SR_TILE_BLOCK]) {
    int64_t bytes = sr__tile_number_bytes(u->job->type), first = (int64_t)SR_TILE_BLOCK * u->from;
    int64_t n = SR_MIN((int64_t)SR_TILE_BLOCK * u->to, u->job->plan.K) - first;
    for (int i = 0; i < SR_TILE_BLOCK; i++)
        if (out[i])
            memset(out[i] + first * bytes, 0, (size_t)(n * bytes));
}

void sr__tile_run_flat(const SrTileUnit *u) {
    const SrTileJob *job = u->job;
    const SrTilePlan *p = &job->plan;
    copy_window(u);
    for (int f = 0; f < p->phases; f++) {
        const SrTilePhase *phase = &p->phase[f];
        if (!phase->taps && job->add)
            continue;
        sr__tile_outputs(p, phase, u->first, u->first + u->n, u->piece.outputs);
        for (int64_t m = 0; m < u->n; m += SR_TILE_BLOCK) {
            char *out[SR_TILE_BLOCK];
            if (!place_outputs(u, m, out))
                continue;
            if (phase->taps || job->end)
                run_block(u, job->products.n, flat_steps(u, phase, m), job->window * SR_TILE_LINE,
                          out, NULL, 0);
            else
                write_zeros(u, out);
        }
    }
}

// Lists the outputs of an item, pixel `item / groups` of a group of images; false: the pixel does
// not exist.
static bool place_images(const SrTileUnit *u, const SrTilePhase *f, int64_t item, char **out) {
    const SrTilePlan *p = &u->job->plan;
    int g = (int)(item % sr__tile_image_groups(p)), pixel = (int)(item / sr__tile_image_groups(p));
    int h = pixel / p->map_w * p->out_step_h + f->at_h,
        w = pixel % p->map_w * p->out_step_w + f->at_w;
    int64_t number = 2 * p->out_c, image = (int64_t)p->out_h * p->out_w * number;
    int first = SR_MIN(SR_TILE_SIDE * g, p->N - SR_TILE_SIDE);
    bool inside = item < u->job->items && h < p->out_h && w < p->out_w;
    for (int i = 0; i < SR_TILE_SIDE; i++)
        out[i] = inside && first + i >= SR_TILE_SIDE * g
                     ? u->out + (first + i) * image + ((int64_t)h * p->out_w + w) * number
                     : NULL;
    return inside;
}

// Returns where a tap finds the first of the item's pixels; NULL: outside the map.
static const char *image_pixel(const SrTileUnit *u, const SrTileTap *tap, int64_t item) {
    const SrTilePlan *p = &u->job->plan;
    int g = (int)(item % sr__tile_image_groups(p)), pixel = (int)(item / sr__tile_image_groups(p));
    int h = (pixel / p->map_w + tap->dh) * p->step_h + p->plane_h[tap->plane];
    int w = (pixel % p->map_w + tap->dw) * p->step_w + p->plane_w[tap->plane];
    if (h < 0 || w < 0 || h >= p->in_h || w >= p->in_w)
        return NULL;
    int64_t first = SR_MIN(SR_TILE_SIDE * g, p->N - SR_TILE_SIDE);
    return u->in + 2 * (((first * p->in_h + h) * p->in_w + w) * p->in_c);
}

static int image_steps(const SrTileUnit *u, const SrTilePhase *f, int64_t item,
                       const bool inside[2]) {
    const SrTilePlan *p = &u->job->plan;
    int64_t image = (int64_t)p->in_h * p->in_w * p->in_c * 2;
    int steps = 0;
    for (int t = 0; t < f->taps; t++) {
        const SrTileTap *tap = &p->tap[f->first + t];
        SrTileStep step = {.weights = weights(u, tap->id, 0)};
        bool any = false;
        for (int j = 0; j < 2; j++) {
            const char *at = inside[j] ? image_pixel(u, tap, item + j) : NULL;
            step.pixels[j] = at ? at : sr__tile_zeros;
            step.distance[j] = at ? image : 0;
            any |= at != NULL;
        }
        if (any)
            u->piece.step[steps++] = step;
    }
    return steps;
}

void sr__tile_run_images(const SrTileUnit *u) {
    const SrTileJob *job = u->job;
    for (int f = 0; f < job->plan.phases; f++) {
        const SrTilePhase *phase = &job->plan.phase[f];
        for (int64_t item = u->first; item < u->first + u->n; item += 2) {
            char *out[SR_TILE_BLOCK];
            bool inside[2];
            for (int j = 0; j < 2; j++)
                inside[j] = place_images(u, phase, item + j, out + SR_TILE_SIDE * j);
            if (!inside[0] && !inside[1])
                continue;
            int steps = image_steps(u, phase, item, inside);
            if (steps || job->end)
                run_block(u, steps, 1, SR_TILE_LINE, out, NULL, 0);
            else if (!job->add)
                write_zeros(u, out);
        }
    }
}
