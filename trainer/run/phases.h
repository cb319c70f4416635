// Train and test phases of a run whose outputs are class scores: meters over both,
// and the pass over the test images between epochs.
#ifndef SR_TRAINER_RUN_PHASES_H
#define SR_TRAINER_RUN_PHASES_H

#include "trainer/run/feed.h"
#include "trainer/run/meter_list.h"
#include "trainer/run/run.h"

typedef struct {
    SrMeterList *train;  // NULL: METERS.enable_training_meter is off
    SrMeterList *test;   // NULL: there are no test images, or TEST_MODEL is off
    SrSplit split;       // of the test
    SrFrozenTrunk trunk; // of the run's frozen trunk, for images of the test's size
    SrFeed feed;
    SrOutputGraph graph;
    SrPlan *plan;
    int batch;
    char *crossing; // (replicas, crossing_bytes) labels and scores of a step; NULL with one rank
    size_t crossing_bytes; // of a replica
    char *turns;           // (ranks, turn_bytes) the same of a test's batches
    size_t turn_bytes;     // of a rank's batch
} SrPhases;

// A run without labels: everything stays empty, and nothing below does anything.
SrStatus sr_phases_open(SrRun *run, SrPhases *out);
void sr_phases_close(SrPhases *phases); // a zeroed one is fine

// The outputs of this rank's replica `replica`, whose forward was the last, of batch number `at` of its epoch.
void sr_phases_count(SrPhases *phases, SrRun *run, int64_t at, int replica, const int64_t *labels);
// After the step: with several ranks only now the meters see all replicas.  Collective.
void sr_phases_count_ranks(SrPhases *phases, SrRun *run);
// VISSL's rule: after epochs 0, n, 2n, ... and after the last.
bool sr_phases_test_due(const SrPhases *phases, const SrConfig *config, int64_t epoch);
// One pass over the test images; the test meters then hold its values.  SR_ERR_INTERRUPT as sr_stop_check has it.
SrStatus sr_phases_run_test(SrPhases *phases);

#endif
