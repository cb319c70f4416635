// Replaces the random draws of drop_tokens and stochastic_depth by recorded ones
// (recorded_draws.h).
#include "tests/golden/recorded_draws.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/rng.h"
#include "kernels/basic/stochastic_depth.h"
#include "kernels/tokens/drop_tokens.h"

enum { MOST_NODES = 256, MOST_TRIES = 1 << 20 };

extern const SrOp sr_op_drop_tokens, sr_op_stochastic_depth;

// Recorded draws by the node's key. They are static, since ops have no pointer for them.
static struct {
    SrArena *arena;
    const float *order; // torch.randperm: the tokens in the reference's order
    int n;
    struct {
        uint64_t key;
        const float *uniform; // (images)
    } path[MOST_NODES];
} recorded;

// ---- drop_tokens

// Moves rows of D floats of each image: row prefix + ours[i] of one side is row prefix +
// theirs[i] of the other.
static void permute(const SrOpCall *call, const float *from, float *to, bool back) {
    const SrDropTokensParams *p = call->params;
    int N = call->x[0].shape.d[0], L = call->x[0].shape.d[1], D = call->x[0].shape.d[2];
    uint32_t *ours = sr_arena_alloc(recorded.arena, sizeof *ours * (size_t)L);
    sr_drop_tokens_draw(ours, L - p->prefix, call->seed, call->iteration, call->node_key);
    for (int n = 0; n < N; n++)
        for (int t = 0; t < L; t++) {
            int a = t < p->prefix ? t : p->prefix + (int)ours[t - p->prefix],
                b = t < p->prefix ? t : p->prefix + (int)recorded.order[t - p->prefix];
            memcpy(to + ((int64_t)n * L + (back ? b : a)) * D,
                   from + ((int64_t)n * L + (back ? a : b)) * D, (size_t)D * sizeof *to);
        }
}

// The op keeps tokens ours[0], ours[1], ...; the recorded tokens are moved to those places first.
static void drop_forward(const SrOpCall *call) {
    SrOpCall moved = *call;
    SrTensor x = call->x[0];
    x.data = sr_arena_alloc(recorded.arena, sizeof(float) * (size_t)sr_shape_count(x.shape));
    permute(call, call->x[0].data, x.data, false);
    moved.x = &x;
    sr_op_drop_tokens.forward(&moved);
}

static void drop_backward(const SrOpCall *call) {
    SrOpCall moved = *call;
    size_t count = (size_t)sr_shape_count(call->x[0].shape);
    float *dx = call->dx[0] ? sr_arena_alloc(recorded.arena, sizeof *dx * count) : NULL;
    moved.dx = &dx;
    sr_op_drop_tokens.backward(&moved);
    if (dx)
        permute(call, dx, call->dx[0], true);
}

static bool is_permutation(const float *order, int n) {
    for (int i = 0; i < n; i++) {
        int found = 0;
        for (int k = 0; k < n; k++)
            found += (int)order[k] == i;
        if (found != 1)
            return false;
    }
    return true;
}

static SrStatus record_tokens(SrGoldenCase *c, SrGraph *graph, SrNode *node) {
    static SrOp op;
    const SrDropTokensParams *p = node->params;
    const SrNode *x = sr_graph_at(graph, node->in[0]);
    int64_t n, tokens = x->shape.d[1] - p->prefix;
    recorded.order = golden_floats(c, "randperm", &n);
    if (!recorded.order || n != tokens || !is_permutation(recorded.order, (int)n))
        SR_FAIL(SR_ERR_RUN, "randperm is no permutation of the %lld tokens that may be dropped",
                (long long)tokens);
    op = *node->op;
    op.forward = drop_forward;
    op.backward = drop_backward;
    node->op = &op;
    return SR_OK;
}

// ---- stochastic_depth

static const float *uniforms_of(uint64_t key) {
    for (int i = 0; i < recorded.n; i++)
        if (recorded.path[i].key == key)
            return recorded.path[i].uniform;
    return NULL;
}

// Returns an iteration in which the op's own draw drops a single image (or keeps it). If none of
// those tried does, it returns the last one, whose result then differs from the case.
static int64_t iteration_that(const SrOpCall *call, bool drops) {
    const SrStochasticDepthParams *p = call->params;
    int64_t i = 0;
    for (; i < MOST_TRIES; i++) {
        SrRng rng = sr_rng(call->seed, SR_RNG_DROPOUT, (uint64_t)i, call->node_key, 0, 0);
        if ((sr_rng_uniform(&rng) < p->p) == drops)
            break;
    }
    return i;
}

// Runs the op on each image alone, in an iteration whose draw is the recorded one.
static void each_image(const SrOpCall *call, void (*run)(const SrOpCall *call)) {
    const SrStochasticDepthParams *p = call->params;
    const float *uniform = uniforms_of(call->node_key);
    int N = call->y.shape.d[0];
    int64_t count = sr_shape_count(call->y.shape) / N;
    for (int n = 0; n < N; n++) {
        SrOpCall one = *call;
        SrTensor x = call->x[0];
        float *dx = call->dx && call->dx[0] ? call->dx[0] + n * count : NULL;
        x.shape.d[0] = one.y.shape.d[0] = 1;
        x.data = x.data ? (float *)x.data + n * count : NULL;
        one.y.data = one.y.data ? (float *)one.y.data + n * count : NULL;
        one.dy = call->dy ? call->dy + n * count : NULL;
        one.x = &x;
        one.dx = &dx;
        one.iteration = iteration_that(call, (double)uniform[n] < p->p);
        run(&one);
    }
}

static void depth_forward(const SrOpCall *call) {
    each_image(call, sr_op_stochastic_depth.forward);
}

static void depth_backward(const SrOpCall *call) {
    each_image(call, sr_op_stochastic_depth.backward);
}

// Paths are recorded in the order of execution; a path that never drops has no draw.
static SrStatus record_path(SrGoldenCase *c, SrGraph *graph, SrNode *node) {
    static SrOp op;
    char name[24];
    int64_t n;
    int k = recorded.n;
    if (!(((const SrStochasticDepthParams *)node->params)->p > 0))
        return SR_OK;
    snprintf(name, sizeof name, "uniform%d", k);
    const float *uniform = golden_floats(c, name, &n);
    if (!uniform || k == MOST_NODES || n != node->shape.d[0])
        SR_FAIL(SR_ERR_RUN, "%s: expected a number for each of %d images", name, node->shape.d[0]);
    recorded.path[recorded.n].key = sr_hash_text(node->name);
    recorded.path[recorded.n++].uniform = uniform;
    op = *node->op;
    op.forward = depth_forward;
    op.backward = depth_backward;
    node->op = &op;
    (void)graph;
    return SR_OK;
}

SrStatus golden_record_draws(SrGoldenCase *c, SrGraph *graph) {
    recorded.arena = c->arena;
    recorded.n = 0;
    for (SrNodeId id = 0; id < sr_graph_count(graph); id++) {
        SrNode *node = (SrNode *)sr_graph_at(graph, id);
        if (node->op == &sr_op_drop_tokens && golden_tensor(c, "randperm"))
            SR_TRY(record_tokens(c, graph, node));
        if (node->op == &sr_op_stochastic_depth && golden_tensor(c, "uniform0"))
            SR_TRY(record_path(c, graph, node));
    }
    return SR_OK;
}
