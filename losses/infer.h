// What a loss needs to infer its options from the rest of the configuration (VISSL's inference
// rules): reads of the tree, and writes that leave one log line a change.
//
// A rule writes only keys that the tree has.  The tree has been checked against its tables before:
// types are what they should be, lists may still be empty.
#ifndef SR_LOSSES_INFER_H
#define SR_LOSSES_INFER_H

#include "base/log.h"
#include "base/yaml_edit.h"

typedef struct {
    SrYaml *tree;        // the whole configuration
    const SrYaml *trunk; // the map of the chosen trunk's options, NULL if it has none
    SrArena *arena;
    const char *loss;        // LOSS.name
    const char *at;          // path of the loss's own map: "LOSS.swav_loss"
    int64_t batch, world;    // images a replica, replicas
    int64_t total_crops;     // views an image that the transforms make; 0: they do not say
    const SrYaml *num_crops; // of the transform that makes them: views a size, or NULL
    int n_masks;
    SrYaml *mask[8];  // transforms of training that draw masks of patches, of a key patch_size
    SrLogLevel level; // of the lines about changed values
} SrInfer;

// ---- the loss's own keys ("queue.queue_length")

SrStatus sr_infer_set(SrInfer *in, const char *key, const SrYaml *value);
SrStatus sr_infer_set_int(SrInfer *in, const char *key, int64_t value);
int64_t sr_infer_int(const SrInfer *in, const char *key, int64_t otherwise);
// num_crops from the transforms, where they say it.
SrStatus sr_infer_crops(SrInfer *in);
// num_global_crops and num_local_crops: of the first size, and of the others.
SrStatus sr_infer_global_crops(SrInfer *in);

// ---- the rest of the configuration

// The same for any key, by its whole path.
SrStatus sr_infer_set_path(SrInfer *in, const char *path, const SrYaml *value);
SrStatus sr_infer_set_path_int(SrInfer *in, const char *path, int64_t value);
SrStatus sr_infer_set_path_text(SrInfer *in, const char *path, const char *value);
// map[key] becomes a copy of `value`, whether the key was there or not; `where` is its path for the
// log.
SrStatus sr_infer_put(SrInfer *in, SrYaml *map, const char *key, const SrYaml *value,
                      const char *where);
// The one head a loss works on: its arguments, and SR_ERR_CONFIG unless MODEL.HEAD.PARAMS is a
// single entry with one of the `names` ("swav_head dino_head").
SrStatus sr_infer_only_head(const SrInfer *in, const char *names, const SrYaml **arguments);
// An argument of the head that a rule depends on; the head's own table may give it a default, a
// rule needs it written down.
SrStatus sr_infer_argument(const SrYaml *arguments, const char *key, SrYamlType type,
                           const SrYaml **out);
// Some losses make sense with one collator only, and VISSL then sets it instead of complaining.
SrStatus sr_infer_force_collator(SrInfer *in, const char *name);
// SR_ERR_CONFIG unless it is one of them; the message recommends the first.
SrStatus sr_infer_check_collator(const SrInfer *in, const char *const *allowed, int n);

#endif
