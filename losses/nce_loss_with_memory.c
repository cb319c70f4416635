// Instance discrimination with a memory bank: an image's embedding must find the image's own row
// among rows of other images.  Three methods use it:
//
//   NPID    noise-contrastive estimation, nce (Wu et al., CVPR 2018, arXiv:1805.01978, equations 2,
//           8 and 10)
//   NPID++  NPID with more negatives and longer training (Misra and van der Maaten, section 4)
//   PIRL    two outputs, of an image's patches and of the image, each compared with the memory of
//           images (Misra and van der Maaten, CVPR 2020, arXiv:1912.01991, equation 5)
//
// loss_type=cross_entropy uses a softmax over the own row and the negatives instead of nce.
// VISSL has that choice too, but fails on the shape of its labels.
//
// Outputs are compared in turn.  As in VISSL, each output moves the memory before the next one is
// compared with it.  The memory in the parameter table gets the moved rows after the step.
#include "kernels/basic/scale.h"
#include "kernels/losses/cross_entropy.h"
#include "kernels/memory/nce.h"
#include "kernels/norm/l2_normalize.h"
#include "losses/shared/memory_bank.h"

#include <math.h>
#include <stdio.h>

enum { MAX_TERMS = 8, OWN = 0, IGNORED = -1 };

typedef struct {
    int loss_type, update_index, num_negatives, embedding_dim;
    bool norm_embedding, norm_init, update_on_forward;
    double temperature, norm_constant, momentum;
    SrDoubles loss_weights;
    int64_t ignore_index;
} NceLoss;

#define FIELD(f) offsetof(NceLoss, f)
static const SrOption options[] = {
    {"loss_type", SR_OPT_ENUM, FIELD(loss_type), "nce", .choices = "nce|cross_entropy",
     .help = "nce: noise-contrastive estimation; cross_entropy: a softmax over the image's own row "
             "and the negatives."},
    {"norm_embedding", SR_OPT_BOOL, FIELD(norm_embedding), "True",
     .help = "Divide embeddings by their length before they are compared."},
    {"temperature", SR_OPT_FLOAT, FIELD(temperature), "0.07", 1e-6, 1e6,
     .help = "Temperature that divides the products."},
    {"loss_weights", SR_OPT_FLOATS, FIELD(loss_weights), "[1.0]", 0, 1e6,
     .help = "A weight for each output of the model."},
    {"norm_constant", SR_OPT_FLOAT, FIELD(norm_constant), "-1", -1e30, 1e30,
     .help = "Constant that normalises exponentials to probabilities; below 0: estimated from the "
             "first step."},
    {"update_mem_with_emb_index", SR_OPT_INT, FIELD(update_index), "-100", -1000, 1000,
     .help = "Index of the output that updates the memory; in PIRL 1, the output of the images."},
    {"ignore_index", SR_OPT_INT64, FIELD(ignore_index), "-1",
     .help = "Images with this index are ignored."},
    {"negative_sampling_params.num_negatives", SR_OPT_INT, FIELD(num_negatives), "16000", 1,
     1 << 24, .help = "Number of rows that an embedding is compared with, besides its own."},
    {"negative_sampling_params.type", SR_OPT_IGNORED, 0, "random",
     .help = "negatives are always drawn uniformly with replacement, as VISSL's random and debug "
             "both do"},
    {"memory_params.memory_size", SR_OPT_IGNORED, 0, "-1",
     .help = "the length of the data set is used"},
    {"memory_params.embedding_dim", SR_OPT_INT, FIELD(embedding_dim), "128", 1, 1 << 24,
     .help = "Size of an embedding; must equal the size of the heads' outputs."},
    {"memory_params.momentum", SR_OPT_FLOAT, FIELD(momentum), "0.5", 0, 1,
     .help = "Share of its value that a row keeps when its image is seen."},
    {"memory_params.norm_init", SR_OPT_BOOL, FIELD(norm_init), "True",
     .help = "Initial rows have length 1."},
    {"memory_params.update_mem_on_forward", SR_OPT_BOOL, FIELD(update_on_forward), "True",
     .help = "Every output updates the memory."},
    {"num_train_samples", SR_OPT_IGNORED, 0, "-1", .help = "the length of the data set is used"},
    SR_OPTION_END,
};
#undef FIELD

