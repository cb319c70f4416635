// The schema of the configuration.  Every map of the tree has one option table; defaults, checks
// and manual come from it.  The sections listed here are the trainer's own; schema.c adds those of
// trunks, losses and meters.
#ifndef SR_TRAINER_CONFIG_VISSL_SCHEMA_H
#define SR_TRAINER_CONFIG_VISSL_SCHEMA_H

#include "trainer/config/config_types.h"

typedef struct {
    const char *path;      // dotted; "": the root
    const SrOption *table; // NULL: OPTIMIZER, whose keys come from the optimisers
    size_t offset;         // bytes in SrConfig to the struct that the rows fill
    bool has_plugins;      // maps below it belong to trunks, losses or meters
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
#endif
