// Writes the reference manual from the option tables and the registries.
#ifndef SR_TRAINER_CONFIG_DESCRIBE_H
#define SR_TRAINER_CONFIG_DESCRIBE_H

#include <stdbool.h>

#include "base/plugin/option.h"
#include "base/text/text.h"

typedef struct {
    const char *name, *help;
    const char *where; // map that holds its options.  NULL: they have no fixed place
    const SrOption *options;
} SrManualEntry;

typedef struct {
    const char *kind, *title;
    bool (*at)(int i, SrManualEntry *out); // false past the end
} SrManualKind;

// Lists plugins, each with its line of help.
//   kind  lists this kind alone ("trunk", "trunks"); "keys" lists every key of the configuration
//         with its type and default; NULL and "all" list all kinds of plugins
//   more  a further kind, from the caller (the program's commands); NULL: none
SrStatus sr_manual_list(const char *kind, const SrManualKind *more, SrText *out);
void sr_manual_kinds(const SrManualKind *more, SrText *out); // what can be listed, one per line
// Describes what has this name:
//   a plugin with its options, or one option   ImgPilToMultiCrop, ImgPilToMultiCrop.size_crops
//   a key, or the last part of a key           LOSS.swav_loss.epsilon, num_epochs
//   a section, or any map of keys              OPTIMIZER, MODEL.HEAD
// An unknown name is searched for in names and help texts (trainer/config/manual_search.h), and
// the names that have its words are listed.  SR_ERR_CONFIG: a slip of one letter, or nothing is
// found; the message suggests the closest name.
SrStatus sr_manual_describe(const char *name, const SrManualKind *more, SrText *out);

#endif
