// Fills in the keys that VISSL infers from others.
#ifndef SR_TRAINER_CONFIG_VISSL_INFERENCE_H
#define SR_TRAINER_CONFIG_VISSL_INFERENCE_H

#include "base/arena.h"
#include "base/text/yaml.h"

// Applies VISSL's inference rules to the composed tree.  world: VISSL's replicas times
// gradient_accumulation_steps.
SrStatus sr__infer(SrYaml *tree, int world, SrArena *arena);

#endif
