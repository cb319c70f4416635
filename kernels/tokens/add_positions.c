// add_positions: learned position embeddings added to the tokens of every image (Dosovitskiy et
// al., arXiv:2010.11929, equation 1).  Where the image's grid of patches differs from the learned
// one, the grid's part is resampled.  The rule is that of
// torch.nn.functional.interpolate(mode="bicubic", align_corners=False): Keys' kernel with a =
// -0.75, edges repeated.  Embeddings of tokens before the grid stay.  Two sources resample
// differently.  torchvision's interpolate_embeddings makes the corners of both grids coincide
// (align_corners).  DINO and DINOv2 use a scale of (h + 0.1) / h0, which shifts every place a
// little (offset); DINOv2 with registers filters (antialias).
//
//   x (N, prefix + h w, D) + positions (1, prefix + h0 w0, D) -> y as x
#include "kernels/tokens/add_positions.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernels/core/onnx_rows.h"
#include "kernels/core/op_util.h"

enum { MOST_TAPS = 64 }; // taps of a place along a dimension

#define FIELD(f) offsetof(SrAddPositionsParams, f)
static const SrOption options[] = {
    {"prefix", SR_OPT_INT, FIELD(prefix), "0", 0, 0xffff, .help = "Tokens before the grid."},
    {"from_h", SR_OPT_INT, FIELD(from_h), "1", 1, 0xffff, .help = "Rows of the learned grid."},
    {"from_w", SR_OPT_INT, FIELD(from_w), "1", 1, 0xffff, .help = "Columns of the learned grid."},
    {"to_h", SR_OPT_INT, FIELD(to_h), "1", 1, 0xffff, .help = "Rows of the tokens' grid."},
    {"to_w", SR_OPT_INT, FIELD(to_w), "1", 1, 0xffff, .help = "Columns of the tokens' grid."},
    {"align_corners", SR_OPT_BOOL, FIELD(align_corners), "False",
     .help = "Align the corners of both grids instead of their edges."},
    {"antialias", SR_OPT_BOOL, FIELD(antialias), "False",
     .help = "Filter against aliasing when the grid becomes smaller."},
    {"offset", SR_OPT_FLOAT, FIELD(offset), "0", 0, 1,
     .help = "Offset added to the tokens' grid when the scale between the grids is computed."},
    {"sequence_first", SR_OPT_BOOL, FIELD(sequence_first), "False",
     .help = "The parameter has the shape (tokens, 1, D) instead of (1, tokens, D)."},
    SR_OPTION_END,
};
#undef FIELD

static SrStatus infer(const void *params, const SrShape *x, int n_in, SrShape *y) {
    const SrAddPositionsParams *p = params;
    SR_TRY(sr__expect_rank("add_positions", x, n_in, 3, 3));
    if (p->from_h < 1 || p->from_w < 1 ||
        x[0].d[1] != (int64_t)p->prefix + (int64_t)p->to_h * p->to_w)
        return sr__shape_fail("add_positions", x, n_in, "%d + %d x %d tokens", p->prefix, p->to_h,
                              p->to_w);
    if (p->antialias && 4 * SR_MAX(p->from_h / p->to_h, p->from_w / p->to_w) + 8 > MOST_TAPS)
        return sr__shape_fail("add_positions", x, n_in,
                              "a grid that is not so much smaller than the learned one");
    *y = x[0];
    return SR_OK;
}

static int slots(const void *params, const SrShape *x, int n_in, SrSlot out[SR_OP_MAX_SLOTS]) {
    const SrAddPositionsParams *p = params;
    int tokens = p->prefix + p->from_h * p->from_w, D = x[0].d[2];
    (void)n_in;
    out[0] = sr__param_slot("positions",
                            p->sequence_first ? SR_SHAPE(tokens, 1, D) : SR_SHAPE(1, tokens, D),
                            SR_ROLE_OTHER, SR_INIT_NORMAL, 0.02);
    return 1;
}

static bool resampled(const SrAddPositionsParams *p) {
    return p->from_h != p->to_h || p->from_w != p->to_w;
}

// Resamples embeddings to the tokens' grid, (L, D), or their gradient back.
static size_t scratch_bytes(const SrOpSite *site) {
    return sizeof(float) * (size_t)site->x[0].d[1] * (size_t)site->x[0].d[2];
}

static int inplace(const void *params) {
    (void)params;
    return 0;
}

typedef struct { // taps of one place along one dimension
    int n;
    int at[MOST_TAPS]; // places that it is made of
    double weight[MOST_TAPS];
} Taps;