typedef struct {
    NceLoss p;
    SrMemoryBank bank;
    uint64_t seed;
    int batch, n_terms, norm_constant; // images; outputs of the model; table index: (1)
    int behind;                        // first output that is compared with moved rows
    // New values of the images' rows, (batch, D).  SR_NO_NODE: no output moves the memory.
    SrNodeId moved;
    SrNodeId sample_index, targets; // inputs (batch)
    SrNodeId z[MAX_TERMS];          // (n_terms) embeddings (batch, D) that are compared
    SrNodeId index[MAX_TERMS];      // (n_terms) inputs (batch, 1 + K), K negatives
} State;

static SrStatus check(SrLossContext *ctx, const NceLoss *p) {
    SrBuilder *b = ctx->builder;
    char text[SR_SHAPE_TEXT_BYTES];
    if (ctx->outputs.n != p->loss_weights.n || ctx->outputs.n > MAX_TERMS)
        return sr_builder_fail(b, SR_ERR_CONFIG,
                               "LOSS.%s.loss_weights has %d numbers, but the model has %d outputs; "
                               "expected one per output, at most %d",
                               ctx->name, p->loss_weights.n, ctx->outputs.n, MAX_TERMS);
    for (int o = 0; o < ctx->outputs.n; o++) {
        SrShape s = sr_build_shape(b, ctx->outputs.v[o].node);
        if (s.rank != 2 || s.d[0] != ctx->batch || s.d[1] != p->embedding_dim)
            return sr_builder_fail(
                b, SR_ERR_CONFIG,
                "LOSS.%s.memory_params.embedding_dim is %d, but output %d of the model has shape "
                "%s for %d images; expected one embedding per image",
                ctx->name, p->embedding_dim, o, sr_shape_text(s, text, sizeof text), ctx->batch);
    }
    return SR_OK;
}

// Builds the term of output o, a scalar, and the rows that it moves.
static SrStatus build_term(SrLossContext *ctx, State *s, int o, SrNodeId *term) {
    SrBuilder *b = ctx->builder;
    const NceLoss *p = &s->p;
    char name[32];
    snprintf(name, sizeof name, "rows%d", o);
    s->z[o] = ctx->outputs.v[o].node;
    if (p->norm_embedding)
        s->z[o] = sr_build(b, "l2_normalize", "normalize", &(SrL2NormalizeParams){0}, s->z[o]);
    s->index[o] = sr_build_input(b, name, SR_SHAPE(ctx->batch, 1 + p->num_negatives), SR_I64);
    SrNodeId scores = sr_memory_bank_scores(ctx, &s->bank, s->z[o], s->index[o], s->moved);
    if (s->moved == SR_NO_NODE)
        s->behind = o + 1;
    if (p->update_on_forward || o == p->update_index)
        s->moved = sr_memory_bank_move(ctx, &s->bank, p->momentum, s->z[o], s->index[o], s->moved);
    if (p->loss_type == 1) {
        SrCrossEntropyParams ce = {.temperature = p->temperature, .ignore_index = IGNORED};
        *term = sr_build_n(b, "cross_entropy", "cross_entropy", &ce,
                           (SrNodeId[]){scores, s->targets}, 2);
        return sr_builder_status(b);
    }
    SrLogPartitionParams log_z = {s->bank.N, p->temperature};
    SrNceParams nce = {s->bank.N, p->temperature};
    SrNodeId z = sr_build_bound(b, "log_partition", "log_partition", &log_z,
                                (SrNodeId[]){scores, s->targets}, 2, &s->norm_constant, 1);
    *term = sr_build_n(b, "nce", "nce", &nce, (SrNodeId[]){scores, s->targets, z}, 3);
    return sr_builder_status(b);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **out) {
    SrBuilder *b = ctx->builder;
    State *s = *out = sr_loss_alloc(ctx, sizeof *s);
    SrNodeId terms[MAX_TERMS];
    SR_TRY(sr_builder_status(b));
    s->p = *(const NceLoss *)params;
    s->seed = ctx->seed;
    s->batch = ctx->batch;
    s->n_terms = ctx->outputs.n;
    s->sample_index = ctx->sample_index;
    s->moved = SR_NO_NODE;
    SR_TRY(check(ctx, &s->p));
    SR_TRY(sr_memory_bank_build(ctx, s->p.embedding_dim, &s->bank));
    if (s->p.loss_type == 0)
        s->norm_constant = sr_build_state(b, "norm_constant", SR_SHAPE(1), SR_F32,
                                          (SrInit){SR_INIT_CONSTANT, s->p.norm_constant});
    s->targets = sr_build_input(b, "targets", SR_SHAPE(ctx->batch), SR_I64);
    for (int o = 0; o < s->n_terms; o++) {
        SR_TRY(build_term(ctx, s, o, &terms[o]));
        terms[o] = sr_build(b, "scale", "weight",
                            &(SrScaleParams){.factor = s->p.loss_weights.v[o]}, terms[o]);
    }
    if (s->moved != SR_NO_NODE)
        SR_TRY(sr_loss_keep(ctx, s->moved));
    *loss = s->n_terms > 1 ? sr_build_n(b, "add", "add", NULL, terms, s->n_terms) : terms[0];
    return sr_builder_status(b);
}

