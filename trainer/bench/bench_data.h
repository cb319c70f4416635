// How long one core takes to read, decode and transform images: what a loader thread does, without a model.  Beside
// PIL and torchvision in bench/transforms.py.
#ifndef SR_TRAINER_BENCH_BENCH_DATA_H
#define SR_TRAINER_BENCH_BENCH_DATA_H

#include "base/text.h"
#include "trainer/bench/bench.h"

// Batches of DATA.TRAIN in the calling thread, in processor time: options->steps timed after options->warmup, from one
// epoch to the next where one is too short.
SrStatus sr_bench_data(const SrConfig *config, const SrBenchOptions *options, SrBenchResult *out);
void sr_bench_data_text(const SrBenchResult *result, const SrConfig *config, SrText *out);
void sr_bench_data_json(const SrBenchResult *result, const SrConfig *config, SrText *out);

#endif
