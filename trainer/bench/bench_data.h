// Times reading, decoding and transforming images on one core: the work of a loader thread,
// without a model.  bench/transforms.py compares it with PIL and torchvision.
#ifndef SR_TRAINER_BENCH_BENCH_DATA_H
#define SR_TRAINER_BENCH_BENCH_DATA_H

#include "base/text/text.h"
#include "trainer/bench/bench.h"

// Times batches of DATA.TRAIN in the calling thread, in processor time.  options->steps batches are
// timed after options->warmup others; further epochs follow if one is too short.
SrStatus sr_bench_data(const SrConfig *config, const SrBenchOptions *options, SrBenchResult *out);
void sr_bench_data_text(const SrBenchResult *result, const SrConfig *config, SrText *out);
void sr_bench_data_json(const SrBenchResult *result, const SrConfig *config, SrText *out);

#endif
