// Fits tensors by dropping dimensions of 1, by resampling grids of position embeddings, or by
// spreading a first convolution over other channels.
#include "trainer/model/weights_fit.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/weights.h"
#include "kernels/tokens/add_positions.h"

static SrShape squeezed(SrShape s) {
    SrShape out = {.rank = 0};
    for (int i = 0; i < s.rank; i++)
        if (s.d[i] != 1)
            out.d[out.rank++] = s.d[i];
    return out;
}

static int side_of(int places) {
    int side = 0;
    while (side * side < places)
        side++;
    return side * side == places ? side : 0;
}

typedef struct {
    int prefix, from, to; // tokens before the patches; side of each grid in patches
} Grids;

// Splits numbers of tokens into a prefix and a square of patches: one token in front (the usual
// class token), none, or two.
static bool find_grids(int from, int to, Grids *out) {
    static const int prefixes[] = {1, 0, 2};
    for (int i = 0; i < 3; i++) {
        int p = prefixes[i];
        *out = (Grids){p, from > p ? side_of(from - p) : 0, to > p ? side_of(to - p) : 0};
        if (out->from > 0 && out->to > 0)
            return true;
    }
    return false;
}

static bool has_positions(const char *name, SrShape from, SrShape to, Grids *out) {
    bool named = sr_text_ends(name, "pos_embed") || sr_text_ends(name, "pos_embedding");
    SrShape a = squeezed(from), b = squeezed(to);
    return named && a.rank == 2 && b.rank == 2 && a.d[1] == b.d[1] &&
           find_grids(a.d[0], b.d[0], out);
}

// True for a convolution (K, 3, R, S) of a file whose counterpart in the model reads the images'
// channels.
static bool is_first(SrShape from, SrShape to, int channels) {
    SrShape rgb = to;
    rgb.d[1] = 3;
    return channels > 0 && channels != 3 && to.rank == 4 && to.d[1] == channels &&
           sr_shape_equal(from, rgb);
}

// from: (K, 3, R S).  to: (K, C, R S).
static void spread(const float *from, SrShape s, float *to) {
    int64_t C = s.d[1], RS = (int64_t)s.d[2] * s.d[3];
    for (int64_t k = 0; k < s.d[0]; k++, from += 3 * RS)
        for (int64_t c = 0; c < C; c++)
            for (int64_t i = 0; i < RS; i++)
                *to++ = (float)(((double)from[i] + from[RS + i] + from[2 * RS + i]) / (double)C);
}

bool sr_weights_fits(const char *name, SrShape from, SrShape to, int channels) {
    Grids grids;
    return sr_shape_equal(from, to) || is_first(from, to, channels) ||
           (from.rank + to.rank > 0 && sr_shape_equal(squeezed(from), squeezed(to))) ||
           has_positions(name, from, to, &grids);
}

static void fit(const char *name, const float *from, SrShape from_shape, float *to,
                SrShape to_shape) {
    Grids g;
    if (from_shape.rank == 4 && from_shape.d[1] == 3 && to_shape.rank == 4 && to_shape.d[1] != 3) {
        spread(from, to_shape, to);
        sr_info("%s: weights for RGB became weights for %d channels, each the mean of the three "
                "times 3 / %d",
                name, to_shape.d[1], to_shape.d[1]);
        return;
    }
    if (sr_shape_equal(squeezed(from_shape), squeezed(to_shape))) {
        memcpy(to, from, sizeof *to * (size_t)sr_shape_count(to_shape));
        return;
    }
    if (!has_positions(name, from_shape, to_shape, &g))
        return;
    SrAddPositionsParams p = {.prefix = g.prefix,
                              .from_h = g.from,
                              .from_w = g.from,
                              .to_h = g.to,
                              .to_w = g.to,
                              .align_corners = sr_text_ends(name, "pos_embedding")};
    sr_add_positions_resample(&p, from, squeezed(from_shape).d[1], to);
    sr_info("%s: position embeddings of %d x %d patches were resampled to %d x %d", name, g.from,
            g.from, g.to, g.to);
}

bool sr_weights_fits_type(SrDtype from, SrDtype to) {
    return from == to || (to == SR_F32 && (from == SR_F16 || from == SR_BF16 || from == SR_F64));
}

// One such weight makes features NaN, which would show long after loading.
static SrStatus check_finite(const SrWeights *w, int i, const float *x, SrShape shape) {
    int64_t k = sr_floats_nonfinite(x, sr_shape_count(shape));
    if (k < 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s: '%s' holds a weight that is %s; `sslrun inspect %s --stats` counts them in all "
            "tensors",
            w->path, w->tensors[i].name, isnan(x[k]) ? "NaN" : "infinite", w->path);
}

SrStatus sr_weights_fit_read(SrWeights *w, int i, const char *name, void *to, SrDtype type,
                             SrShape shape) {
    SrTensor data;
    SR_TRY(sr_weights_read(w, i, &data));
    if (type != SR_F32) {
        memcpy(to, data.data, w->tensors[i].bytes);
        return SR_OK;
    }
    if (data.dtype == SR_F32) {
        fit(name, data.data, data.shape, to, shape);
        return check_finite(w, i, to, shape);
    }
    float *floats = sr_alloc((size_t)sr_shape_count(data.shape) * sizeof *floats);
    if (!floats)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory for %s", w->path, name);
    sr_weights_floats(&data, floats);
    fit(name, floats, data.shape, to, shape);
    sr_free(floats);
    return check_finite(w, i, to, shape);
}
