// What this processor can do, found once.  SR_CPU=plain|avx2|avx512 in the environment lowers it,
// for tests.
//
// Files named *_simd.c are compiled once per level (see kernels/simd.h).  Each exports one const
// table of functions under SR_ISA_SYMBOL(name); the callers declare the tables with SR_CPU_TABLES
// and take the right one with SR_CPU_PICK:
//     SR_CPU_TABLES(SrPoolKernels, sr__pool_kernels); // ..._plain, ..._avx2, ..._avx512
//     SR_CPU_PICK(sr__pool_kernels)->max_forward(...);
#ifndef SR_KERNELS_CPU_H
#define SR_KERNELS_CPU_H

// Each includes the ones before.
typedef enum { SR_CPU_PLAIN, SR_CPU_AVX2, SR_CPU_AVX512 } SrCpuLevel;

SrCpuLevel sr_cpu_level(void);
int sr_cpu_has_bf16(void); // avx512_bf16
const char *sr_cpu_name(SrCpuLevel level);

// For tests and benches: use `level`, or the best this processor has if that is lower; returns what
// was set.  Not while kernels run; scratch sizes depend on the level.
SrCpuLevel sr_cpu_set_level(SrCpuLevel level);

#if defined(__x86_64__)
#define SR_CPU_TABLES(type, name) extern const type name##_plain, name##_avx2, name##_avx512
#define SR_CPU_PICK(name)                             \
    (sr_cpu_level() == SR_CPU_AVX512 ? &name##_avx512 \
     : sr_cpu_level() == SR_CPU_AVX2 ? &name##_avx2   \
                                     : &name##_plain)
#else
#define SR_CPU_TABLES(type, name) extern const type name##_plain
#define SR_CPU_PICK(name) (&name##_plain)
#endif

#endif
