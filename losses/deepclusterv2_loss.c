// DeepCluster v2 (Caron et al., NeurIPS 2020, arXiv:2006.09882, appendix C.1).  The loss
// classifies embeddings into clusters of the embeddings that the images had one epoch ago.
// Several clusterings run at once.
//
// A memory holds one embedding per image, in the order in which images came.  A pass over the
// data fills it before the first epoch.  The start of each epoch clusters it, by spherical
// k-means from random rows.  The centroids are the classifier's weights during the epoch.  Images
// that are not in the memory add nothing to the loss.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/basic/linear.h"
#include "kernels/basic/scale.h"
#include "kernels/losses/cross_entropy.h"
#include "losses/loss.h"
#include "measure/clusters/kmeans.h"

enum { MAX_HEADS = 16, UNSEEN = -100 };

typedef struct {
    double temperature;
    int num_crops, kmeans_iters, embedding_dim;
    SrInts num_clusters, crops_for_mb;
} DeepclusterV2Loss;

#define FIELD(f) offsetof(DeepclusterV2Loss, f)
static const SrOption options[] = {
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.1", 1e-6, 1e6,
     .help = "Temperature that divides the products of embeddings and centroids."},
    {"num_crops", SR_OPT_INT, FIELD(num_crops), "2", 1, SR_MAX_VIEWS,
     .help = "Crops per image (inferred from the transforms)."},
    {"num_clusters", SR_OPT_INTS, FIELD(num_clusters), "[3000, 3000, 3000]", 2, 1 << 24,
     .help = "Number of clusters in each clustering."},
    {"kmeans_iters", SR_OPT_INT, FIELD(kmeans_iters), "10", 0, 10000,
     .help = "Iterations of k-means at the start of an epoch."},
    {"memory_params.crops_for_mb", SR_OPT_INTS, FIELD(crops_for_mb), "[0]", 0, SR_MAX_VIEWS - 1,
     .help = "Crops whose embeddings are kept in the memory; the clusterings use them in turn."},
    {"memory_params.embedding_dim", SR_OPT_INT, FIELD(embedding_dim), "128", 1, 1 << 24,
     .help = "Size of an embedding."},
    {"DROP_LAST", SR_OPT_IGNORED, 0, "True", .help = "the memory stores every image of a batch"},
    {"BATCHSIZE_PER_REPLICA", SR_OPT_IGNORED, 0, "256", .help = "the value in DATA.TRAIN is used"},
    {"num_train_samples", SR_OPT_IGNORED, 0, "-1", .help = "the length of the data set is used"},
    SR_OPTION_END,
};
#undef FIELD

// Table indices: memory (banks, N, D), one bank for each entry of crops_for_mb; index (N) of I64,
// the image of each row; assignments (heads, N) of I64, the cluster of each image; centroids (K,
// D) of each head.  Also, each (1) of I64: position, the row that is written next; clustered, 1 +
// the epoch whose start computed the clusters, 0 at first.  A head is one clustering.
typedef struct {
    DeepclusterV2Loss p;
    int64_t N; // images of the training set
    int batch;
    uint64_t seed;
    int memory, index, assignments, position, clustered, centroids[MAX_HEADS];
    // z: (V * batch, D), of length 1.  Inputs: sample_index (batch), targets (V * batch) of each
    // head.
    SrNodeId z, sample_index, targets[MAX_HEADS];
} State;

static SrStatus infer(SrInfer *in) {
    const SrYaml *drop = sr_yaml_find_path(in->tree, "DATA.TRAIN.DROP_LAST");
    if (drop)
        SR_TRY(sr_infer_set(in, "DROP_LAST", drop));
    SR_TRY(sr_infer_set_int(in, "BATCHSIZE_PER_REPLICA", in->batch));
    SR_TRY(sr_infer_crops(in));
    return sr_infer_force_collator(in, "multicrop_collator");
}

static SrStatus check(SrLossContext *ctx, const DeepclusterV2Loss *p, SrNodeId x) {
    int D = sr_shape_last(sr_build_shape(ctx->builder, x));
    if (ctx->n_views != p->num_crops || D != p->embedding_dim)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "LOSS.%s: num_crops is %d and memory_params.embedding_dim %d, but there are %d crops "
            "with embeddings of %d",
            ctx->name, p->num_crops, p->embedding_dim, ctx->n_views, D);
    if (p->num_clusters.n < 1 || p->num_clusters.n > MAX_HEADS || p->crops_for_mb.n < 1)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s: num_clusters has %d entries (1 to %d are possible), "
                               "crops_for_mb %d (1 at least)",
                               ctx->name, p->num_clusters.n, MAX_HEADS, p->crops_for_mb.n);
    for (int k = 0; k < p->num_clusters.n; k++)
        if (p->num_clusters.v[k] > ctx->n_samples)
            return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                                   "LOSS.%s.num_clusters[%d] is %d, but there are %lld images",
                                   ctx->name, k, p->num_clusters.v[k], (long long)ctx->n_samples);
    return sr_loss_check_views(ctx, "memory_params.crops_for_mb", p->crops_for_mb);
}

