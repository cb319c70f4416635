// Distillation of dense features without labels (the second version of lightly-train's
// `distillation`): the student predicts the maps of the teacher's last blocks, patch by patch.
//
//   L = mean over images, patches and channels of (s - t)^2
//
// t: the maps of the last n blocks of the teacher, DISTILLATION.TEACHER_MODEL, next to each other,
// (h, w, n D).  A transformer gives the patches of each block through its last norm, as DINOv2's
// get_intermediate_layers does.  A trunk without tokens gives its last map alone.
// s: the student's last map through a linear layer of the loss's own, loss.heads.projection,
// resized to the teacher's grid.  Nothing is normalised.
//
// lightly-train mixes the images by mixup, which is mixup_collator here.
#include <stdio.h>
#include <string.h>

#include "graph/ir/token_blocks.h"
#include "kernels/basic/concat.h"
#include "kernels/basic/reshape.h"
#include "kernels/losses/regression_loss.h"
#include "kernels/tokens/select_tokens.h"
#include "losses/shared/crop_terms.h"

enum { MAX_BLOCKS = 16 };

typedef struct {
    int n_teacher_blocks;
} DenseDistillation;

#define FIELD(f) offsetof(DenseDistillation, f)
static const SrOption options[] = {
    {"n_teacher_blocks", SR_OPT_INT, FIELD(n_teacher_blocks), "2", 1, MAX_BLOCKS,
     .help = "Number of the teacher's last blocks whose patches the student predicts; a teacher "
             "without tokens gives its last map alone."},
    SR_OPTION_END,
};
#undef FIELD

// Returns the patches, which are the last tokens: (N, prefix + L, D) -> (N, L, D).
static SrNodeId patches_of(SrBuilder *b, SrNodeId tokens, int L) {
    SrSelectTokensParams p = {.begin = sr_build_shape(b, tokens).d[1] - L, .count = L};
    return p.begin == 0 ? tokens : sr_build(b, "select_tokens", "patches", &p, tokens);
}

// Replaces the teacher's outputs by the maps of its last blocks, (N, h, w, n D), the last block at
// the end.
static SrStatus reduce(SrBuilder *b, const char *loss, SrOutputs *outputs) {
    SrNodeId map, block[MAX_BLOCKS];
    int n = 0;
    SR_TRY(sr_outputs_get(b, outputs, loss, "map", &map));
    SrShape m = sr_build_shape(b, map);
    for (const SrOutput *o; n < MAX_BLOCKS; n++) {
        char name[16];
        snprintf(name, sizeof name, "normed%d", n);
        if (!(o = sr_outputs_find(outputs, name, 0)))
            break;
        memmove(block + 1, block, (size_t)n * sizeof *block);
        block[0] = patches_of(b, o->node, m.d[1] * m.d[2]);
    }
    if (n > 1)
        block[0] = sr_build_n(b, "concat", "blocks", &(SrConcatParams){.dim = 2}, block, n);
    if (n > 0)
        map = sr_build(b, "reshape", "maps",
                       &(SrReshapeParams){.d1 = m.d[1], .d2 = m.d[2], .d3 = n * m.d[3]}, block[0]);
    *outputs = (SrOutputs){.n = 1, .v = {{.name = "maps", .node = map, .n_views = 1}}};
    return sr_builder_status(b);
}

static SrStatus build(SrLossContext *ctx, const void *params, SrNodeId *loss, void **state) {
    const DenseDistillation *p = params;
    SrBuilder *b = ctx->builder;
    SrModelRun run = sr_teacher_run(1);
    SrOutputs teacher;
    SrNodeId map;
    *state = NULL;
    run.no_heads = run.trunk_outputs = true;
    run.n_normed = p->n_teacher_blocks;
    run.reduce = reduce;
    SR_TRY(sr_loss_run(ctx, &run, &teacher));
    SR_TRY(sr_loss_output(ctx, "map", &map));
    SrNodeId wanted = teacher.v[0].node;
    map = sr_student_map(ctx, "heads.projection", map, sr_build_shape(b, wanted));
    *loss = sr_build_n(b, "regression_loss", "mse", &(SrRegressionLossParams){0},
                       (SrNodeId[]){map, wanted}, 2);
    return sr_builder_status(b);
}

static const SrLossExample examples[] = {
    {"{n_teacher_blocks: 2}", "[[identity, {}]]", {16}, .trunk = SR_LOSS_EXAMPLE_VIT},
    {"{}", "[[identity, {}]]", .sizes = {16}},
};

const SrLoss sr_loss_dense_distillation_loss = {
    .name = "dense_distillation_loss",
    .has_teacher = true,
    .help = "distillation without labels: the maps of the teacher's last blocks",
    .subtree = "LOSS.dense_distillation_loss",
    .options = options,
    .params_bytes = sizeof(DenseDistillation),
    .student_views = 1,
    .trunk_outputs = true,
    .rows_are_independent = true,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
    .build = build,
};
