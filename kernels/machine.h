// SrMachine: the instruction set and the choices by which a plan computes.
//
// A machine belongs to a plan (graph/plan/plan.h), not to the process: two plans with different
// machines run side by side, each with its own bits.  Kernels find their machine in SrOpCall,
// convolutions in SrConvShape.  A machine is a value that must not change while a plan or a shape
// points to it.
//
// Files named *_simd.c are compiled once per level (kernels/core/simd.h).  Each exports one const
// table of functions under SR_ISA_SYMBOL(name).  Callers declare the tables with SR_CPU_TABLES and
// take the right one with SR_CPU_PICK:
//     SR_CPU_TABLES(SrPoolKernels, sr__pool_kernels); // ..._plain, ..._avx2, ..._avx512; ..._neon
//     SR_CPU_PICK(call->machine, sr__pool_kernels)->max_forward(...);
// Tables that round to bfloat16 or multiply pairs of bfloat16 are compiled once more for the level
// that has these instructions (PAIR_ISA and BF16 in the Makefile).  They are declared with
// SR_CPU_TABLES_BF16 and taken with SR_CPU_PICK_BF16.
// Tables of *_amx.c are declared with SR_CPU_TABLES_TILES; SR_CPU_PICK_TILES is NULL on a machine
// that neither has tile registers nor emulates them.
#ifndef SR_KERNELS_MACHINE_H
#define SR_KERNELS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/core/cpu.h"

// How tile registers multiply floats, which are split into bfloat16 parts.  Six products of three
// parts are more exact than fused multiply-adds, because 32 terms are summed before they meet the
// sum.  Three products of two parts have the errors of F(4x4), 5e-6 of the largest value.  An
// infinity comes out as a NaN.  Without tile registers all members mean IEEE.
typedef enum {
    SR_CONV_FP32_IEEE, // fused multiply-adds, and Winograd if the machine allows it
    SR_CONV_FP32_X6,   // also six products, where that is faster
    SR_CONV_FP32_X3,   // three products
    SR_CONV_FP32_AUTO, // same as X6, which is at least as exact as IEEE
} SrConvFp32;

// Designs of a convolution that a machine may choose from.  The plain design is always allowed.
enum {
    SR_CONV_DIRECT = 1,
    SR_CONV_WINOGRAD4 = 2,
    SR_CONV_WINOGRAD2 = 4,
    SR_CONV_WINOGRAD3 = 8,
    SR_CONV_TILES = 16,
    SR_CONV_ALL = 31
};

typedef struct SrMachine {
    SrCpuLevel level; // instruction set of the kernels; at most the processor's
    // Vectors take the place of tile instructions (kernels/core/tiles.h), at any level.
    bool emulates_tiles;
    unsigned conv_designs; // SR_CONV_ bits
    SrConvFp32 fp32;
    // Convolutions multiply bfloat16 as pairs (vdpbf16ps, bfdot) where the level has the
    // instruction.  Zen 4 doubles its rate with it; Intel's cores take longer than for the same
    // numbers as floats.  Has no effect on tile registers.
    bool pairs;
    // Bytes of the second-level cache of a core.  Kernels derive block sizes from it, never
    // results.
    size_t second_cache;
} SrMachine;

// Returns the process's machine, which the first call makes and nothing changes later.  Level and
// cache are the processor's, or those that SR_CPU and SR_L2 in the environment say.  The machine
// has all designs, SR_CONV_FP32_AUTO and pairs.
const SrMachine *sr_machine_default(void);
// Returns the default machine at instruction set `level`, or at the processor's highest if that is
// lower; without emulation.
SrMachine sr_machine_at(SrCpuLevel level);
// Returns the name of the level, or SR_CPU_EMULATED while tiles are emulated.
const char *sr_machine_name(const SrMachine *machine);

static inline bool sr_machine_has_bf16(const SrMachine *m) { return m->level >= SR_CPU_PAIRS; }
static inline bool sr_machine_has_tiles(const SrMachine *m) {
#if defined(__x86_64__)
    return m->level >= SR_CPU_AMX;
#else
    (void)m;
    return false;
#endif
}
static inline bool sr_machine_has_pairs(const SrMachine *m) {
    return sr_machine_has_bf16(m) && m->pairs;
}

#if defined(__x86_64__)
#define SR_CPU_TABLES(type, name) extern const type name##_plain, name##_avx2, name##_avx512
#define SR_CPU_PICK(machine, name)                      \
    ((machine)->level >= SR_CPU_AVX512 ? &name##_avx512 \
     : (machine)->level == SR_CPU_AVX2 ? &name##_avx2   \
                                       : &name##_plain)
#define SR_CPU_TABLES_BF16(type, name) \
    SR_CPU_TABLES(type, name);         \
    extern const type name##_avx512bf16
#define SR_CPU_PICK_BF16(machine, name) \
    (sr_machine_has_bf16(machine) ? &name##_avx512bf16 : SR_CPU_PICK(machine, name))
#define SR_CPU_TABLES_TILES(type, name) extern const type name##_emulated, name##_amx
#define SR_CPU_PICK_TILES(machine, name)                \
    ((machine)->emulates_tiles       ? &name##_emulated \
     : sr_machine_has_tiles(machine) ? &name##_amx      \
                                     : NULL)
#elif defined(__aarch64__)
#define SR_CPU_TABLES(type, name) extern const type name##_plain, name##_neon
#define SR_CPU_PICK(machine, name) ((machine)->level >= SR_CPU_NEON ? &name##_neon : &name##_plain)
#define SR_CPU_TABLES_BF16(type, name) \
    SR_CPU_TABLES(type, name);         \
    extern const type name##_neonbf16
#define SR_CPU_PICK_BF16(machine, name) \
    (sr_machine_has_bf16(machine) ? &name##_neonbf16 : SR_CPU_PICK(machine, name))
#else
#define SR_CPU_TABLES(type, name) extern const type name##_plain
#define SR_CPU_PICK(machine, name) ((void)(machine), &name##_plain)
#define SR_CPU_TABLES_BF16(type, name) SR_CPU_TABLES(type, name)
#define SR_CPU_PICK_BF16(machine, name) SR_CPU_PICK(machine, name)
#endif
#if !defined(__x86_64__)
#define SR_CPU_TABLES_TILES(type, name) extern const type name##_emulated
#define SR_CPU_PICK_TILES(machine, name) ((machine)->emulates_tiles ? &name##_emulated : NULL)
#endif

#endif
