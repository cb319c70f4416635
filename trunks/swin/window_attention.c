// Builds attention within windows: partition, queries, keys and values, attention, and back to a
// map.
#include "trunks/swin/window_attention.h"

#include "kernels/attention/attention.h"
#include "kernels/attention/cosine_qk.h"
#include "kernels/attention/qv_bias.h"
#include "kernels/basic/linear.h"
#include "kernels/tokens/windows.h"

static SrNodeId qkv(SrBuilder *b, const SrWindowAttention *p, SrNodeId x, SrInit weight) {
    SrLinearParams linear = {.out_features = 3 * sr_shape_last(sr_build_shape(b, x)),
                             .bias = p->qkv_bias && !p->cosine};
    sr_builder_set_init(b, "weight", weight);
    if (linear.bias)
        sr_builder_set_init(b, "bias", (SrInit){SR_INIT_CONSTANT, 0});
    x = sr_build(b, "linear", "qkv", &linear, x);
    if (!p->cosine)
        return x;
    if (p->qkv_bias) {
        sr_builder_set_entry(b, "bias", "qkv.bias");
        x = sr_build(b, "qv_bias", "qv_bias", NULL, x);
    }
    sr_builder_set_entry(b, "logit_scale", "logit_scale");
    return sr_build(b, "cosine_qk", "cosine_qk", &(SrCosineQkParams){p->heads}, x);
}

SrNodeId sr_window_attention(SrBuilder *b, const SrWindowAttention *p, SrNodeId x,
                             SrNodeId relative, SrInit weight) {
    SrShape s = sr_build_shape(b, x);
    SrWindowsParams windows = {.window_h = p->window_h,
                               .window_w = p->window_w,
                               .shift_h = p->shift_h,
                               .shift_w = p->shift_w};
    SrAttentionParams attention = {
        .num_heads = p->heads, .scale = p->cosine ? 1 : p->scale, .dropout = p->attention_dropout};
    if (p->shift_h > 0 || p->shift_w > 0) {
        attention.windows_h = (s.d[1] + p->window_h - 1) / p->window_h;
        attention.windows_w = (s.d[2] + p->window_w - 1) / p->window_w;
        attention.window_h = p->window_h;
        attention.window_w = p->window_w;
        attention.shift_h = p->shift_h;
        attention.shift_w = p->shift_w;
    }
    x = qkv(b, p, sr_build(b, "windows", "partition", &windows, x), weight);
    x = sr_build_n(b, "attention", "attention", &attention, (SrNodeId[]){x, relative}, 2);
    windows.merge = true;
    windows.height = s.d[1];
    windows.width = s.d[2];
    return sr_build(b, "windows", "reverse", &windows, x);
}
