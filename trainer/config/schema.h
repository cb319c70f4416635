// The schema of the configuration, and what the files of this folder offer each other.  Every map
// of the tree has one option table; defaults, checks and manual come from it.  The sections
// listed here are the trainer's own; schema.c adds those of trunks, losses and meters.
#ifndef SR_TRAINER_CONFIG_SCHEMA_H
#define SR_TRAINER_CONFIG_SCHEMA_H

#include "heads/head.h"
#include "losses/shared/infer.h"
#include "trainer/config/config.h"

typedef struct {
    const char *path;      // dotted; "": the root
    const SrOption *table; // NULL: OPTIMIZER, whose keys come from the optimisers
    size_t offset;         // bytes in SrConfig to the struct that the rows fill
    // Rows for VISSL's maps of plugins that this program lacks.  A row is dropped once a plugin
    // owns the map.  NULL: none
    const SrOption *unbuilt;
    bool has_plugins; // maps below it belong to trunks, losses or meters
} SrSection;

extern const SrOption sr__schema_root[], sr__schema_machine[], sr__schema_hooks[],
    sr__schema_checkpoint[], sr__schema_distributed[], sr__schema_neighbor[], sr__schema_meters[],
    sr__schema_loss[]; // schema_run.c
extern const SrOption sr__schema_svm[], sr__schema_low_shot[],
    sr__schema_cluster[];                                     // schema_features.c
extern const SrOption sr__schema_data[], sr__schema_split[];  // schema_data.c
extern const SrOption sr__schema_model[], sr__schema_trunk[]; // schema_model.c

typedef struct {
    SrSection section;
    bool owned;          // by a plugin: checked against its table, not read into SrConfig
    size_t params_bytes; // size of the plugin's struct, if owned
} SrSchemaEntry;
// Lists all sections, parents before children, with the maps that plugins own.  Lives in the arena.
SrStatus sr__schema_entries(SrArena *arena, SrSchemaEntry **out, int *n);

// Makes the tree of all defaults, in the arena.
SrStatus sr__schema_defaults(SrArena *arena, SrYaml **out);
// ignored.c: logs a line for each key that is set and has no effect: IGNORED rows of all tables,
// also of transforms and heads, and keys that another key switches off.  SR_ERR_CONFIG: a row
// refuses its value.  Reads only tree, path and layers of the configuration.
SrStatus sr__report_ignored(const SrConfig *config, SrArena *arena);

// arguments.c: adds every wrong argument of transforms and heads to `problems`.
SrStatus sr__arguments_check(const SrYaml *tree, SrArena *arena, SrProblems *problems);
// Calls `each` for every known head of MODEL.HEAD.PARAMS, also inside chains, with its arguments.
// where: its place for messages, "MODEL.HEAD.PARAMS[0].mlp".
SrStatus sr__each_head(const SrYaml *tree, SrArena *arena,
                       SrStatus (*each)(void *arg, const SrHead *head, const SrYaml *arguments,
                                        const char *where),
                       void *arg);
// config.c: reads every section of config->tree into its struct.  Unknown names of trunk and loss
// are no error here.  problems collects the mistakes; NULL: the first one is returned.
SrStatus sr__config_read(SrConfig *config, SrProblems *problems);
// Replaces a model's name in MODEL.TRUNK.NAME (`efficientnet_b0`, as `sslrun graph` takes it) by
// its trunk and the options that make the model.  Other names stay.
SrStatus sr__preset_expand(SrConfig *config);
// home_paths.c: expands "~/" at the front of the paths of images, labels, weights and run folder.
SrStatus sr__expand_homes(SrConfig *config);
SrStatus sr__expand_home(SrArena *arena, const char **path); // a single path
// overrides.c: applies one command-line override to the tree.
SrStatus sr__override_apply(SrYaml *tree, const char *text, SrArena *arena);
// feature_eval_settings.c: SR_ERR_CONFIG if flags of MODEL.FEATURE_EVAL_SETTINGS contradict each
// other; the message says which recipe was probably meant.
SrStatus sr__eval_settings_check(const SrYaml *tree);
// sharding.c: replaces names of sharded modules, and sets replicas, sync_bn_group and
// sync_bn_ranks. Logs a line for each change.
SrStatus sr__sharding_resolve(SrConfig *config);
// Returns "regnet" for "regnet_fsdp" and "regnet_v2"; other names come back as they are.  NULL: out
// of memory.
const char *sr__unsharded_name(const char *name, SrArena *arena);
// Removes "module." and the infixes of sharding from a parameter's name.  NULL: out of memory.
const char *sr__plain_param_name(const char *name, SrArena *arena);
// shared_maps.c: finds MODEL.TRUNK.NAME in the registry.  NULL: it is not there.
const SrTrunk *sr__chosen_trunk(const SrYaml *tree, SrArena *arena);
// True if entry i is the one that its map is checked against.  Where trunks share a map, that is
// the chosen trunk's entry, or the first one if none of them was chosen.
bool sr__table_counts(const SrSchemaEntry *entries, int i, const SrTrunk *chosen);
// Copies values that were set in the map that a trunk is based on (SrTrunk.base) into the trunk's
// own map, where that one has its default.
SrStatus sr__trunk_base(SrYaml *tree, SrArena *arena);
// missing_plugins.c: looks up every plugin that the tree names.  Those that only VISSL has make one
// SR_ERR_CONFIG; each misspelt name goes to `problems` with the closest name.
SrStatus sr__missing_plugins_check(const SrYaml *tree, SrArena *arena, SrProblems *problems);
// False: everything is frozen, so that neither loss nor optimiser is needed.
bool sr__learns(const SrYaml *tree);
// inference.c: applies VISSL's inference rules to the composed tree.  world: VISSL's replicas times
// gradient_accumulation_steps.
SrStatus sr__infer(SrYaml *tree, int world, SrArena *arena);

#endif
