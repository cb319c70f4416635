// Puts the random crop of training in the place of an evaluation's resize and centre crop.
#include "trainer/data/eval_crops.h"

#include "base/compiler.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "data/transform.h"

#define WHERE "transforms of evaluation by crops"

// Returns the transform of an entry; NULL: it names none.
static const SrTransform *transform_of(const SrYaml *entry) {
    const SrTransform *t;
    const SrYaml *name = sr_yaml_find(entry, "name");
    return name && name->text && sr_transform_find(name->text, &t) == SR_OK ? t : NULL;
}

// Appends the keys of the first training crop that say how its box is drawn and resampled; those
// that the entry leaves out have the transform's defaults.
static SrStatus add_box(const SrYaml *train, SrArena *arena, SrText *out) {
    const SrTransform *t = NULL;
    SrYaml *keys = NULL;
    int i = 0;
    while (train && i < train->n && !((t = transform_of(train->items[i])) && t->box_scale))
        i++;
    if (!train || i == train->n) {
        sr_text_add(out, ", scale: [0.2, 1]");
        return SR_OK;
    }
    SR_TRY(sr_options_defaults(t->options, arena, &keys));
    SR_TRY(sr_yaml_merge(arena, keys, train->items[i]));
    const char *const paths[][2] = {
        {"scale", t->box_scale}, {"ratio", "ratio"}, {"interpolation", "interpolation"}};
    for (int k = 0; k < SR_COUNT(paths); k++) {
        const SrYaml *value = sr_yaml_find_path(keys, paths[k][1]);
        if (!value)
            continue;
        sr_text_printf(out, ", %s: ", paths[k][0]);
        sr_yaml_print_flow(value, out);
    }
    return SR_OK;
}

// Transforms with a `shape` choose sizes, which the crop does in their place.
static void add_others(const SrYaml *evaluation, SrText *out) {
    for (int i = 0; i < evaluation->n; i++) {
        const SrTransform *t = transform_of(evaluation->items[i]);
        if (t && t->shape)
            continue;
        sr_text_add(out, ", ");
        sr_yaml_print_flow(evaluation->items[i], out);
    }
}

SrStatus sr_eval_crops_transforms(const SrYaml *train, const SrYaml *evaluation, int h, int w,
                                  SrArena *arena, const SrYaml **out) {
    SrText text = SR_TEXT_INIT;
    SrYaml *tree = NULL;
    SrStatus status;
    sr_text_printf(&text, "[{name: RandomResizedCrop, size: [%d, %d]", h, w);
    SR_TRY_GOTO(add_box(train, arena, &text));
    sr_text_add(&text, "}");
    add_others(evaluation, &text);
    sr_text_add(&text, "]");
    SR_TRY_GOTO(text.failed ? sr_out_of_memory(WHERE)
                            : sr_yaml_parse(arena, text.s, text.len, WHERE, &tree));
done:
    sr_text_deinit(&text);
    *out = tree;
    return status;
}
