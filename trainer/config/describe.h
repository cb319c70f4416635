// The reference manual, made of the option tables and the registries: nothing here is written
// twice.
#ifndef SR_TRAINER_CONFIG_DESCRIBE_H
#define SR_TRAINER_CONFIG_DESCRIBE_H

#include <stdbool.h>

#include "base/option.h"
#include "base/text.h"

typedef struct {
    const char *name, *help;
    const char *where; // the map its options stand in, NULL if they have no fixed place
    const SrOption *options;
} SrManualEntry;

typedef struct {
    const char *kind, *title;
    bool (*at)(int i, SrManualEntry *out); // false past the end
} SrManualKind;

// Every plugin with its one line of help, kind by kind.  kind: one of them alone ("trunk"), or "keys": every key of the
// configuration with its type and default; NULL: all kinds.
// more: a kind this folder cannot know (verbs), or NULL.
SrStatus sr_manual_list(const char *kind, const SrManualKind *more, SrText *out);
// A plugin by name with its options, one of these ("ImgPilToMultiCrop.size_crops"), a key of the configuration
// ("LOSS.swav_loss.epsilon"), the last part of a key ("num_epochs"), a section or any map of keys ("OPTIMIZER",
// "MODEL.HEAD").  Unknown: SR_ERR_CONFIG with the names it is part of, or else with the nearest.
SrStatus sr_manual_describe(const char *name, const SrManualKind *more, SrText *out);

#endif
