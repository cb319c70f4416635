// Makes configurations from another one: a copy to be changed, and a distillation's teacher.  Each
// has its own tree, and its structs are read from that tree, so it borrows nothing.
#include "trainer/config/derived_config.h"
#include "base/mem.h"
#include "base/text/yaml_edit.h"
#include "trainer/config/config.h"
#include "trainer/config/config_internal.h"
#include "trainer/config/overrides.h"
#include "trainer/config/stages.h"
#include "trainer/config/vissl/schema.h"

// The change of a copied configuration; a member that is NULL changes nothing.
typedef struct {
    const SrYaml *model;     // map that is merged over MODEL
    const SrYaml *overrides; // list of texts, as on the command line
} Change;

static SrStatus apply(const Change *change, SrYaml *model, SrConfig *out) {
    if (change->model && change->model->type == SR_YAML_MAP)
        SR_TRY(sr_yaml_merge(&out->arena, model, change->model));
    for (int i = 0; change->overrides && i < change->overrides->n; i++)
        SR_TRY(sr__override_apply(out->tree, change->overrides->items[i]->text, &out->arena));
    return SR_OK;
}

// Copies the tree, changes and reads it.
static SrStatus read_again(const SrConfig *config, const Change *change, SrConfig *out) {
    out->path = sr_arena_strdup(&out->arena, config->path);
    out->tree = sr_yaml_copy(&out->arena, config->tree);
    SrYaml *model = out->tree ? sr_yaml_find_path(out->tree, "MODEL") : NULL;
    SR_TRY_MEMORY(out->path && model, "a configuration");
    SR_TRY(apply(change, model, out));
    SR_TRY(sr__preset_expand(out)); // a teacher may have a model's name
    out->sync_bn_group = config->sync_bn_group;
    SR_TRY(sr__config_read(out, NULL));
    // Fields that no tree holds, or that may differ from it.
    out->replicas = config->replicas;
    out->sync_bn_ranks = config->sync_bn_ranks;
    out->batch = config->batch;
    out->knn.test_limit = config->knn.test_limit;
    out->knn.bank_limit = config->knn.bank_limit;
    out->knn.crops = config->knn.crops;
    out->checkpoint = config->checkpoint;
    out->checkpoint.dir = sr_arena_strdup(&out->arena, config->checkpoint.dir);
    SR_TRY_MEMORY(out->checkpoint.dir, "a configuration");
    return SR_OK;
}

static SrStatus derive(const SrConfig *config, const Change *change, SrConfig **out) {
    *out = sr_calloc(1, sizeof **out);
    if (!*out)
        return sr_out_of_memory("a configuration");
    SrStatus status = read_again(config, change, *out);
    if (status == SR_OK)
        return SR_OK;
    sr_config_free(*out);
    *out = NULL;
    return status;
}

SrStatus sr_config_copy(const SrConfig *config, SrConfig **out) {
    return derive(config, &(Change){0}, out);
}

// VISSL's rule: copy MODEL, then merge DISTILLATION.TEACHER_MODEL over it.
SrStatus sr_config_teacher(const SrConfig *config, SrConfig **out) {
    const SrYaml *teacher = sr_yaml_find_path(config->tree, "DISTILLATION.TEACHER_MODEL");
    return derive(config, &(Change){.model = teacher}, out);
}

SrStatus sr_config_stage(const SrConfig *config, int k, SrConfig **out) {
    SR_TRY(derive(config, &(Change){.overrides = sr_stage_set(config, k)}, out));
    (*out)->tree = sr_yaml_copy(&(*out)->arena, config->tree);
    if ((*out)->tree)
        return SR_OK;
    sr_config_free(*out);
    *out = NULL;
    return sr_out_of_memory("a configuration");
}
