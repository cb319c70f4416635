// The few compiler extensions the project uses outside kernels/, each behind a name that says why.
#ifndef SR_BASE_COMPILER_H
#define SR_BASE_COMPILER_H

#if defined(__GNUC__)
#define SR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define SR_MUST_USE __attribute__((warn_unused_result))
#else
#define SR_PRINTF(fmt, args)
#define SR_MUST_USE
#endif

#define SR_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define SR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define SR_MAX(a, b) ((a) > (b) ? (a) : (b))

// Every buffer a kernel may see starts at such an address: one cache line, one AVX-512 register.
#define SR_ALIGN 64

#endif
