// How long a step takes on many machines, on paper: for `sslrun check --ranks` and docs/guide/scaling.md.
//
// A rank runs its share of the replicas one after the other, then ranks sum gradients (base/comm.h: reduce-scatter and
// all-gather, 2 (P - 1) / P of the bytes each way and 2 log2 P messages).  Buckets leave while the last replica's backward
// goes on: what outlasts it is waited for, and at least the last bucket.  Not in it: rows of the loss that are gathered
// (bytes of embeddings, not of weights), loading of images, and machines that wait for the slowest.
#ifndef SR_TRAINER_BENCH_FORECAST_H
#define SR_TRAINER_BENCH_FORECAST_H

#include <stdbool.h>

#include "base/text.h"

#define SR_FORECAST_BUCKET_BYTES 25e6 // as grad_sums.h fills them
#define SR_FORECAST_MESSAGE_S 30e-6   // a message over TCP within a data centre

typedef struct {
    double replica_s;      // forward and backward of one replica on a rank
    double backward_share; // of that, 0 to 1
    double gradient_bytes;
    bool
        twice; // the loss looks at all rows: forwards are run again where a rank has several replicas
    int replicas; // R; P divides it
    int ranks;    // P
    double gbit;  // a second, of a rank's network in each direction
} SrForecastInput;

typedef struct {
    double compute_s;  // of a rank
    double exchange_s; // of gradients, were nothing hidden
    double exposed_s;  // of that, what the step waits for
    double step_s;
    double efficiency; // images a second, of P times those of one rank alone with R / P replicas
} SrForecast;

SrForecast sr_forecast(const SrForecastInput *input);
void sr_forecast_text(const SrForecastInput *input, const SrForecast *f, int images, SrText *out);

#endif
