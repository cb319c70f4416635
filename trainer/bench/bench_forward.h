// How long a forward of a frozen trunk takes: features without gradients, norms folded.  Beside the peer script's
// --forward-only.
#ifndef SR_TRAINER_BENCH_BENCH_FORWARD_H
#define SR_TRAINER_BENCH_BENCH_FORWARD_H

#include "base/text.h"
#include "trainer/bench/bench.h"
#include "trainer/model/extractor.h"

// Fills result (crops, batch, times) for `extractor` on normal numbers; weights are random.
SrStatus sr_bench_forward(const SrExtractorOptions *extractor, const SrBenchOptions *options,
                          SrBenchResult *out, SrText *profile);

#endif
