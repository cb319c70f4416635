// Forecast of a step's time on many machines, by calculation alone, for `sslrun check --ranks` and
// docs/guide/scaling.md.
//
// A rank runs its share of the replicas one after the other.  Then the P ranks sum gradients by
// reduce-scatter and all-gather (base/ranks/comm.h): 2 (P - 1) / P of the bytes each way and 2 log2
// P messages.  Buckets of gradients are sent while the last replica's backward runs.  The step
// waits for the rest of the exchange, and at least for the last bucket.
//
// The forecast leaves out rows of the loss that are gathered (embeddings are small next to
// weights), loading of images, and waiting for the slowest machine.
#ifndef SR_TRAINER_BENCH_FORECAST_H
#define SR_TRAINER_BENCH_FORECAST_H

#include <stdbool.h>

#include "base/text/text.h"

#define SR_FORECAST_BUCKET_BYTES 25e6 // size of a bucket in trainer/run/ranks/grad_sums.h
#define SR_FORECAST_MESSAGE_S 30e-6   // seconds for a message over TCP in a data centre

typedef struct {
    double replica_s;      // forward and backward of one replica on a rank
    double backward_share; // share of the backward in replica_s, 0 to 1
    double gradient_bytes; // gradients of all parameters
    // The loss looks at all rows: a rank with several replicas runs their forwards again.
    bool twice;
    int replicas; // R; P divides it
    int ranks;    // P
    double gbit;  // Gbit per second of a rank's network in each direction
} SrForecastInput;

// Times are in seconds.
typedef struct {
    double compute_s;  // computation of a rank
    double exchange_s; // exchange of gradients, if nothing ran at the same time
    double exposed_s;  // part of exchange_s that the step waits for
    double step_s;     // compute_s + exposed_s
    // Images per second, as a share of P times those of one rank alone with R / P replicas, 0 to 1.
    double efficiency;
} SrForecast;

// Returns how many times a rank computes forward and backward of one replica in a step.  twice: the
// loss needs the rows of all replicas, so that each replica but the last runs its forward again
// (trainer/run/ranks/replicas.h).  backward_share: as in SrForecastInput.
double sr_forecast_passes(int replicas, bool twice, double backward_share);
SrForecast sr_forecast(const SrForecastInput *input);
// Writes a line for people.  images: images of a replica.
void sr_forecast_text(const SrForecastInput *input, const SrForecast *f, int images, SrText *out);

#endif