// Weights of Keys, "Cubic convolution interpolation for digital image processing", 1981, equation
// 4.
static double cubic(double t, double a) {
    t = fabs(t);
    return t <= 1  ? ((a + 2) * t - (a + 3)) * t * t + 1
           : t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
                   : 0;
}

static Taps four_taps(const SrAddPositionsParams *p, int place, int to, int from) {
    double at = (place + 0.5) * from / (to + p->offset) - 0.5;
    if (p->align_corners)
        at = to > 1 ? (double)place * (from - 1) / (to - 1) : 0;
    int first = (int)floor(at) - 1;
    Taps taps = {.n = 4};
    for (int k = 0; k < 4; k++) {
        taps.at[k] = SR_MIN(SR_MAX(first + k, 0), from - 1);
        taps.weight[k] = cubic(at - (first + k), -0.75);
    }
    return taps;
}

// Taps as in Pillow: the kernel, with a = -0.5, is as wide as the places of the smaller grid, and
// cut at the edges.
static Taps wide_taps(int place, int to, int from) {
    double step = (double)from / to, wide = SR_MAX(step, 1), at = (place + 0.5) * step, sum = 0;
    int first = SR_MAX((int)(at - 2 * wide + 0.5), 0);
    int end = SR_MIN((int)(at + 2 * wide + 0.5), from);
    Taps taps = {.n = SR_MIN(end - first, MOST_TAPS)};
    for (int k = 0; k < taps.n; k++) {
        taps.at[k] = first + k;
        sum += taps.weight[k] = cubic((first + k - at + 0.5) / wide, -0.5);
    }
    for (int k = 0; k < taps.n; k++)
        taps.weight[k] /= sum;
    return taps;
}

static Taps taps_of(const SrAddPositionsParams *p, int place, int to, int from) {
    return p->antialias ? wide_taps(place, to, from) : four_taps(p, place, to, from);
}

// Calls fn for each pair of places: token l of the tokens' grid has `weight` of embedding e of the
// learned grid.
typedef void (*Pair)(void *arg, int64_t l, int64_t e, double weight);
static void each_pair(const SrAddPositionsParams *p, Pair fn, void *arg) {
    for (int i = 0; i < p->prefix; i++)
        fn(arg, i, i, 1);
    for (int y = 0; y < p->to_h; y++)
        for (int x = 0; x < p->to_w; x++) {
            Taps v = taps_of(p, y, p->to_h, p->from_h), h = taps_of(p, x, p->to_w, p->from_w);
            for (int k = 0; k < v.n * h.n; k++) {
                double weight = v.weight[k / h.n] * h.weight[k % h.n];
                if (weight != 0)
                    fn(arg, p->prefix + (int64_t)y * p->to_w + x,
                       p->prefix + (int64_t)v.at[k / h.n] * p->from_w + h.at[k % h.n], weight);
            }
        }
}

typedef struct {
    int64_t D;
    const double *from;
    double *to;
} ReferencePairs;

static void reference_pair(void *arg, int64_t l, int64_t e, double weight) {
    const ReferencePairs *r = arg;
    for (int64_t i = 0; i < r->D; i++)
        r->to[l * r->D + i] += weight * r->from[e * r->D + i];
}

static void reference(const SrRefCall *call) {
    int64_t image = (int64_t)call->y_shape.d[1] * call->y_shape.d[2];
    memcpy(call->y, call->x[0], (size_t)sr_shape_count(call->y_shape) * sizeof(double));
    for (int n = 0; n < call->y_shape.d[0]; n++)
        each_pair(call->params, reference_pair,
                  &(ReferencePairs){call->y_shape.d[2], call->w[0], call->y + n * image});
}

typedef struct {
    int64_t D;
    float *embeddings; // (prefix + h0 w0, D)
    float *tokens;     // (L, D)
} Pairs;

static void resample_pair(void *arg, int64_t l, int64_t e, double weight) {
    const Pairs *p = arg;
    for (int64_t i = 0; i < p->D; i++)
        p->tokens[l * p->D + i] += (float)weight * p->embeddings[e * p->D + i];
}

static void collect_pair(void *arg, int64_t l, int64_t e, double weight) {
    const Pairs *p = arg;
    for (int64_t i = 0; i < p->D; i++)
        p->embeddings[e * p->D + i] += (float)weight * p->tokens[l * p->D + i];
}

