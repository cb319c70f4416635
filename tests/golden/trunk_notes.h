// What a trunk's case says in words because VISSL has no key for it: nets of a fraction of the width or depth.
#ifndef SR_TESTS_GOLDEN_TRUNK_NOTES_H
#define SR_TESTS_GOLDEN_TRUNK_NOTES_H

#include "tests/golden/golden.h"
#include "trunks/trunk.h"

// The trunk's map of the case, with our keys for what the notes say.
SrStatus golden_trunk_options(SrGoldenCase *c, const SrTrunk *trunk, SrYaml **out);
// Merges a map in flow YAML into it.
SrStatus golden_trunk_option(SrGoldenCase *c, SrYaml *options, const char *flow);

#endif
