// The lists of data sets, transforms and collators, made by the build from their descriptors.
#include <string.h>

#include "base/compiler.h"
#include "base/plugin.h"
#include "data/data.h"

#define SR_PLUGIN(stem) extern const SrDataset sr_dataset_##stem;
#include "gen/dataset.def"
#undef SR_PLUGIN
#define SR_PLUGIN(stem) &sr_dataset_##stem,
static const SrDataset *const datasets[] = {
#include "gen/dataset.def"
    NULL};
#undef SR_PLUGIN

#define SR_PLUGIN(stem) extern const SrTransform sr_transform_##stem;
#include "gen/transform.def"
#undef SR_PLUGIN
#define SR_PLUGIN(stem) &sr_transform_##stem,
static const SrTransform *const transforms[] = {
#include "gen/transform.def"
    NULL};
#undef SR_PLUGIN

#define SR_PLUGIN(stem) extern const SrCollator sr_collator_##stem;
#include "gen/collator.def"
#undef SR_PLUGIN
#define SR_PLUGIN(stem) &sr_collator_##stem,
static const SrCollator *const collators[] = {
#include "gen/collator.def"
    NULL};
#undef SR_PLUGIN

// at(i) and find(name) are the same for the three kinds.
#define REGISTRY(Type, noun, list, kind)                                 \
    const Type *sr_##noun##_at(int i) {                                  \
        return i >= 0 && i < SR_COUNT(list) - 1 ? list[i] : NULL;        \
    }                                                                    \
    SrStatus sr_##noun##_find(const char *name, const Type **out) {      \
        const char *known[SR_COUNT(list)] = {NULL};                      \
        for (int i = 0; list[i]; i++) {                                  \
            known[i] = list[i]->name;                                    \
            if (strcmp(name, known[i]) == 0) {                           \
                *out = list[i];                                          \
                return SR_OK;                                            \
            }                                                            \
        }                                                                \
        return sr_plugin_unknown(kind, name, known, SR_COUNT(list) - 1); \
    }

REGISTRY(SrDataset, dataset, datasets, "data source")
// By name, not by its place: disk_folder accepts every folder and must come last.
SrStatus sr_dataset_infer(const char *path, const char *split, const SrDataset **out) {
    const SrDataset *last = &sr_dataset_disk_folder;
    for (int i = 0; datasets[i]; i++)
        if (datasets[i] != last && datasets[i]->accepts && datasets[i]->accepts(path, split)) {
            *out = datasets[i];
            return SR_OK;
        }
    *out = last;
    if (last->accepts(path, split))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "DATA.%s.DATA_PATHS: %s is neither a folder of images nor a list of paths (.npy, "
            ".txt), an IDX file or a "
            "CIFAR batch; set DATA.%s.DATA_SOURCES if its name is unusual",
            split, path, split);
}

REGISTRY(SrTransform, transform, transforms, "transform")
REGISTRY(SrCollator, collator, collators, "collator")
