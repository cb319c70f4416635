// Reads the part of Python's pickle format that state dicts need, as a tree of inert values.
//
// Nothing is ever executed.  A "call" of one of a dozen known constructors
// (formats/weights/pickle_globals.h) builds a value; any other global is refused by its name.  The
// reader knows the opcodes of protocols 2 to 5 (PEP 3154, Python's pickletools.py) and refuses the
// text opcodes of protocols 0 and 1.
#ifndef SR_FORMATS_WEIGHTS_PICKLE_H
#define SR_FORMATS_WEIGHTS_PICKLE_H

#include "formats/weights/pickle_value.h"

// Reads one pickle from data; *used gets its length.  Values live in the arena and may share parts
// or contain themselves, so a caller that walks them must bound depth and count.
// SR_ERR_CONFIG: truncated, unknown opcode or global, more than the arena's bound.
SrStatus sr_pickle_read(SrPickle *p, const uint8_t *data, size_t bytes, size_t *used,
                        SrPickleValue **out);

#endif
