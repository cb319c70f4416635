// What this processor can do, found once.  SR_CPU=plain|avx2|avx512 in the environment lowers it, for tests.
#ifndef SR_KERNELS_CPU_H
#define SR_KERNELS_CPU_H

typedef enum { SR_CPU_PLAIN, SR_CPU_AVX2, SR_CPU_AVX512 } SrCpuLevel; // each includes the ones before

SrCpuLevel sr_cpu_level(void);
int sr_cpu_has_bf16(void); // avx512_bf16
const char *sr_cpu_name(SrCpuLevel level);

#endif
