// The training that sr_train and sr_train_config_run share.  Log, request to stop and messages of a
// run belong to the process, so that one run trains at a time.
#ifndef SR_LIBRARY_TRAINING_H
#define SR_LIBRARY_TRAINING_H

#include "sslrun.h"
#include "trainer/config/config_types.h"

typedef struct {
    const char *path;  // the configuration, for messages
    const char *call;  // the caller's call, the heading of this start in log.txt
    const char *again; // what the caller does to resume, for messages
    SrStatus (*load)(const void *arg, SrConfig **out); // loads the configuration
    const void *load_arg;
    int (*on_step)(void *arg, const SrTrainStep *step); // as in sr_train
    void *arg;
} SrLibraryTraining;

SrStatus sr__library_train(const SrLibraryTraining *training);

#endif
