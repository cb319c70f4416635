// Reads MODEL.HEAD.PARAMS and builds its heads: which modules there are and how they are chained.
#ifndef SR_TRAINER_MODEL_HEAD_MODULES_H
#define SR_TRAINER_MODEL_HEAD_MODULES_H

#include "heads/head.h"
#include "trainer/config/config.h"

typedef struct {
    const SrHead *kind;
    const void *params; // the kind's struct, of kind->params_bytes
} SrHeadModule;

typedef struct { // an entry of the list: one module, or a chain of modules
    // Written as a list: parameters are named "heads.<i>.<j>." instead of "heads.<i>."
    bool nested;
    int n;
    SrHeadModule *modules;
} SrHeadEntry;

typedef struct {
    int n;
    SrHeadEntry *entries;
    SrHeadSettings settings;
} SrHeadModules;

// Reads MODEL.HEAD.PARAMS into the arena.  SR_ERR_CONFIG with file:line: unknown head, unknown
// argument, or another form.
SrStatus sr_head_modules_parse(const SrModelConfig *config, SrArena *arena, SrHeadModules *out);

typedef struct {
    int n;
    SrNodeId node[SR_HEAD_MAX_OUT];
    const char *name[SR_HEAD_MAX_OUT]; // SrHead.output.  NULL: the only output
} SrHeadOutputs;

// Builds the chain of the entries `which` (NULL: all) on the feature x, (rows, C).
// SR_ERR_CONFIG: there are no entries; the message names the key.
SrStatus sr_head_modules_build(SrBuilder *b, const SrHeadModules *heads, const SrInts *which,
                               SrNodeId x, SrHeadOutputs *out);
// Builds entry `index` alone on one feature.
SrStatus sr_head_modules_build_one(SrBuilder *b, const SrHeadModules *heads, int index, SrNodeId x,
                                   SrHeadOutputs *out);
// Read and build a head that is in no list, such as a loss's own; its nodes are named under
// `scope`.
SrStatus sr_head_module_parse(const char *kind, const SrYaml *arguments, const char *where,
                              SrArena *arena, SrHeadModule *out);
SrStatus sr_head_module_build(SrBuilder *b, const SrHeadModule *module, const char *scope,
                              const SrHeadSettings *settings, SrNodeId x, SrHeadOutputs *out);

#endif
