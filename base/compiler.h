// Compiler extensions that the project uses outside kernels/, as macros named after their purpose.
#ifndef SR_BASE_COMPILER_H
#define SR_BASE_COMPILER_H

#if defined(__GNUC__)
#define SR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SR_MUST_USE __attribute__((warn_unused_result))
#define SR_WEAK __attribute__((weak))                    // NULL where no library defines it
#define SR_PUBLIC __attribute__((visibility("default"))) // sslrun.h declares it too
#else
#define SR_PRINTF(fmt, args)
#define SR_MUST_USE
#define SR_WEAK
#define SR_PUBLIC
#endif

// Makes this thread's floating-point unit read and write denormals as zero: each denormal gradient
// would otherwise cost about a hundred cycles.  Does nothing on unknown processors.
#if defined(__GNUC__) && defined(__SSE2__)
#define SR_MXCSR_FTZ_DAZ 0x8040u
#define SR_FLUSH_DENORMALS() __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | SR_MXCSR_FTZ_DAZ)
#elif defined(__GNUC__) && defined(__aarch64__)
#define SR_FLUSH_DENORMALS()                                           \
    do {                                                               \
        unsigned long fpcr_;                                           \
        __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr_));                \
        __asm__ volatile("msr fpcr, %0" : : "r"(fpcr_ | (1ul << 24))); \
    } while (0)
#else
#define SR_FLUSH_DENORMALS() ((void)0)
#endif

// Marks a function of plain loops that is compiled once per vector width; the loader chooses one.
// The result must not depend on the width: integers, or floats without reassociation.  Files
// kernels/*_simd.c are compiled once per level instead: they use intrinsics, and FMA. Builds with
// ThreadSanitizer have one version only, because the functions that choose run before the
// sanitizer's library has started.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_THREAD__)
#if __GNUC__ >= 12
#define SR_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define SR_VECTOR_CLONES __attribute__((target_clones("default", "avx2")))
#endif
#else
#define SR_VECTOR_CLONES
#endif

// Marks helpers of such functions: the compiler inlines them into every version.
#if defined(__GNUC__)
#define SR_INLINE static inline __attribute__((always_inline))
#else
#define SR_INLINE static inline
#endif

// SR_ASSERT states an invariant, a truth that no input, no file and no failing system can change:
// only a mistake in this program makes it false.  What comes from outside is checked with an
// SrStatus instead.  Builds with SR_DEBUG=1 (make debug, and every build with a sanitizer) check it
// and abort; others compile it without evaluating it.
#ifndef SR_DEBUG
#define SR_DEBUG 0
#endif
#if SR_DEBUG
#include <assert.h>
#define SR_ASSERT(truth) assert(truth)
#else
#define SR_ASSERT(truth) ((void)sizeof(!(truth)))
#endif

#define SR_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
// Initialises a list {number of elements, first element} with an array.
#define SR_LIST(array) \
    { SR_COUNT(array), (array) }
#define SR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define SR_MAX(a, b) ((a) > (b) ? (a) : (b))

// Alignment of every buffer that a kernel reads or writes, bytes: a cache line, an AVX-512
// register.
#define SR_ALIGN 64

// Vectorises a loop with independent iterations, which -O2 alone would leave scalar.  Results stay
// the same.
#define SR_SIMD _Pragma("omp simd")

#endif
