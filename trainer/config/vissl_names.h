// Every name VISSL knows, by kind: a configuration that uses one of them has not misspelt it,
// whether it is built here or not.  Facts from VISSL's registries; not a list
// of what is built, that is each registry's.
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

const char *sr__name_kind(SrNameKind kind);            // "trunk", "data source", ...
const char *sr__vissl_name_at(SrNameKind kind, int i); // NULL past the end
const char *sr__built_name_at(SrNameKind kind,
                              int i); // of the registry of this kind; NULL past the end
bool sr__is_vissl_name(SrNameKind kind, const char *name);
bool sr__is_built_name(SrNameKind kind, const char *name);

#endif
