// Sizes of trunks that a golden case describes in words, since VISSL has no key for them: nets
// with a fraction of the width or depth.
#ifndef SR_TESTS_GOLDEN_TRUNK_NOTES_H
#define SR_TESTS_GOLDEN_TRUNK_NOTES_H

#include "tests/golden/golden.h"
#include "trunks/trunk.h"

// Returns the case's options of the trunk, with sslrun's keys for what the notes say.
SrStatus golden_trunk_options(SrGoldenCase *c, const SrTrunk *trunk, SrYaml **out);
// Merges a map in YAML flow style into the options.
SrStatus golden_trunk_option(SrGoldenCase *c, SrYaml *options, const char *flow);

#endif
