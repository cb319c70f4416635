// Levels of instruction sets, and which of them this processor has.  A plan's instruction set is in
// its SrMachine (kernels/machine.h).
//
// Level amx needs more than the processor: the kernel must grant each process the tile registers
// (arch_prctl ARCH_REQ_XCOMP_PERM).  Old kernels, sandboxes and threads with a small alternate
// signal stack refuse.  The level is then not available, and one line in the log says so.
#ifndef SR_KERNELS_CORE_CPU_H
#define SR_KERNELS_CORE_CPU_H

#include <stddef.h>

// Each level includes the ones before it.  An architecture knows only the names of its own levels.
typedef enum {
    SR_CPU_PLAIN,
#if defined(__aarch64__)
    SR_CPU_NEON,     // 32 registers of 4 floats, which every such processor has
    SR_CPU_NEONBF16, // products of bfloat16 pairs (bfdot) and of 2 x 4 by 4 x 2 numbers (bfmmla)
    SR_CPU_PAIRS = SR_CPU_NEONBF16,
#else
    SR_CPU_AVX2,
    SR_CPU_AVX512,
    SR_CPU_AVX512BF16,                // products of bfloat16 pairs (vdpbf16ps)
    SR_CPU_PAIRS = SR_CPU_AVX512BF16, // lowest level that multiplies bfloat16 pairs
    SR_CPU_AMX,                       // tile registers: 16 x 32 by 32 x 16 bfloat16 numbers
#endif
    SR_CPU_LEVELS,
    SR_CPU_BEST = SR_CPU_LEVELS - 1 // as a limit: no limit
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
