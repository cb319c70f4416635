// Times the forward of a frozen trunk: features without gradients, with norms folded into
// convolutions.  The script for PyTorch has --forward-only for it.
#ifndef SR_TRAINER_BENCH_BENCH_FORWARD_H
#define SR_TRAINER_BENCH_BENCH_FORWARD_H

#include "base/text/text.h"
#include "trainer/bench/bench.h"
#include "trainer/features/feature_source.h"

// Times `extractor` on normal numbers, with random weights.  profile: gets the profile if options
// ask for one.
SrStatus sr_bench_forward(const SrFeatureOptions *extractor, const SrBenchOptions *options,
                          SrBenchResult *out, SrText *profile);

#endif
