// What this processor can do, found once.  SR_CPU=plain|avx2|avx512|avx512bf16|amx in the environment
// lowers it, for tests.  SR_CPU=amx-emulated takes the kernels and choices of tile registers without having them: their
// numbers, not their speed.
//
// Level amx needs more than the processor: the kernel must grant each process the tile registers
// (arch_prctl ARCH_REQ_XCOMP_PERM).  Old kernels, sandboxes and threads with a small alternate signal
// stack refuse; then there is no such level, and one line in the log says so.
//
// Files named *_simd.c are compiled once per level (see kernels/simd.h).  Each exports one const
// table of functions under SR_ISA_SYMBOL(name); the callers declare the tables with SR_CPU_TABLES
// and take the right one with SR_CPU_PICK:
//     SR_CPU_TABLES(SrPoolKernels, sr__pool_kernels); // ..._plain, ..._avx2, ..._avx512
//     SR_CPU_PICK(sr__pool_kernels)->max_forward(...);
// Those that round to bfloat16 or multiply its pairs are compiled for avx512bf16 too (BF16 in the Makefile), declared with
// SR_CPU_TABLES_BF16 and taken with SR_CPU_PICK_BF16.  Tables of *_amx.c are declared with SR_CPU_TABLES_TILES;
// SR_CPU_PICK_TILES is NULL where there are neither tiles nor leave to emulate them.
#ifndef SR_KERNELS_CPU_H
#define SR_KERNELS_CPU_H

#include <stdbool.h>
#include <stddef.h>

// Each includes the ones before.
typedef enum {
    SR_CPU_PLAIN,
    SR_CPU_AVX2,
    SR_CPU_AVX512,
    SR_CPU_AVX512BF16, // products of bfloat16 pairs (vdpbf16ps)
    SR_CPU_AMX,        // tile registers: products of 16 x 32 by 32 x 16 bfloat16 numbers
    SR_CPU_LEVELS
} SrCpuLevel;

#define SR_CPU_EMULATED "amx-emulated"

SrCpuLevel sr_cpu_level(void);
int sr_cpu_has_bf16(void); // avx512_bf16
int sr_cpu_has_tiles(void);
const char *sr_cpu_name(SrCpuLevel level);
const char *sr_cpu_now(void); // the level's name, or SR_CPU_EMULATED while tiles are emulated

// For tests and benches: use `level`, or the best this processor has if that is lower; returns what
// was set.  Not while kernels run; scratch sizes depend on the level.
SrCpuLevel sr_cpu_set_level(SrCpuLevel level);

// For tests: plain C or vectors in place of the tile instructions (kernels/tiles.h), at any level of the processor.
void sr_cpu_emulate_tiles(bool on);
bool sr_cpu_emulates_tiles(void);

// Bytes of the second-level cache of one core, 1 MiB where the system does not say; kernels choose by it how much they
// take at a time, never what they compute.  SR_L2 (bytes) in the environment stands in its place, for benches.
size_t sr_cpu_second_cache(void);
// For tests, as sr_cpu_set_level; 0: what the processor has.
void sr_cpu_set_second_cache(size_t bytes);

#if defined(__x86_64__)
#define SR_CPU_TABLES(type, name) extern const type name##_plain, name##_avx2, name##_avx512
#define SR_CPU_PICK(name)                             \
    (sr_cpu_level() >= SR_CPU_AVX512 ? &name##_avx512 \
     : sr_cpu_level() == SR_CPU_AVX2 ? &name##_avx2   \
                                     : &name##_plain)
#define SR_CPU_TABLES_BF16(type, name) \
    SR_CPU_TABLES(type, name);         \
    extern const type name##_avx512bf16
#define SR_CPU_PICK_BF16(name) (sr_cpu_has_bf16() ? &name##_avx512bf16 : SR_CPU_PICK(name))
#define SR_CPU_TABLES_TILES(type, name) extern const type name##_emulated, name##_amx
#define SR_CPU_PICK_TILES(name) \
    (sr_cpu_emulates_tiles() ? &name##_emulated : sr_cpu_has_tiles() ? &name##_amx : NULL)
#else
#define SR_CPU_TABLES_TILES(type, name) extern const type name##_emulated
#define SR_CPU_PICK_TILES(name) (sr_cpu_emulates_tiles() ? &name##_emulated : NULL)
#define SR_CPU_TABLES_BF16(type, name) SR_CPU_TABLES(type, name)
#define SR_CPU_PICK_BF16(name) SR_CPU_PICK(name)
#define SR_CPU_TABLES(type, name) extern const type name##_plain
#define SR_CPU_PICK(name) (&name##_plain)
#endif

#endif
