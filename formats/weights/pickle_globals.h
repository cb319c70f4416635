// The constructors that a state dict may name.  A "call" of one builds a value; nothing else can be
// called, and nothing is executed.
#ifndef SR_FORMATS_WEIGHTS_PICKLE_GLOBALS_H
#define SR_FORMATS_WEIGHTS_PICKLE_GLOBALS_H

#include "formats/weights/pickle_value.h"

// Finds a constructor.  SR_ERR_CONFIG: none of this name is known; the message names it.
SrStatus sr__pickle_global(const SrPickle *p, const char *module, const char *name,
                           const SrPickleGlobal **out);
// Builds the value of fn(*args): a tensor, dict or scalar.
SrStatus sr__pickle_call(SrPickle *p, const SrPickleValue *fn, SrPickleValue *args,
                         SrPickleValue **out);
// Builds a block of numbers from a persistent id: ("storage", type, key, device, count).
SrStatus sr__pickle_storage(SrPickle *p, const SrPickleValue *id, SrPickleValue **out);
const char *sr_pickle_global_name(const SrPickleGlobal *global); // "float32"

#endif
