// DISTILLATION.TEACHER_MODEL: the configuration once more, with these keys in the place of MODEL's (VISSL: a copy of
// MODEL, then merged with what the user gave).
#include "base/mem.h"
#include "base/yaml_edit.h"
#include "trainer/config/schema.h"

static SrStatus read_teacher(const SrConfig *config, SrConfig *out) {
    const SrYaml *keys = sr_yaml_find_path(config->tree, "DISTILLATION.TEACHER_MODEL");
    out->path = config->path;
    out->tree = sr_yaml_copy(&out->arena, config->tree);
    SrYaml *model = out->tree ? sr_yaml_find_path(out->tree, "MODEL") : NULL;
    if (!model)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a teacher's configuration");
    if (keys && keys->type == SR_YAML_MAP)
        SR_TRY(sr_yaml_merge(&out->arena, model, keys));
    SR_TRY(sr__config_read(out, NULL));
    out->replicas = config->replicas;
    return SR_OK;
}

SrStatus sr_config_teacher(const SrConfig *config, SrConfig **out) {
    *out = sr_calloc(1, sizeof **out);
    if (!*out)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a teacher's configuration");
    SrStatus status = read_teacher(config, *out);
    if (status == SR_OK)
        return SR_OK;
    sr_config_free(*out);
    *out = NULL;
    return status;
}
