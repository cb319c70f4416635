// How fast the present threads bring numbers from memory and back: the other half of a roofline
// (Williams, Waterman, Patterson 2009) beside sr_conv_peak_gflops.
#ifndef SR_TRAINER_BENCH_MEMORY_RATE_H
#define SR_TRAINER_BENCH_MEMORY_RATE_H

// Bytes read and written a second by a copy no cache holds, measured now: a tenth of a second.  0 without memory for it.
double sr_bench_memory_rate(void);

#endif
