// Keeps denormals during a stretch of code that must underflow as IEEE 754 says, in a program that
// otherwise flushes them to zero (base/compiler.h).
#ifndef SR_KERNELS_CORE_DENORMALS_H
#define SR_KERNELS_CORE_DENORMALS_H

#include <stdint.h>

#include "base/compiler.h"

#if defined(__GNUC__) && defined(__SSE2__)
static inline uint64_t sr__denormals_keep(void) {
    uint32_t before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before & ~SR_MXCSR_FTZ_DAZ);
    return before;
}
static inline void sr__denormals_restore(uint64_t before) {
    __builtin_ia32_ldmxcsr((uint32_t)before);
}
#elif defined(__GNUC__) && defined(__aarch64__)
static inline uint64_t sr__denormals_keep(void) {
    uint64_t before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(before & ~(UINT64_C(1) << 24)));
    return before;
}
static inline void sr__denormals_restore(uint64_t before) {
    __asm__ volatile("msr fpcr, %0" : : "r"(before));
}
#else
static inline uint64_t sr__denormals_keep(void) { return 0; }
static inline void sr__denormals_restore(uint64_t before) { (void)before; }
#endif

#endif
