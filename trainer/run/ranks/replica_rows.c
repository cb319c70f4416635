// Moves data in a step of several replicas, also between ranks: images to the current replica,
// its rows to the loss over all replicas, and their gradients back.  replicas.c decides when.
#include <string.h>

#include "base/compiler.h"
#include "base/ranks/comm.h"
#include "base/rng.h"
#include "trainer/model/train_graph.h"
#include "trainer/run/ranks/replicas_internal.h"

size_t sr__replicas_bytes_of(const SrGraph *graph, SrNodeId id) {
    const SrNode *node = sr_graph_at(graph, id);
    return (size_t)sr_shape_count(node->shape) * sr_dtype_bytes(node->dtype);
}

// Soft labels have one number per image too: meters count their heaviest class.
size_t sr__replicas_label_length(const SrTrainGraph *g) {
    if (g->labels == SR_NO_NODE)
        return (size_t)g->batch;
    return (size_t)sr_shape_count(sr_graph_at(g->graph, g->labels)->shape);
}

// Returns the kept images of a replica of any rank.
static char *images_of(const SrReplicas *r, int replica) {
    int place = r->kept == r->n ? replica : replica - r->first;
    SR_ASSERT(place >= 0 && place < r->kept);
    return r->images + (size_t)place * r->input_bytes;
}

void sr__replicas_move_inputs(SrReplicas *r, int replica, bool take) {
    char *at = images_of(r, replica);
    for (int i = 0; i < r->n_inputs; i++) {
        char *input = sr_plan_input(r->plan, r->inputs[i]).data;
        size_t bytes = sr__replicas_bytes_of(r->graph->graph, r->inputs[i]);
        if (input) // no node reads some outputs of a teacher
            memcpy(take ? at : input, take ? input : at, bytes);
        at += bytes;
    }
}

// Copies input i of this rank's replicas to the node that holds all replicas.
static void begin_rows(SrReplicas *r, int i, size_t at, SrNodeId world) {
    char *all = sr_plan_input(r->loss_plan, world).data;
    size_t bytes = sr__replicas_bytes_of(r->graph->graph, r->inputs[i]);
    for (int n = r->first; n < r->first + r->mine; n++)
        memcpy(all + (size_t)n * bytes, images_of(r, n) + at, bytes);
    if (r->mine < r->n)
        sr_comm_all_gather(all + (size_t)r->first * bytes, (size_t)r->mine * bytes, all);
}

void sr__replicas_begin_rows(SrReplicas *r) {
    const SrTrainGraph *g = r->graph;
    for (int k = 0; k < g->n_rows; k++) {
        size_t at = 0;
        for (int i = 0; i < r->n_inputs; at += sr__replicas_bytes_of(g->graph, r->inputs[i++]))
            if (r->inputs[i] == g->rows[k].replica)
                begin_rows(r, i, at, g->rows[k].world);
    }
}

// Returns the place of an image of a view among the kept ones.
static char *kept_image(const SrReplicas *r, int view, int image) {
    SR_ASSERT(view >= 0 && view < r->graph->n_views && image >= 0 &&
              image < r->n * r->graph->batch);
    const SrGraph *graph = r->graph->graph;
    char *at = images_of(r, image / r->graph->batch);
    for (int v = 0; v < view; v++)
        at += sr__replicas_bytes_of(graph, r->graph->views[v]);
    size_t bytes = sr__replicas_bytes_of(graph, r->graph->views[view]) / (size_t)r->graph->batch;
    return at + (size_t)(image % r->graph->batch) * bytes;
}

// Every rank gets the images of all ranks, for the shuffled views.
void sr__replicas_gather_images(SrReplicas *r) {
    const SrTrainGraph *g = r->graph;
    for (int k = 0; k < g->n_shuffled && r->mine < r->n; k++)
        for (int replica = 0; replica < r->n; replica++)
            sr_comm_broadcast(kept_image(r, g->shuffled[k].view, replica * g->batch),
                              sr__replicas_bytes_of(g->graph, g->shuffled[k].input),
                              replica / r->mine);
}

void sr__replicas_fill_shuffled(SrReplicas *r, int replica) {
    const SrTrainGraph *g = r->graph;
    for (int k = 0; k < g->n_shuffled; k++) {
        char *to = sr_plan_input(r->plan, g->shuffled[k].input).data;
        size_t bytes = sr__replicas_bytes_of(g->graph, g->shuffled[k].input) / (size_t)g->batch;
        for (int i = 0; i < g->batch; i++)
            memcpy(to + (size_t)i * bytes,
                   kept_image(r, g->shuffled[k].view, (int)r->order[replica * g->batch + i]),
                   bytes);
    }
}

