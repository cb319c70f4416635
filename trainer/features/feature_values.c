// Lays values of a source out as users want them.
#include "trainer/features/feature_values.h"

#include <string.h>

#include "base/compiler.h"

static const SrNode *tapped(const SrFeatureSource *s, int layer) {
    return sr_graph_at(s->graph, s->taps.v[layer].node);
}

// Transposes one image from (rows, columns) to (columns, rows).
static void transpose(const float *from, int64_t rows, int64_t columns, float *to) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

static void each_image(const float *from, SrShape s, float *to, bool to_nchw) {
    if (s.rank < 3) {
        memcpy(to, from, (size_t)sr_shape_count(s) * sizeof *to);
        return;
    }
    int64_t C = sr_shape_last(s), pixels = sr_shape_count(s) / s.d[0] / C;
    for (int n = 0; n < s.d[0]; n++, from += pixels * C, to += pixels * C)
        transpose(from, to_nchw ? pixels : C, to_nchw ? C : pixels, to);
}

void sr_layout_to_nhwc(const float *nchw, SrShape shape, float *nhwc) {
    each_image(nchw, shape, nhwc, false);
}

void sr_layout_to_nchw(const float *nhwc, SrShape shape, float *nchw) {
    each_image(nhwc, shape, nchw, true);
}

SrShape sr_feature_shape(const SrFeatureSource *s, int layer, bool nhwc) {
    SrShape shape = tapped(s, layer)->shape;
    if (sr_feature_source_prefix(s, layer) >= 0)
        return nhwc ? SR_SHAPE(shape.d[0], s->grid_h, s->grid_w, shape.d[2])
                    : SR_SHAPE(shape.d[0], shape.d[2], s->grid_h, s->grid_w);
    return nhwc ? shape : sr_node_torch_shape(tapped(s, layer));
}

// Copies the patches of `rows` images, without the `prefix` tokens in front of them.
static void copy_map(SrTensor t, int prefix, int rows, bool nhwc, float *to) {
    int64_t L = t.shape.d[1], D = t.shape.d[2], map = (L - prefix) * D;
    SR_ASSERT(t.shape.rank == 3 && prefix >= 0 && prefix < L && rows <= t.shape.d[0]);
    for (int n = 0; n < rows; n++, to += map) {
        const float *from = (const float *)t.data + (n * L + prefix) * D;
        if (nhwc)
            memcpy(to, from, (size_t)map * sizeof *to);
        else
            transpose(from, L - prefix, D, to);
    }
}

void sr_feature_copy(const SrFeatureSource *s, int layer, int rows, bool nhwc, float *to) {
    SrTensor t = sr_feature_source_value(s, layer);
    SR_ASSERT(t.data && rows >= 0 && rows <= s->options.batch);
    int prefix = sr_feature_source_prefix(s, layer);
    if (prefix >= 0) {
        copy_map(t, prefix, rows, nhwc, to);
        return;
    }
    if (t.shape.rank > 0 && t.shape.d[0] == s->options.batch)
        t.shape.d[0] = rows;
    if (nhwc || tapped(s, layer)->channels_last)
        memcpy(to, t.data, (size_t)sr_shape_count(t.shape) * sizeof *to);
    else
        sr_layout_to_nchw(t.data, t.shape, to);
}
