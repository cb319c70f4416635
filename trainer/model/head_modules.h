// MODEL.HEAD.PARAMS read and built: which head modules there are and how they are chained (spec 3
// and 4.6).
#ifndef SR_TRAINER_MODEL_HEAD_MODULES_H
#define SR_TRAINER_MODEL_HEAD_MODULES_H

#include "heads/head.h"
#include "trainer/config/config.h"

typedef struct {
    const SrHead *kind;
    const void *params; // kind->params_bytes
} SrHeadModule;

typedef struct { // one entry: a single module, or several in a row
    bool
        nested; // written as a list of modules: state keys "heads.<i>.<j>." instead of "heads.<i>."
    int n;
    SrHeadModule *modules;
} SrHeadEntry;

typedef struct {
    int n;
    SrHeadEntry *entries;
    SrHeadSettings settings;
} SrHeadModules;

// Everything lives in the arena.  Unknown heads, unknown arguments, another form: SR_ERR_CONFIG
// with file:line.
SrStatus sr_head_modules_parse(const SrModelConfig *config, SrArena *arena, SrHeadModules *out);

// One feature through all entries in a row (with one entry: through it).  No entries: SR_ERR_CONFIG
// that names the key.  x: (rows, C)
SrStatus sr_head_modules_build(SrBuilder *b, const SrHeadModules *heads, SrNodeId x,
                               SrNodeId out[SR_HEAD_MAX_OUT], int *n_out);
// Entry `index` alone on one feature.
SrStatus sr_head_modules_build_one(SrBuilder *b, const SrHeadModules *heads, int index, SrNodeId x,
                                   SrNodeId out[SR_HEAD_MAX_OUT], int *n_out);

#endif