// The draw depends on seed and iteration alone, so it is the same on all ranks.
void sr__replicas_draw_order(SrReplicas *r, int64_t iteration) {
    SrRng rng = sr_rng(r->seed, SR_RNG_SHUFFLE, (uint64_t)iteration, 0, 0, 0);
    if (r->graph->n_shuffled > 0)
        sr_rng_permutation(&rng, r->order, (uint32_t)(r->n * r->graph->batch));
}

// Puts the rows of a shuffled node back at their images' places.
static void unshuffle_rows(const SrReplicas *r, int replica, SrTensor own, SrTensor world) {
    int n = r->graph->batch;
    SR_ASSERT(own.shape.d[0] % n == 0 && replica >= 0 && replica < r->n);
    size_t row = (size_t)(sr_shape_count(own.shape) / own.shape.d[0]) * sr_dtype_bytes(own.dtype);
    for (int k = 0; k < own.shape.d[0]; k++) {
        size_t to = (size_t)(k / n) * (size_t)(r->n * n) + r->order[replica * n + k % n];
        memcpy((char *)world.data + to * row, (char *)own.data + (size_t)k * row, row);
    }
}

// Copies the rows of a replica between its node and the node of all replicas.  Both are view-major:
// row = view * batch + image.
static void move_rows(const SrReplicas *r, int replica, SrTensor own, SrTensor world, bool out) {
    int n = r->graph->batch, views = own.shape.d[0] / n;
    SR_ASSERT(views * n == own.shape.d[0] && replica >= 0 && replica < r->n);
    size_t row = (size_t)(sr_shape_count(own.shape) / own.shape.d[0]) * sr_dtype_bytes(own.dtype);
    for (int v = 0; v < views; v++) {
        char *a = (char *)own.data + (size_t)v * (size_t)n * row;
        char *b =
            (char *)world.data + ((size_t)v * (size_t)r->n + (size_t)replica) * (size_t)n * row;
        memcpy(out ? b : a, out ? a : b, (size_t)n * row);
    }
}

static void rows_to_world(SrReplicas *r, int link, int replica, SrTensor own) {
    SrTensor world = sr_plan_input(r->loss_plan, r->graph->rows[link].world);
    if (r->graph->rows[link].shuffled)
        unshuffle_rows(r, replica, own, world);
    else
        move_rows(r, replica, own, world, true);
}

// The rows go to the loss's graph, or with several ranks to `crossing`.
void sr__replicas_take_rows(SrReplicas *r, int replica) {
    char *at = r->crossing + (size_t)replica * r->row_bytes;
    for (int i = 0; i < r->graph->n_rows; i++) {
        SrTensor own = sr_plan_output(r->plan, r->graph->rows[i].replica);
        size_t bytes = sr__replicas_bytes_of(r->graph->graph, r->graph->rows[i].replica);
        if (!r->crossing)
            rows_to_world(r, i, replica, own);
        else
            memcpy(at, own.data, bytes);
        at += bytes;
    }
}

// Gathers rows of all replicas of all ranks, in the order of replicas.
void sr__replicas_gather_rows(SrReplicas *r) {
    char *at = r->crossing;
    if (!r->crossing)
        return;
    sr_comm_all_gather(at + (size_t)r->first * r->row_bytes, (size_t)r->mine * r->row_bytes, at);
    for (int replica = 0; replica < r->n; replica++)
        for (int i = 0; i < r->graph->n_rows; i++) {
            SrTensor own = sr_plan_output(r->plan, r->graph->rows[i].replica);
            own.data = at;
            rows_to_world(r, i, replica, own);
            at += sr__replicas_bytes_of(r->graph->graph, r->graph->rows[i].replica);
        }
}

void sr__replicas_seed_rows(const SrReplicas *r, int replica) {
    const SrTrainGraph *g = r->graph;
    for (int i = 0; i < g->n_rows; i++) {
        if (!g->rows[i].learns)
            continue;
        SrTensor own = sr_plan_output(r->plan, g->rows[i].replica);
        own.data = sr_plan_seed(r->plan, g->rows[i].replica);
        own.dtype = SR_F32;
        move_rows(r, replica, own, sr_plan_input_grad(r->loss_plan, g->rows[i].world), false);
    }
}

void sr__replicas_keep_values(SrReplicas *r, int replica) {
    for (int i = 0; i < r->n_values; i++) {
        SrTensor from = sr_plan_output(r->plan, r->values[i].node);
        size_t bytes = (size_t)sr_shape_count(from.shape) * sr_dtype_bytes(from.dtype);
        SR_ASSERT(from.data && replica >= 0 && replica < r->n);
        memcpy((char *)r->values[i].value.data + (size_t)replica * bytes, from.data, bytes);
    }
}
