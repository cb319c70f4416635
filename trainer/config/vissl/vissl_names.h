// Names of all plugins in VISSL's registries, by kind.  They tell a plugin that this program lacks
// from a misspelt name.  The names that this program has come from its own registries.
#ifndef SR_TRAINER_CONFIG_VISSL_NAMES_H
#define SR_TRAINER_CONFIG_VISSL_NAMES_H

#include <stdbool.h>

typedef enum {
    SR_NAME_TRUNK,
    SR_NAME_LOSS,
    SR_NAME_HEAD,
    SR_NAME_TRANSFORM,
    SR_NAME_COLLATOR,
    SR_NAME_SOURCE,
    SR_NAME_OPTIMIZER,
    SR_NAME_KINDS,
} SrNameKind;

const char *sr__name_kind(SrNameKind kind); // "trunk", "data source", ...
// Return name i of VISSL's list, and of this program's registry.  NULL past the end.
const char *sr__vissl_name_at(SrNameKind kind, int i);
const char *sr__built_name_at(SrNameKind kind, int i);
bool sr__is_vissl_name(SrNameKind kind, const char *name);
bool sr__is_built_name(SrNameKind kind, const char *name);

#endif