static void build_state(SrLossContext *ctx, State *s) {
    SrBuilder *b = ctx->builder;
    int N = (int)s->N, D = s->p.embedding_dim, heads = s->p.num_clusters.n;
    SrInit zero = {SR_INIT_CONSTANT, 0}, unseen = {SR_INIT_CONSTANT, UNSEEN};
    s->memory = sr_build_state(b, "memory", SR_SHAPE(s->p.crops_for_mb.n, N, D), SR_F32, zero);
    s->index = sr_build_state(b, "memory_index", SR_SHAPE(N), SR_I64, unseen);
    s->assignments = sr_build_state(b, "assignments", SR_SHAPE(heads, N), SR_I64, unseen);
    s->position = sr_build_state(b, "position", SR_SHAPE(1), SR_I64, zero);
    s->clustered = sr_build_state(b, "clustered", SR_SHAPE(1), SR_I64, zero);
    for (int k = 0; k < heads; k++) {
        char name[32];
        snprintf(name, sizeof name, "centroids%d", k);
        s->centroids[k] =
            sr_build_state(b, name, SR_SHAPE(s->p.num_clusters.v[k], D), SR_F32, zero);
    }
}

// Builds the cross entropy of z centroids^T / temperature with the clusters of head k, a scalar.
static SrNodeId build_head(SrLossContext *ctx, State *s, int k) {
    SrBuilder *b = ctx->builder;
    char name[32];
    SrLinearParams linear = {.out_features = s->p.num_clusters.v[k]};
    SrCrossEntropyParams ce = {.temperature = s->p.temperature, .ignore_index = UNSEEN};
    snprintf(name, sizeof name, "targets%d", k);
    s->targets[k] = sr_build_input(b, name, SR_SHAPE(ctx->n_views * ctx->batch), SR_I64);
    SrNodeId in[2] = {sr_build_bound(b, "linear", "scores", &linear, &s->z, 1, &s->centroids[k], 1),
                      s->targets[k]};
    return sr_build_n(b, "cross_entropy", "cross_entropy", &ce, in, 2);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    const DeepclusterV2Loss *p = params;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SrNodeId x, terms[MAX_HEADS];
    SR_TRY(sr_builder_status(ctx->builder));
    SR_TRY(sr_loss_output(ctx, "embedding", &x));
    SR_TRY(check(ctx, p, x));
    s->p = *p;
    s->N = ctx->n_samples;
    s->batch = ctx->batch;
    s->seed = ctx->seed;
    s->sample_index = ctx->sample_index;
    build_state(ctx, s);
    s->z = sr_build(ctx->builder, "l2_normalize", "normalize", NULL, x);
    SR_TRY(sr_loss_keep(ctx, s->z));
    for (int k = 0; k < p->num_clusters.n; k++)
        terms[k] = build_head(ctx, s, k);
    SrNodeId sum = p->num_clusters.n > 1
                       ? sr_build_n(ctx->builder, "add", "add", NULL, terms, p->num_clusters.n)
                       : terms[0];
    *loss = sr_build(ctx->builder, "scale", "mean",
                     &(SrScaleParams){.factor = 1.0 / p->num_clusters.n}, sum);
    return sr_builder_status(ctx->builder);
}

static void *entry(const SrLossStep *step, int i) { return sr_params_at(step->params, i)->value; }

// Writes the embeddings of n images to the memory at `position`.  z has `batch` rows per view.
static void remember(const State *s, const SrLossStep *step, const int64_t *index, int n,
                     int batch) {
    const float *z = sr_loss_value(step, s->z).data; // (V * batch, D)
    int64_t *at = entry(step, s->position), *memory_index = entry(step, s->index);
    float *memory = entry(step, s->memory);
    int D = s->p.embedding_dim;
    for (int i = 0; i < n; i++, *at = (*at + 1) % s->N) {
        memory_index[*at] = index[i];
        for (int c = 0; c < s->p.crops_for_mb.n; c++)
            memcpy(memory + (c * s->N + *at) * D,
                   z + ((int64_t)s->p.crops_for_mb.v[c] * batch + i) * D, (size_t)D * sizeof *z);
    }
}

static SrStatus fill(void *arg, const SrEpochRows *rows) {
    remember(arg, &rows->step, rows->index, rows->n, rows->batch);
    return SR_OK;
}