static void start(void *instance, const SrLossStep *step, bool resumed) {
    const State *s = instance;
    if (!resumed && s->p.norm_init)
        sr_memory_bank_start(&s->bank, step->params);
}

static void before_step(void *instance, const SrLossStep *step) {
    const State *s = instance;
    const int64_t *image = sr_loss_input(step, s->sample_index).data; // (batch)
    int64_t *target = sr_loss_input(step, s->targets).data;           // (batch)
    for (int i = 0; i < s->batch; i++)
        target[i] = image[i] == s->p.ignore_index ? IGNORED : OWN;
    for (int o = 0; o < s->n_terms; o++) {
        int64_t *index = sr_loss_input(step, s->index[o]).data; // (batch, 1 + K)
        sr_memory_bank_draw(&s->bank, s->seed, step->iteration, o, image, s->batch,
                            s->p.num_negatives, index);
        if (o >= s->behind)
            sr_memory_bank_redirect(&s->bank, image, s->batch, index,
                                    (int64_t)s->batch * (1 + s->p.num_negatives));
    }
}

static void after_update(void *instance, const SrLossStep *step) {
    const State *s = instance;
    if (s->moved != SR_NO_NODE)
        sr_memory_bank_put(&s->bank, step->params, sr_loss_input(step, s->sample_index).data,
                           s->p.ignore_index, sr_loss_value(step, s->moved).data, s->batch);
}

// Chance is the loss when all scores are equal: each row's probability is then 1 / N.
static void facts(const void *instance, SrLossFacts *out) {
    const State *s = instance;
    double K = s->p.num_negatives,
           one = s->p.loss_type == 1 ? log1p(K) : log1p(K) + K * log1p(1 / K);
    for (int o = 0; o < s->n_terms; o++)
        out->chance += s->p.loss_weights.v[o] * one;
}

static const SrLossExample examples[] = {
    {"{memory_params: {embedding_dim: 8}, negative_sampling_params: {num_negatives: 20}}",
     "[[mlp, {dims: [32, 8]}]]",
     {16},
     .may_rise = true}, // a memory of random rows
    {"{memory_params: {embedding_dim: 8, momentum: 0}, negative_sampling_params: {num_negatives: "
     "20}, loss_type: cross_entropy}",
     "[[mlp, {dims: [32, 8]}]]",
     {16},
     .may_rise = true}};

const SrLoss sr_loss_nce_loss_with_memory = {
    .name = "nce_loss_with_memory",
    .help = "NPID, PIRL: an image finds its own row in a memory bank of all images",
    .subtree = "LOSS.nce_loss_with_memory",
    .options = options,
    .params_bytes = sizeof(NceLoss),
    .needs_samples = true,
    .whole_batches = "negatives are drawn for batches of equal size",
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
    .start = start,
    .before_step = before_step,
    .after_update = after_update,
    .facts = facts,
};
