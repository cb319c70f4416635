// Tools for the inference rules of losses, which derive options from the rest of the configuration
// as VISSL does.  They read the tree and write it; every change is one line in the log.
//
// A rule changes only keys that the tree already has (except through sr_infer_put).  The tree has
// passed the check against its tables: types are right, but lists may be empty.
#ifndef SR_LOSSES_SHARED_INFER_H
#define SR_LOSSES_SHARED_INFER_H

#include "base/log.h"
#include "base/text/yaml_edit.h"

typedef struct {
    SrYaml *tree;         // the whole configuration
    const SrYaml *trunk;  // map of the chosen trunk's options; NULL: the trunk has none
    SrArena *arena;       // owns every value that a rule writes
    const char *loss;     // LOSS.name
    const char *at;       // path of the loss's own map: "LOSS.swav_loss"
    int64_t batch, world; // images of a replica; replicas
    int64_t total_crops;  // views that the transforms make of an image; 0: they do not say
    // Key num_crops of the transform that sets total_crops: views of each size.  NULL: no such key.
    const SrYaml *num_crops;
    int n_masks;
    SrYaml *mask[8];  // (n_masks) training transforms that draw masks and have a key patch_size
    SrLogLevel level; // level of the lines about changed values
} SrInfer;

// ---- the loss's own keys, relative to its map: "queue.queue_length"

// Gives a key a copy of `value`, and logs the change.  Does nothing if the tree does not have the
// key or the value is equal.  SR_ERR_MEMORY: out of memory.
SrStatus sr_infer_set(SrInfer *in, const char *key, const SrYaml *value);
SrStatus sr_infer_set_int(SrInfer *in, const char *key, int64_t value);
// Returns the value of a key; `otherwise` if the tree has no integer there.
int64_t sr_infer_int(const SrInfer *in, const char *key, int64_t otherwise);
// Sets num_crops to total_crops, unless that is 0.
SrStatus sr_infer_crops(SrInfer *in);
// Sets num_global_crops to the views of the first size and num_local_crops to the others.  Does
// nothing if the transforms do not say it.
SrStatus sr_infer_global_crops(SrInfer *in);

// ---- the rest of the configuration

// Sets a key by its whole path, as sr_infer_set does for the loss's own keys.
SrStatus sr_infer_set_path(SrInfer *in, const char *path, const SrYaml *value);
SrStatus sr_infer_set_path_int(SrInfer *in, const char *path, int64_t value);
SrStatus sr_infer_set_path_text(SrInfer *in, const char *path, const char *value);
// Sets map[key] to a copy of `value`, also if the map does not have the key.  where: path of the
// key for the log.
SrStatus sr_infer_put(SrInfer *in, SrYaml *map, const char *key, const SrYaml *value,
                      const char *where);
// Finds the arguments of the only head.  names: head names with spaces between them, such as
// "swav_head dino_head".  SR_ERR_CONFIG: MODEL.HEAD.PARAMS is not a single entry with one of them.
// *arguments: NULL if the entry has none.
SrStatus sr_infer_only_head(const SrInfer *in, const char *names, const SrYaml **arguments);
// Finds an argument of the head that a rule depends on.  SR_ERR_CONFIG: it is missing (a default of
// the head does not count), has another type, or is an empty list.
SrStatus sr_infer_argument(const SrYaml *arguments, const char *key, SrYamlType type,
                           const SrYaml **out);
// Sets DATA.TRAIN.COLLATE_FUNCTION, as VISSL does for losses that work with one collator only.
SrStatus sr_infer_force_collator(SrInfer *in, const char *name);
// SR_ERR_CONFIG unless DATA.TRAIN.COLLATE_FUNCTION is one of the n allowed names; the message
// recommends the first.
SrStatus sr_infer_check_collator(const SrInfer *in, const char *const *allowed, int n);

#endif
