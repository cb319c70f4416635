// Reads byte tensors of golden cases as images and compares images with them (images.h).
#include "tests/golden/images.h"

#include <string.h>

#include "data/image_pool.h"

SrStatus golden_image(SrGoldenCase *c, const char *name, SrImagePool *pool, SrImage *out) {
    const SrTensor *t = golden_tensor(c, name);
    if (!t || t->dtype != SR_U8 || t->shape.rank != 3 || t->shape.d[2] != 3)
        SR_FAIL(SR_ERR_RUN, "%s: no (H, W, 3) bytes '%s'", c->name, name);
    SR_TRY(sr_image_new(pool, t->shape.d[0], t->shape.d[1], out));
    memcpy(out->rgb, t->data, (size_t)sr_shape_count(t->shape));
    return SR_OK;
}

SrStatus golden_compare_image(SrGoldenCase *c, const char *name, const SrImage *ours) {
    const SrTensor *t = golden_tensor(c, name);
    if (!t || t->shape.rank != 3 || t->shape.d[0] != ours->H || t->shape.d[1] != ours->W)
        SR_FAIL(SR_ERR_RUN, "%s: '%s' is not of %d x %d pixels", c->name, name, ours->H, ours->W);
    return golden_compare_u8(c, name, ours->rgb, (int64_t)ours->H * ours->W * 3, 1);
}

const char *golden_what(const SrGoldenCase *c, const char *name) {
    const SrYaml *tensor = sr_yaml_find(sr_yaml_find(c->manifest, "tensors"), name);
    const SrYaml *what = sr_yaml_find(tensor, "what");
    return what && what->text ? what->text : "";
}

const char *golden_numbered(SrGoldenCase *c, const char *name, int i) {
    const char *numbered = sr_arena_printf(c->arena, "%s%d", name, i);
    return numbered ? numbered : "";
}

bool golden_value(const SrGoldenCase *c, const char *name, double *out) {
    const SrYaml *value = sr_yaml_find(c->values, name);
    if (!value || (value->type != SR_YAML_INT && value->type != SR_YAML_FLOAT))
        return false;
    *out = value->f;
    return true;
}

double golden_setting(const SrGoldenCase *c, const char *path, double missing) {
    const SrYaml *value = sr_yaml_find_path(c->config, path);
    return value ? value->f : missing;
}

SrStatus golden_scheduled(SrGoldenCase *c, const char *name, int i, double ours, double relative) {
    const SrYaml *all = sr_yaml_find(c->values, name);
    return all && i < all->n ? golden_number(c, name, ours, all->items[i]->f, relative) : SR_OK;
}