void sr_add_positions_resample(const SrAddPositionsParams *p, const float *from, int D, float *to) {
    memset(to, 0, (size_t)(p->prefix + p->to_h * p->to_w) * (size_t)D * sizeof *to);
    each_pair(p, resample_pair, &(Pairs){D, (float *)from, to});
}

static void forward(const SrOpCall *call) {
    const SrAddPositionsParams *p = call->params;
    int N = call->y.shape.d[0];
    int64_t D = call->y.shape.d[2], image = call->y.shape.d[1] * D;
    const float *x = call->x[0].data, *add = call->w[0].data;
    float *y = call->y.data;
    if (resampled(p)) {
        sr_add_positions_resample(p, call->w[0].data, (int)D, call->scratch);
        add = call->scratch;
    }
#pragma omp parallel for schedule(static) if (N * image > SR_CHUNK)
    for (int n = 0; n < N; n++)
        for (int64_t i = 0; i < image; i++)
            y[n * image + i] = x[n * image + i] + add[i];
}

// Adds the images' gradients in their order, each number by one thread.
static void backward(const SrOpCall *call) {
    const SrAddPositionsParams *p = call->params;
    int N = call->y.shape.d[0];
    int64_t D = call->y.shape.d[2], image = call->y.shape.d[1] * D;
    if (call->dw[0]) {
        float *sum = resampled(p) ? call->scratch : call->dw[0];
        if (resampled(p))
            memset(sum, 0, (size_t)image * sizeof(float));
#pragma omp parallel for schedule(static) if (N * image > SR_CHUNK)
        for (int64_t l = 0; l < image / D; l++)
            for (int n = 0; n < N; n++)
                for (int64_t i = l * D; i < (l + 1) * D; i++)
                    sum[i] += call->dy[n * image + i];
        if (resampled(p))
            each_pair(p, collect_pair, &(Pairs){D, call->dw[0], sum});
    }
    if (call->dx[0] && call->dx[0] != call->dy)
        sr__copy(call->dx[0], call->dy, N * image);
}

// The gradient is on the tokens' grid already.
static SrStatus onnx(SrOnnxCall *call) {
    const SrAddPositionsParams *p = call->params;
    int L = call->y.d[1], D = call->y.d[2];
    float *grid = sr_arena_alloc(&call->file->arena, (size_t)L * (size_t)D * sizeof *grid);
    SR_TRY_MEMORY(grid, "an ONNX graph");
    if (resampled(p))
        sr_add_positions_resample(p, call->w[0].data, D, grid);
    else
        memcpy(grid, call->w[0].data, (size_t)L * (size_t)D * sizeof *grid);
    const char *positions = sr__onnx_inner(call, "positions");
    sr_onnx_weight(call->file, positions, (SrTensor){SR_SHAPE(1, L, D), SR_F32, grid});
    sr__onnx_begin(call, "Add", (const char *[]){call->in[0], positions}, 2);
    sr_onnx_end(call->file);
    return SR_OK;
}

static const SrOpCase cases[] = {
    {"{prefix: 1, from_h: 2, from_w: 3, to_h: 2, to_w: 3}", 1, {SR_SHAPE(2, 7, 3)}, false},
    {"{prefix: 1, from_h: 4, from_w: 4, to_h: 6, to_w: 3}", 1, {SR_SHAPE(2, 19, 2)}, false},
    {"{from_h: 3, from_w: 4, to_h: 2, to_w: 4}", 1, {SR_SHAPE(3, 8, 3)}, false},
    {"{from_h: 3, from_w: 3, to_h: 4, to_w: 1, align_corners: True}",
     1,
     {SR_SHAPE(2, 4, 2)},
     false},
    {"{from_h: 7, from_w: 5, to_h: 2, to_w: 3, antialias: True}", 1, {SR_SHAPE(2, 6, 2)}, false},
    {"{from_h: 3, from_w: 2, to_h: 4, to_w: 2, offset: 0.1}", 1, {SR_SHAPE(2, 8, 2)}, false},
};

const SrOp sr_op_add_positions = {
    .name = "add_positions",
    .help = "Learned position embeddings, resampled to the image's grid, added to its tokens.",
    .options = options,
    .params_bytes = sizeof(SrAddPositionsParams),
    .min_in = 1,
    .max_in = 1,
    .flags = SR_OP_CHEAP,
    .infer = infer,
    .slots = slots,
    .scratch_bytes = scratch_bytes,
    .inplace = inplace,
    .reference = reference,
    .forward = forward,
    .backward = backward,
    .onnx = onnx,
    .cases = cases,
    .n_cases = SR_COUNT(cases),
};
