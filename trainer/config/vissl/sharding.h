// Translates VISSL's sharded modules and numbers of processes into this program's replicas.
#ifndef SR_TRAINER_CONFIG_VISSL_SHARDING_H
#define SR_TRAINER_CONFIG_VISSL_SHARDING_H

#include "base/arena.h"
#include "trainer/config/config_types.h"

// Replaces names of sharded modules, and sets replicas, sync_bn_group and
// sync_bn_ranks. Logs a line for each change.
SrStatus sr__sharding_resolve(SrConfig *config);
// Returns "regnet" for "regnet_fsdp" and "regnet_v2"; other names come back as they are.  NULL: out
// of memory.
const char *sr__unsharded_name(const char *name, SrArena *arena);
// Removes "module." and the infixes of sharding from a parameter's name.  NULL: out of memory.
const char *sr__plain_param_name(const char *name, SrArena *arena);

#endif
