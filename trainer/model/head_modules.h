// Reads and builds MODEL.HEAD.PARAMS: which head modules there are and how they are chained.
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

typedef struct {
    int n;
    SrNodeId node[SR_HEAD_MAX_OUT];
    const char *name[SR_HEAD_MAX_OUT]; // SrHead.output; NULL: the only one
} SrHeadOutputs;

// One feature through the entries of `which` in a row; NULL: all of them.  No entries:
// SR_ERR_CONFIG that names the key.  x: (rows, C)
SrStatus sr_head_modules_build(SrBuilder *b, const SrHeadModules *heads, const SrInts *which,
                               SrNodeId x, SrHeadOutputs *out);
// Entry `index` alone on one feature.
SrStatus sr_head_modules_build_one(SrBuilder *b, const SrHeadModules *heads, int index, SrNodeId x,
                                   SrHeadOutputs *out);
// A head that stands in no list: its arguments, and its nodes under the scope.
SrStatus sr_head_module_parse(const char *kind, const SrYaml *arguments, const char *where,
                              SrArena *arena, SrHeadModule *out);
SrStatus sr_head_module_build(SrBuilder *b, const SrHeadModule *module, const char *scope,
                              const SrHeadSettings *settings, SrNodeId x, SrHeadOutputs *out);

#endif