// Computes the centroids and assignments of clustering k.  The first centres are random rows of the
// memory.
static SrStatus cluster(const State *s, const SrLossStep *step, int epoch, int k) {
    int K = s->p.num_clusters.v[k], D = s->p.embedding_dim;
    int64_t *out = (int64_t *)entry(step, s->assignments) + k * s->N,
            *index = entry(step, s->index);
    int64_t bank = k % s->p.crops_for_mb.n;
    SrRowView rows = {.n = s->N, .d = D, .x = (float *)entry(step, s->memory) + bank * s->N * D};
    uint32_t *order = sr_calloc((size_t)s->N, sizeof *order);
    int64_t *first = sr_calloc((size_t)K, sizeof *first),
            *label = sr_calloc((size_t)s->N, sizeof *label);
    SrKmeans km = {.k = 0};
    SrStatus status = SR_OK;
    if (!order || !first || !label)
        SR_TRY_GOTO(sr_out_of_memory("%d clusters", K));
    SrRng rng = sr_rng(s->seed, SR_RNG_CLUSTER, (uint64_t)epoch, (uint64_t)k, 0, 1);
    sr_rng_permutation(&rng, order, (uint32_t)s->N);
    for (int c = 0; c < K; c++)
        first[c] = order[c];
    SrKmeansOptions o = {.k = K,
                         .iterations = s->p.kmeans_iters,
                         .spherical = true,
                         .first = first,
                         .keep_empty = true};
    SR_TRY_GOTO(sr_kmeans(&o, &rows, &km));
    SR_TRY_GOTO(sr_kmeans_assign(&km, &rows, label, NULL));
    memcpy(entry(step, s->centroids[k]), km.centre, (size_t)K * (size_t)D * sizeof(float));
    for (int64_t i = 0; i < s->N; i++)
        out[i] = UNSEEN;
    for (int64_t i = 0; i < s->N; i++)
        if (index[i] >= 0)
            out[index[i]] = label[i];
done:
    sr_kmeans_deinit(&km);
    sr_free(order);
    sr_free(first);
    sr_free(label);
    return status;
}

// Does nothing if the state already has this epoch's clusters.
static SrStatus before_epoch(void *instance, const SrEpoch *epoch) {
    const State *s = instance;
    int64_t *clustered = entry(&epoch->step, s->clustered);
    if (*clustered == epoch->step.epoch + 1)
        return SR_OK;
    *(int64_t *)entry(&epoch->step, s->position) = 0;
    if (*clustered == 0)
        SR_TRY(epoch->pass(epoch, fill, instance));
    *(int64_t *)entry(&epoch->step, s->position) = 0;
    for (int k = 0; k < s->p.num_clusters.n; k++)
        SR_TRY(cluster(s, &epoch->step, epoch->step.epoch, k));
    *clustered = epoch->step.epoch + 1;
    return SR_OK;
}

static void before_step(void *instance, const SrLossStep *step) {
    const State *s = instance;
    const int64_t *index = sr_loss_input(step, s->sample_index).data; // (batch)
    const int64_t *assignments = entry(step, s->assignments);
    for (int k = 0; k < s->p.num_clusters.n; k++) {
        int64_t *target = sr_loss_input(step, s->targets[k]).data; // (V * batch)
        for (int r = 0; r < s->p.num_crops * s->batch; r++) {
            int64_t image = index[r % s->batch];
            target[r] = image >= 0 && image < s->N ? assignments[k * s->N + image] : UNSEEN;
        }
    }
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *s = instance;
    remember(s, step, sr_loss_input(step, s->sample_index).data, s->batch, s->batch);
}

// Counts the clusters of the first clustering that have images.
static void health(void *instance, const SrLossStep *step, SrLossHealth *out) {
    const State *s = instance;
    int K = s->p.num_clusters.v[0];
    const int64_t *of = entry(step, s->assignments); // (N)
    bool *used = sr_calloc((size_t)K, sizeof *used);
    for (int64_t i = 0; used && i < s->N; i++)
        if (of[i] >= 0 && of[i] < K)
            used[of[i]] = true;
    out->clusters = used ? K : 0;
    for (int k = 0; used && k < K; k++)
        out->clusters_used += used[k];
    sr_free(used);
}

static const SrLossExample examples[] = {
    {"{num_clusters: [4, 3], memory_params: {embedding_dim: 8, crops_for_mb: [0, 1]}}",
     "[[mlp, {dims: [32, 8]}]]",
     {16, 16},
     .may_rise = true}};

const SrLoss sr_loss_deepclusterv2_loss = {
    .name = "deepclusterv2_loss",
    .help = "DeepCluster v2: classification into clusters of a memory of embeddings",
    .subtree = "LOSS.deepclusterv2_loss",
    .options = options,
    .params_bytes = sizeof(DeepclusterV2Loss),
    .needs_samples = true,
    .whole_batches = "its memory is filled with whole batches",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .infer = infer,
    .build = build,
    .before_epoch = before_epoch,
    .before_step = before_step,
    .after_update = after_update,
    .health = health,
};
