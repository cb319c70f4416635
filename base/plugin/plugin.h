// Plugin registries without a list that somebody maintains.  The build finds every descriptor
// `const Sr<Kind> sr_<kind>_<stem>` that starts a line in the sources, and writes gen/<kind>.def.
// That file defines SR_PLUGINS_<kind>(X, Type): one X(Type, kind, stem) per descriptor, sorted by
// stem.
//
// A registry is one file:
//     #include "gen/trunk.def"
//     SR_REGISTRY(SrTrunk, trunk, trunk, "trunk")
// defines sr_trunk_at and sr_trunk_find, which the contract's header declares:
//     const SrTrunk *sr_trunk_at(int i);                              // NULL: no such i
//     SrStatus sr_trunk_find(const char *name, const SrTrunk **out);  // or SR_ERR_CONFIG
#ifndef SR_BASE_PLUGIN_PLUGIN_H
#define SR_BASE_PLUGIN_PLUGIN_H

#include <stddef.h>

#include "base/compiler.h"
#include "base/status.h"

// Fails with SR_ERR_CONFIG "unknown trunk 'resnett'; did you mean 'resnet'? (known: ...)".  With a
// suggestion, a long list of known names is left out.
SrStatus sr_plugin_unknown(const char *kind, const char *name, const char *const *known, int n);

// Finds the index of `name` among name_at(0), name_at(1) and so on, up to NULL.  An absent name
// fails as sr_plugin_unknown does.
SrStatus sr_plugin_find(const char *kind, const char *name, const char *(*name_at)(int i),
                        int *out);

// The descriptors as `static const Type *const <list>[]`, NULL at the end.
#define SR_PLUGIN_LIST(Type, kind, list)                                            \
    SR_PLUGINS_##kind(SR_PLUGIN_DECLARE_, Type) static const Type *const list[] = { \
        SR_PLUGINS_##kind(SR_PLUGIN_ADDRESS_, Type) NULL};
#define SR_PLUGIN_DECLARE_(Type, kind, stem) extern const Type sr_##kind##_##stem;
#define SR_PLUGIN_ADDRESS_(Type, kind, stem) &sr_##kind##_##stem,

// Functions sr_<noun>_at and sr_<noun>_find; `text` is the kind in messages.
#define SR_REGISTRY(Type, kind, noun, text)                                         \
    SR_PLUGIN_LIST(Type, kind, noun##_registry)                                     \
    const Type *sr_##noun##_at(int i) {                                             \
        return i >= 0 && i < SR_COUNT(noun##_registry) ? noun##_registry[i] : NULL; \
    }                                                                               \
    static const char *noun##_name_at(int i) {                                      \
        return sr_##noun##_at(i) ? sr_##noun##_at(i)->name : NULL;                  \
    }                                                                               \
    SrStatus sr_##noun##_find(const char *name, const Type **out) {                 \
        int i = 0;                                                                  \
        SR_TRY(sr_plugin_find(text, name, noun##_name_at, &i));                     \
        *out = noun##_registry[i];                                                  \
        return SR_OK;                                                               \
    }

#endif
