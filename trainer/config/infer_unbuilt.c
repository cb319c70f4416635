// Inference rules of VISSL's losses that no file of losses/ owns yet, so that their configurations
// resolve as VISSL's do.  A rule moves into the loss's file with the loss.
#include <string.h>

#include "base/text.h"
#include "trainer/config/schema.h"

// Masks are drawn over the grid of patches, whose size the transformer knows.
static SrStatus infer_mask_patches(SrInfer *in) {
    const SrYaml *patch = sr_yaml_find_path(in->tree, "MODEL.TRUNK.VISION_TRANSFORMERS.PATCH_SIZE"),
                 *list = sr_yaml_find_path(in->tree, "DATA.TRAIN.TRANSFORMS");
    const char *trunk = sr_tree_text(in->tree, "MODEL.TRUNK.NAME", "");
    if (!patch || !sr_text_starts(trunk, "vision_transformer"))
        return SR_OK;
    for (int i = 0; list && i < list->n; i++)
        if (strcmp(sr_tree_text(list->items[i], "name", ""), "MaskedImageModeling") == 0)
            SR_TRY(sr_infer_put(in, list->items[i], "patch_size", patch,
                                "DATA.TRAIN.TRANSFORMS: MaskedImageModeling.patch_size"));
    return SR_OK;
}

// The patch head may be shared; VISSL takes one width for both in any case.  The first crop group
// is the global one.
static SrStatus infer_ibot(SrInfer *in) {
    static const char *const collators[] = {"ibot_multicrop_masking_collator"};
    const SrYaml *head = NULL, *out = NULL;
    SR_TRY(sr_infer_check_collator(in, collators, 1));
    SR_TRY(infer_mask_patches(in));
    SR_TRY(sr_infer_only_head(in, "ibot_head", &head));
    SR_TRY(sr_infer_argument(head, "out_dim", SR_YAML_INT, &out));
    SR_TRY(sr_infer_set(in, "out_dim", out));
    SR_TRY(sr_infer_set(in, "patch_out_dim", out));
    SR_TRY(sr_infer_set_int(in, "num_epochs", sr_tree_int(in->tree, "OPTIMIZER.num_epochs", 1)));
    const SrYaml *first = in->num_crops && in->num_crops->n > 0 ? in->num_crops->items[0] : NULL;
    if (!first || first->type != SR_YAML_INT)
        return SR_OK;
    SR_TRY(sr_infer_set_int(in, "num_global_crops", first->i));
    return sr_infer_set_int(in, "num_local_crops", in->total_crops - first->i);
}

SrStatus (*sr__unbuilt_loss_rule(const char *loss))(SrInfer *in) {
    static const struct {
        const char *loss;
        SrStatus (*rule)(SrInfer *in);
    } rules[] = {
        {"ibot_loss", infer_ibot},
    };
    for (int i = 0; i < SR_COUNT(rules); i++)
        if (strcmp(rules[i].loss, loss) == 0)
            return rules[i].rule;
    return NULL;
}
