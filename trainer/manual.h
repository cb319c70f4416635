// The reference manual, made of the option tables and the registries: nothing here is written
// twice.
#ifndef SR_TRAINER_MANUAL_H
#define SR_TRAINER_MANUAL_H

#include "base/status.h"
#include "base/text.h"

// Every plugin with its one line of help, kind by kind.  kind: one of them alone ("trunk"); NULL:
// all.
SrStatus sr_manual_list(const char *kind, SrText *out);
// A plugin by name with its options, or a key of the configuration ("LOSS.swav_loss.epsilon") or a
// whole section ("OPTIMIZER").  Unknown: SR_ERR_CONFIG with the nearest.
SrStatus sr_manual_describe(const char *name, SrText *out);

#endif
