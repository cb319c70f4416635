// The configuration's schema: every map of the tree has one option table, from which come its defaults, its checks
// and its manual.  The sections here are the trainer's own; trunks and losses bring theirs (schema.c adds them).
#ifndef SR_TRAINER_CONFIG_SCHEMA_H
#define SR_TRAINER_CONFIG_SCHEMA_H

#include "heads/head.h"
#include "losses/infer.h"
#include "trainer/config/config.h"

typedef struct {
    const char *path;      // dotted; "" is the root
    const SrOption *table; // NULL: OPTIMIZER, whose keys the optimisers bring
    size_t offset;         // of the struct its rows fill, in SrConfig
    // VISSL's maps of plugins that are not built, NULL if there are none: rows that go once a plugin owns the map.
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

// All sections, parents before children, including the maps that trunks and losses own (their offset is 0 and
// `owned` true: checked against the table, not read into SrConfig).  Tables live in the arena.
typedef struct {
    SrSection section;
    bool owned;
    size_t params_bytes; // of an owned section
} SrSchemaEntry;
SrStatus sr__schema_entries(SrArena *arena, SrSchemaEntry **out, int *n);

// The tree of all defaults.
SrStatus sr__schema_defaults(SrArena *arena, SrYaml **out);
// ignored.c: one log line for each key that the tree sets and that changes nothing: IGNORED rows of all tables, those of
// transforms and heads too, and keys that another key leaves without effect.  SR_ERR_CONFIG where a row is refused.
// Reads tree, path and layers.
SrStatus sr__report_ignored(const SrConfig *config, SrArena *arena);

// arguments.c: every wrong key of transforms and heads into `problems`.
SrStatus sr__arguments_check(const SrYaml *tree, SrArena *arena, SrProblems *problems);
// Arguments of each known head of MODEL.HEAD.PARAMS, in chains too; where: "MODEL.HEAD.PARAMS[0].mlp".
SrStatus sr__each_head(const SrYaml *tree, SrArena *arena,
                       SrStatus (*each)(void *arg, const SrHead *head, const SrYaml *arguments,
                                        const char *where),
                       void *arg);
// config.c: every section of config->tree into its struct; names of trunk and loss are not looked up.  problems: mistakes
// are kept there; NULL: the first one is the error.
SrStatus sr__config_read(SrConfig *config, SrProblems *problems);
// home_paths.c: "~/" at the front of paths of images, labels, weights and the run folder.
SrStatus sr__expand_homes(SrConfig *config);
SrStatus sr__expand_home(SrArena *arena, const char **path); // one of them
// overrides.c: one command-line override applied to the tree.
SrStatus sr__override_apply(SrYaml *tree, const char *text, SrArena *arena);
// feature_eval_settings.c: flags of MODEL.FEATURE_EVAL_SETTINGS that contradict each other, and what was probably meant.
SrStatus sr__eval_settings_check(const SrYaml *tree);
// sharding.c: sharded modules and several machines, read by one process; one line each.
SrStatus sr__sharding_resolve(SrConfig *config);
// "regnet_fsdp", "regnet_v2" -> "regnet"; other names as they are.  NULL without memory.
const char *sr__unsharded_name(const char *name, SrArena *arena);
// "module." and the infixes of sharding taken out of a parameter's name.  NULL without memory.
const char *sr__plain_param_name(const char *name, SrArena *arena);
// shared_maps.c: MODEL.TRUNK.NAME in the registry, NULL if it is not there.
const SrTrunk *sr__chosen_trunk(const SrYaml *tree, SrArena *arena);
// Of trunks that share a map the chosen one's table is held against it, else the first's.
bool sr__table_counts(const SrSchemaEntry *entries, int i, const SrTrunk *chosen);
// What somebody wrote in the map a trunk is based on (SrTrunk.base) goes to its own where that has its default.
SrStatus sr__trunk_base(SrYaml *tree, SrArena *arena);
// missing_plugins.c: every plugin named anywhere; all that are missing in one line, a misspelt one with the nearest name.
SrStatus sr__missing_plugins_check(const SrYaml *tree, SrArena *arena, SrProblems *problems);
bool sr__learns(
    const SrYaml *tree); // false: everything is frozen, so that no loss and no optimiser is needed
// inference.c: VISSL's inference rules over the composed tree.  world: processes of the run.
SrStatus sr__infer(SrYaml *tree, int world, SrArena *arena);

#endif
