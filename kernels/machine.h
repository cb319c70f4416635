// SrMachine: the instruction set and the choices by which a plan computes.
//
// A machine belongs to a plan (graph/plan.h), not to the process: two plans of different machines run side by side, each
// with its own bits.  Kernels find theirs in SrOpCall, convolutions in SrConvShape.  A machine is a value that nobody
// changes while a plan or a shape points to it.
//
// Files named *_simd.c are compiled once per level (see kernels/simd.h).  Each exports one const table of functions
// under SR_ISA_SYMBOL(name); the callers declare the tables with SR_CPU_TABLES and take the right one with SR_CPU_PICK:
//     SR_CPU_TABLES(SrPoolKernels, sr__pool_kernels); // ..._plain, ..._avx2, ..._avx512
//     SR_CPU_PICK(call->machine, sr__pool_kernels)->max_forward(...);
// Tables that round to bfloat16 or multiply its pairs are compiled for avx512bf16 too (BF16 in the Makefile), declared
// with SR_CPU_TABLES_BF16 and taken with SR_CPU_PICK_BF16.  Tables of *_amx.c are declared with SR_CPU_TABLES_TILES;
// SR_CPU_PICK_TILES is NULL on a machine that neither has tile registers nor emulates them.
#ifndef SR_KERNELS_MACHINE_H
#define SR_KERNELS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/cpu.h"

// Products of floats on tile registers, where floats are split into bfloat16 parts.  Six products of three parts are
// more exact than fused multiply-adds (32 terms are summed apart before they meet the sum); three of two parts have the
// errors of F(4x4), 5e-6 of the largest value.  An infinity comes out as a NaN.  Without tile registers all mean IEEE.
typedef enum {
    SR_CONV_FP32_IEEE, // fused multiply-adds, and Winograd if the machine allows it
    SR_CONV_FP32_X6,   // six products too, where that is faster
    SR_CONV_FP32_X3,   // three
    SR_CONV_FP32_AUTO, // X6, which is at least as exact as IEEE
} SrConvFp32;

// Designs of a convolution that a machine may choose from.  The plain design always remains.
enum {
    SR_CONV_DIRECT = 1,
    SR_CONV_WINOGRAD4 = 2,
    SR_CONV_WINOGRAD2 = 4,
    SR_CONV_WINOGRAD3 = 8,
    SR_CONV_TILES = 16,
    SR_CONV_ALL = 31
};

typedef struct SrMachine {
    SrCpuLevel level; // instruction set of the kernels; never above the processor's
    bool
        emulates_tiles; // vectors in place of the tile instructions (kernels/tiles.h), at any level
    unsigned conv_designs; // SR_CONV_ bits
    SrConvFp32 fp32;
    // Convolutions multiply bfloat16 as pairs (vdpbf16ps) where the level has that.  Zen 4 doubles its rate by it; Intel's
    // cores take longer than for the same numbers as floats.  Tile registers are not concerned.
    bool pairs;
    // Bytes of the second-level cache of a core.  Kernels choose by it how much they take at a time, never the result.
    size_t second_cache;
} SrMachine;

// This process's machine, made at the first call and constant afterwards: the processor, or what SR_CPU and SR_L2 in the
// environment say, with every design, SR_CONV_FP32_AUTO and pairs.
const SrMachine *sr_machine_default(void);
// The default machine with another instruction set: `level`, or the processor's highest if that is lower; no emulation.
SrMachine sr_machine_at(SrCpuLevel level);
// Name of the level, or SR_CPU_EMULATED while tiles are emulated.
const char *sr_machine_name(const SrMachine *machine);

static inline bool sr_machine_has_bf16(const SrMachine *m) { return m->level >= SR_CPU_AVX512BF16; }
static inline bool sr_machine_has_tiles(const SrMachine *m) { return m->level >= SR_CPU_AMX; }
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
#else
#define SR_CPU_TABLES(type, name) extern const type name##_plain
#define SR_CPU_PICK(machine, name) ((void)(machine), &name##_plain)
#define SR_CPU_TABLES_BF16(type, name) SR_CPU_TABLES(type, name)
#define SR_CPU_PICK_BF16(machine, name) SR_CPU_PICK(machine, name)
#define SR_CPU_TABLES_TILES(type, name) extern const type name##_emulated
#define SR_CPU_PICK_TILES(machine, name) ((machine)->emulates_tiles ? &name##_emulated : NULL)
#endif

#endif
