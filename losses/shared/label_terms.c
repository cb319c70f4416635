// Terms of labelled images: the checks of outputs and labels, and one node for each output.
#include "losses/shared/label_terms.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "kernels/losses/cross_entropy.h"
#include "kernels/losses/soft_cross_entropy.h"
#include "kernels/norm/l2_normalize.h"

// An output of several crops or an ensemble has several rows per image.  The kernels expect whole
// rounds over the batch: row r belongs to image r % batch.
static SrStatus check_output(SrLossContext *ctx, int i) {
    SrShape s = sr_build_shape(ctx->builder, ctx->outputs.v[i].node);
    char text[SR_SHAPE_TEXT_BYTES];
    int64_t rows = sr_shape_count(s) / SR_MAX(sr_shape_last(s), 1);
    if ((s.rank == 2 || s.rank == 3) && rows % ctx->batch == 0)
        return SR_OK;
    return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                           "%s: output %d of the model has shape %s; expected class scores for "
                           "each of %d images",
                           ctx->name, i, sr_shape_text(s, text, sizeof text), ctx->batch);
}

// Images with several labels need binary terms, with one score for each column of labels.
static SrStatus check_labels(SrLossContext *ctx, const char *op, int i) {
    SrShape y = sr_build_shape(ctx->builder, ctx->labels);
    int scores = sr_shape_last(sr_build_shape(ctx->builder, ctx->outputs.v[i].node));
    if (y.rank < 2)
        return SR_OK;
    if (strcmp(op, "bce_logits") != 0)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "%s needs one class per image, but the images have several labels (LABEL_PATHS with a "
            "column per class); use LOSS.name=bce_logits_multiple_output_single_target",
            ctx->name);
    if (scores == y.d[1])
        return SR_OK;
    return sr_builder_fail(
        ctx->builder, SR_ERR_CONFIG,
        "the labels have %d columns, but output %d of the model has %d scores; set the last number "
        "of `dims` in MODEL.HEAD.PARAMS to the number of classes",
        y.d[1], i, scores);
}

static bool are_soft(const SrLossContext *ctx) {
    return sr_graph_at(sr_builder_graph(ctx->builder), ctx->labels)->dtype == SR_F32;
}

// Builds the term for mixed images, whose rows of labels are distributions over the classes.
// Options for single classes have no meaning there: ignore_index is not read, as in VISSL.
static SrStatus soft_term(SrLossContext *ctx, const char *op, const SrCrossEntropyParams *p, int i,
                          const char *leaf, SrNodeId x, SrNodeId *term) {
    int scores = sr_shape_last(sr_build_shape(ctx->builder, x)),
        classes = sr_shape_last(sr_build_shape(ctx->builder, ctx->labels));
    if (strcmp(op, "cross_entropy") != 0)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "%s needs labels of 1 and 0, but DATA.TRAIN.COLLATE_FUNCTION mixes "
                               "them; use LOSS.name=cross_entropy_multiple_output_single_target",
                               ctx->name);
    if (scores != classes)
        return sr_builder_fail(
            ctx->builder, SR_ERR_CONFIG,
            "DATA.TRAIN.COLLATE_FUNCTION_PARAMS.num_classes is %d, but output %d "
            "of the model has %d scores",
            classes, i, scores);
    if (p->weight.n > 0)
        return sr_builder_fail(ctx->builder, SR_ERR_CONFIG,
                               "LOSS.%s.weight: weights of classes do not work with mixed images "
                               "(DATA.TRAIN.COLLATE_FUNCTION); set it to null",
                               ctx->name);
    if (p->label_smoothing > 0 && i == 0)
        sr_warn("LOSS.%s.label_smoothing applies to labels of one class; "
                "DATA.TRAIN.COLLATE_FUNCTION_PARAMS.label_smoothing smooths those of mixed images",
                ctx->name);
    SrSoftCrossEntropyParams soft = {.temperature = p->temperature};
    *term = sr_build_n(ctx->builder, "soft_cross_entropy", leaf, &soft,
                       (SrNodeId[]){x, ctx->labels}, 2);
    return sr_builder_status(ctx->builder);
}

SrStatus sr_label_terms_build(SrLossContext *ctx, const char *op, const void *params,
                              bool normalize, SrNodeId *loss) {
    SrBuilder *b = ctx->builder;
    if (ctx->labels == SR_NO_NODE)
        return sr_builder_fail(b, SR_ERR_CONFIG, "%s needs labels, but the images have none",
                               ctx->name);
    for (int i = 0; i < ctx->outputs.n; i++) {
        char leaf[32], normalized[32];
        SR_TRY(check_output(ctx, i));
        if (!are_soft(ctx))
            SR_TRY(check_labels(ctx, op, i));
        snprintf(leaf, sizeof leaf, "%s%d", op, i);
        snprintf(normalized, sizeof normalized, "normalized%d", i);
        SrNodeId x = ctx->outputs.v[i].node;
        if (normalize)
            x = sr_build(b, "l2_normalize", normalized, &(SrL2NormalizeParams){0}, x);
        SrNodeId term = SR_NO_NODE;
        if (are_soft(ctx))
            SR_TRY(soft_term(ctx, op, params, i, leaf, x, &term));
        else
            term = sr_build_n(b, op, leaf, params, (SrNodeId[]){x, ctx->labels}, 2);
        *loss = i == 0 ? term : sr_build_n(b, "add", "add", NULL, (SrNodeId[]){*loss, term}, 2);
    }
    return sr_builder_status(b);
}

const SrLossExample sr_label_terms_examples[1] = {
    {.heads = "[[mlp, {dims: [32, 8]}]]", .sizes = {16}},
};
