// Moves a checkpoint's position to the batches of a run with another batch size or other images.
#include "trainer/run/position.h"

#include "base/compiler.h"

// Moves the position; the mean of the epoch's losses stays the same over another number of updates.
static void move_to(SrPosition *at, int64_t batch, int64_t steps) {
    SR_ASSERT(batch >= 0 && batch <= steps);
    if (at->batch > 0)
        at->loss_sum *= (double)batch / (double)at->batch;
    at->batch = batch;
    at->iteration = at->epoch * steps + batch;
}

// True if both runs count batches alike.  Old files without a batch size are compared by updates
// alone.
static bool counts_alike(const SrPosition *at, int batch_size, int64_t images, int64_t steps) {
    bool known = at->batch_size > 0 && at->images > 0;
    return at->iteration == at->epoch * steps + at->batch && at->batch <= steps &&
           (!known || (at->batch_size == batch_size && at->images == images));
}

SrFit sr_position_fit(SrPosition *at, int batch_size, int64_t images, int64_t steps,
                      int64_t *again) {
    SrFit fit = SR_FIT_SAME;
    *again = 0;
    if (!counts_alike(at, batch_size, images, steps)) {
        bool same_images = at->batch_size > 0 && at->images == images;
        int64_t seen = same_images ? SR_MIN(at->batch * at->batch_size, images) : 0;
        bool whole = same_images && seen == images; // the last batch may be a partial one
        int64_t batch = whole ? steps : SR_MIN(seen / batch_size, steps);
        *again = batch < steps ? seen - batch * batch_size : 0;
        fit = same_images ? SR_FIT_BATCH : SR_FIT_RESTART;
        move_to(at, batch, steps);
    }
    at->batch_size = batch_size;
    at->images = images;
    return fit;
}
