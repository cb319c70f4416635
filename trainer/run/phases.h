// Runs the train and test phases of a run whose outputs are class scores: meters for both, and
// the pass over the test images between epochs.
#ifndef SR_TRAINER_RUN_PHASES_H
#define SR_TRAINER_RUN_PHASES_H

#include "trainer/run/feed.h"
#include "trainer/run/meters/meter_list.h"
#include "trainer/run/run_parts.h"

typedef struct {
    SrMeterList *train;    // NULL: METERS.enable_training_meter is off
    SrMeterList *test;     // NULL: there are no test images, or TEST_MODEL is off
    SrSplit split;         // test images
    SrFeatureSource trunk; // the run's frozen trunk, for images of the test's size
    SrFeed feed;
    SrOutputGraph graph;
    SrPlan *plan;
    int batch;
    // (replicas, crossing_bytes) labels and scores of a step, for all ranks.  NULL: one rank
    char *crossing;
    size_t crossing_bytes; // bytes per replica
    char *turns;           // (ranks, turn_bytes) labels and scores of one test batch per rank
    size_t turn_bytes;     // bytes per rank
} SrPhases;

// Opens meters and test split.  In a run without labels *out stays empty, and the calls below do
// nothing.
SrStatus sr_phases_open(SrRun *run, SrPhases *out);
void sr_phases_close(SrPhases *phases); // legal for a zeroed struct

// Counts the outputs of this rank's replica `replica`, whose forward pass was the last one.  at:
// number of the batch in its epoch.
void sr_phases_count(SrPhases *phases, SrRun *run, int64_t at, int replica, const int64_t *labels);
// Counts the replicas of all ranks after a step; with one rank sr_phases_count has done so.
// Collective.
void sr_phases_count_ranks(SrPhases *phases, SrRun *run);
// True after epochs 0, n, 2n, ... and after the last one: VISSL's rule.
bool sr_phases_test_due(const SrPhases *phases, const SrConfig *config, int64_t epoch);
// Makes a pass over the test images; the test meters then hold the values.  SR_ERR_INTERRUPT: the
// run was asked to stop (sr_stop_check).
SrStatus sr_phases_run_test(SrPhases *phases);

#endif
