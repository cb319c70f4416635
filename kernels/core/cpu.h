// Levels of instruction sets, and which of them this processor has.  A plan's instruction set is in
// its SrMachine (kernels/machine.h).
//
// Level amx needs more than the processor: the kernel must grant each process the tile registers
// (arch_prctl ARCH_REQ_XCOMP_PERM).  Old kernels, sandboxes and threads with a small alternate
// signal stack refuse.  The level is then not available, and one line in the log says so.
#ifndef SR_KERNELS_CORE_CPU_H
#define SR_KERNELS_CORE_CPU_H

#include <stddef.h>

// Each level includes the ones before it.
typedef enum {
    SR_CPU_PLAIN,
    SR_CPU_AVX2,
    SR_CPU_AVX512,
    SR_CPU_AVX512BF16, // products of bfloat16 pairs (vdpbf16ps)
    SR_CPU_AMX,        // tile registers: products of 16 x 32 by 32 x 16 bfloat16 numbers
    SR_CPU_LEVELS
} SrCpuLevel;

// Value of SR_CPU that takes the kernels and choices of tile registers on a processor without them:
// the same results, at lower speed.
#define SR_CPU_EMULATED "amx-emulated"

const char *sr_cpu_name(SrCpuLevel level);
// Returns the processor's highest level that is at most `most`.  Asks the system for tile registers
// only if `most` includes them.
SrCpuLevel sr_cpu_detect(SrCpuLevel most);
// Returns the bytes of the second-level cache of one core; 1 MiB where the system does not say.
size_t sr_cpu_second_cache(void);

#endif
