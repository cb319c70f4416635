// Measures the memory bandwidth of the present threads.  A roofline (Williams, Waterman and
// Patterson, "Roofline", 2009) needs it together with sr_conv_peak_gflops.
#ifndef SR_TRAINER_BENCH_MEMORY_RATE_H
#define SR_TRAINER_BENCH_MEMORY_RATE_H

// Returns the bytes per second that a copy reads and writes, if no cache holds it.  The measurement
// takes a tenth of a second.  0: there is no memory for the copy.
double sr_bench_memory_rate(void);

#endif
