// The loader: makes batches in a fixed order with any number of threads.
//
// An epoch is a list of positions.  Workers take them one by one and write each image's views
// directly into its place in a ring of batches, at most `prefetch` batches ahead of the caller.
// The content of a place depends on (seed, epoch, position) alone: threads decide when, never
// what.
#include "data/load/loader.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "data/collator.h"
#include "data/extras.h"
#include "data/image_pool.h"
#include "data/load/loader_internal.h"
#include "data/load/sampler.h"
#include "data/pipeline.h"

#define EARLY_SEEN 64 // images to see before the share of bad ones may end the run

// ---- taking items; all with the lock held ----

static SrLoaderSlot *slot_of(SrLoader *l, int64_t batch) { return &l->slot[batch % l->n_slots]; }

// The last batch of an epoch may be smaller.
static int batch_size(const SrLoader *l, int64_t batch) {
    return (int)SR_MIN(l->config.batch, l->items - batch * l->config.batch);
}

// A slot that the caller may still be reading takes no items.
static bool may_take(const SrLoader *l) {
    return l->failed == SR_OK && l->next_item < l->end_item &&
           l->next_item / l->config.batch < l->free_below;
}

// Takes an item, loads it without the lock, and counts it.  The thread that loads the last item
// of a batch runs the collator.
static void do_item(SrLoader *l, SrImagePool *pool) {
    int64_t item = l->next_item++, batch = item / l->config.batch, epoch = l->epoch;
    SrLoaderSlot *slot = slot_of(l, batch);
    SR_ASSERT(item < l->items && batch >= l->next_batch);
    if (item % l->config.batch == 0) {
        SR_ASSERT(slot->number < 0 || slot->done == slot->items); // nobody writes into it
        slot->number = batch;
        slot->done = slot->bad = 0;
        slot->ready = false;
        slot->items = slot->batch.batch = batch_size(l, batch);
    }
    l->in_flight++;
    pthread_mutex_unlock(&l->lock);
    bool bad = false;
    SrStatus status = sr__loader_item(l, item, epoch, pool, slot, &bad);
    pthread_mutex_lock(&l->lock);
    SR_ASSERT(slot->number == batch && slot->done < slot->items);
    slot->done++;
    slot->bad += bad;
    if (slot->done == slot->items && status == SR_OK && l->failed == SR_OK) {
        pthread_mutex_unlock(&l->lock);
        sr__loader_collate(l, epoch, slot);
        pthread_mutex_lock(&l->lock);
        slot->ready = true;
    }
    l->in_flight--;
    SR_ASSERT(l->in_flight >= 0 && l->in_flight < SR_MAX(l->n_threads, 1));
    if (status != SR_OK && l->failed == SR_OK) {
        l->failed = status;
        snprintf(l->failure, sizeof l->failure, "%s", sr_status_message());
    }
    if (slot->ready || l->in_flight == 0 || l->failed != SR_OK)
        pthread_cond_broadcast(&l->ready);
}

typedef struct {
    SrLoader *loader;
    SrImagePool *pool;
} Worker;

// Sleeps while the ring is full, between epochs and after a failure.
static void *work(void *arg) {
    SrLoader *l = ((Worker *)arg)->loader;
    SrImagePool *pool = ((Worker *)arg)->pool;
    sr_free(arg);
    pthread_mutex_lock(&l->lock);
    while (!l->quit) {
        if (may_take(l))
            do_item(l, pool);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

// ---- making and ending ----

static size_t aligned(size_t bytes) { return (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN; }

static size_t input_bytes(const SrLoader *l, int i) {
    const SrBatchInput *in = &l->collation.plan.input[i];
    size_t rows = (size_t)l->config.batch * (size_t)in->rows;
    size_t C = (size_t)sr_channels(l->collation.plan.channels);
    return aligned(sizeof(float) * rows * (size_t)in->h * (size_t)in->w * C);
}

static size_t extra_bytes(const SrLoader *l, int i) {
    return aligned((size_t)l->config.batch * sr_batch_extra_bytes(&l->collation.plan.extras.v[i]));
}

// Maps one block of memory for a slot, and gives each array a 64-byte boundary in it.
static SrStatus slot_init(SrLoader *l, SrLoaderSlot *slot) {
    size_t batch = (size_t)l->config.batch;
    slot->block = sr_map(l->block_bytes);
    SR_TRY_MEMORY(slot->block, "%d batches of %zu MB ahead; lower BATCHSIZE_PER_REPLICA",
                  l->n_slots, l->block_bytes >> 20);
    char *p = slot->block;
    slot->batch.n_views = l->collation.plan.n_inputs;
    slot->batch.channels = sr_channels(l->collation.plan.channels);
    for (int i = 0; i < slot->batch.n_views; i++) {
        const SrBatchInput *in = &l->collation.plan.input[i];
        slot->batch.view[i] = (float *)(void *)p; // (N rows, h, w, C)
        slot->batch.h[i] = in->h;
        slot->batch.w[i] = in->w;
        slot->batch.rows[i] = in->rows;
        p += input_bytes(l, i);
    }
    for (int i = 0; i < l->collation.plan.extras.n; i++) {
        slot->batch.extra[i] = p;
        p += extra_bytes(l, i);
    }
    slot->batch.n_targets = l->n_targets;
    slot->batch.label = (int64_t *)(void *)p;
    p += aligned(sizeof(int64_t) * batch * (size_t)SR_MAX(l->n_targets, 1));
    slot->batch.index = (int64_t *)(void *)p;
    p += aligned(sizeof(int64_t) * batch);
    slot->batch.valid = (int8_t *)p;
    SR_ASSERT(p + batch <= (char *)slot->block + l->block_bytes);
    return SR_OK;
}

// The only large memory of the loader, taken before the first step.
static SrStatus make_slots(SrLoader *l) {
    size_t batch = (size_t)l->config.batch;
    l->block_bytes = aligned(sizeof(int64_t) * batch * (size_t)SR_MAX(l->n_targets, 1)) +
                     aligned(sizeof(int64_t) * batch) + aligned(batch);
    for (int i = 0; i < l->collation.plan.n_inputs; i++)
        l->block_bytes += input_bytes(l, i);
    for (int i = 0; i < l->collation.plan.extras.n; i++)
        l->block_bytes += extra_bytes(l, i);
    // The caller holds one slot; the others are ahead of it.
    l->n_slots = l->n_threads ? SR_MAX(1, l->config.prefetch) + 1 : 1;
    l->slot = sr_calloc((size_t)l->n_slots, sizeof *l->slot);
    SR_TRY_MEMORY(l->slot, "%d batches", l->n_slots);
    for (int i = 0; i < l->n_slots; i++)
        SR_TRY(slot_init(l, &l->slot[i]));
    return SR_OK;
}

// Signals stay with the thread that started the loader.
static SrStatus start_thread(SrLoader *l, SrImagePool *pool) {
    Worker *worker = sr_alloc(sizeof *worker);
    SR_TRY_MEMORY(worker, "a loader thread");
    *worker = (Worker){l, pool};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&l->thread[l->n_threads], NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        sr_free(worker);
        SR_FAIL(SR_ERR_IO, "cannot start loader thread %d: %s; lower DATA.NUM_DATALOADER_WORKERS",
                l->n_threads, strerror(error));
    }
    l->n_threads++;
    return SR_OK;
}

// Without workers one pool remains, for the caller's own thread.
static SrStatus make_threads(SrLoader *l, int wanted) {
    int pools = SR_MAX(1, wanted);
    l->pool = sr_calloc((size_t)pools, sizeof(SrImagePool *));
    l->thread = sr_calloc((size_t)pools, sizeof *l->thread);
    SR_TRY_MEMORY(l->pool && l->thread, "%d loader threads", wanted);
    for (; l->n_pools < pools; l->n_pools++)
        SR_TRY(sr_image_pool_new(&l->pool[l->n_pools]));
    l->n_threads = 0;
    for (int i = 0; i < wanted; i++)
        SR_TRY(start_thread(l, l->pool[i]));
    return SR_OK;
}

// Checks the values that the configuration does not bound by itself.
static SrStatus check_config(const SrLoaderConfig *c) {
    static const char *const label_types[] = {"standard", "sample_index", "zero"};
    if (c->batch < 1)
        SR_FAIL(SR_ERR_CONFIG, "BATCHSIZE_PER_REPLICA is %d, expected at least 1", c->batch);
    if (c->threads < 0 || c->threads > 256)
        SR_FAIL(SR_ERR_CONFIG, "NUM_DATALOADER_WORKERS is %d, expected 0 .. 256", c->threads);
    if (c->gray_size < 1 || c->gray_size > 8192)
        SR_FAIL(SR_ERR_CONFIG, "DEFAULT_GRAY_IMG_SIZE is %d, expected 1 .. 8192", c->gray_size);
    for (int i = 0; i < SR_COUNT(label_types); i++)
        if (strcmp(c->label_type, label_types[i]) == 0)
            return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "LABEL_TYPE is '%s', expected standard, sample_index or zero",
            c->label_type);
}

// Decides the columns of labels: the source's, or those that a transform or the collator makes.
static SrStatus make_targets(SrLoader *l) {
    const SrLoaderConfig *c = &l->config;
    bool standard = strcmp(c->label_type, "standard") == 0;
    int asked = SR_MAX(l->collation.plan.n_targets, sr_pipeline_targets(c->pipeline));
    l->has_targets = c->dataset->targets && standard && c->dataset->targets(c->set, 0);
    int classes = c->dataset->classes ? c->dataset->classes(c->set) : 0;
    l->n_targets = l->has_targets ? classes : standard ? asked : 0;
    if (l->n_targets > 0 && sr_extras_find(&l->collation.plan.extras, SR_EXTRA_LABEL, 0) >= 0)
        SR_FAIL(
            SR_ERR_CONFIG,
            "COLLATE_FUNCTION %s needs images of one class each, but the labels have %d columns",
            l->collation.collator->name, l->n_targets);
    if (!standard || asked == 0 || (l->has_targets ? asked == classes : asked >= classes))
        return SR_OK;
    SR_FAIL(
        SR_ERR_CONFIG,
        "num_classes is %d (OneHotEncode, targets_one_hot_default_collator), but the images have "
        "%d classes",
        asked, classes);
}

// Number of batches over all shares.
static int64_t all_batches(const SrLoader *l) {
    int64_t batch = l->config.batch;
    return l->config.drop_last ? l->n / batch : (l->n + batch - 1) / batch;
}

static void count_batches(SrLoader *l) {
    const SrLoaderConfig *c = &l->config;
    l->batches = sr_share_count(c->share, all_batches(l));
    l->items = l->batches * c->batch;
    if (l->batches > 0 && sr_share_batch(c->share, l->batches - 1) == l->n / c->batch)
        l->items -= c->batch - l->n % c->batch; // the smaller last batch is in this share
    l->next_batch = l->batches;                 // no epoch has started: nothing to give
}

SrSubset sr_loader_subset(const SrLoaderConfig *c) {
    return (SrSubset){.dataset = c->dataset,
                      .set = c->set,
                      .limit = c->limit,
                      .limit_balanced = c->limit_balanced,
                      .limit_seed = c->limit_seed,
                      .limit_skip = c->limit_skip};
}

// Everything about an epoch that does not change from one to the next.
static SrStatus make_epoch(SrLoader *l) {
    const SrLoaderConfig *c = &l->config;
    const SrSubset chosen = sr_loader_subset(c);
    SR_TRY(sr__sampler_subset(&chosen, &l->subset, &l->n));
    count_batches(l);
    if (all_batches(l) == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%lld images do not fill one batch of %d: lower BATCHSIZE_PER_REPLICA to at most "
                "%lld",
                (long long)l->n, c->batch, (long long)l->n);
    l->order = sr_alloc(sizeof *l->order * (size_t)l->n);
    SR_TRY_MEMORY(l->order, "the order of %lld images", (long long)l->n);
    if (c->collation) {
        l->collation = *c->collation;
        return make_targets(l);
    }
    SrBatchPlan *plan = &l->collation.plan;
    SR_TRY(sr_pipeline_shape(c->pipeline, &plan->n_views, plan->h, plan->w));
    plan->channels = sr_pipeline_form(c->pipeline).channels;
    SR_TRY(sr_batch_plan_list(plan, "data"));
    return make_targets(l);
}

// sr_loader_free copes with any half-made loader, so there is one way out.
SrStatus sr_loader_new(const SrLoaderConfig *config, SrLoader **out) {
    *out = NULL;
    SR_TRY(check_config(config));
    SrLoader *l = sr_calloc(1, sizeof *l);
    SR_TRY_MEMORY(l, "a loader");
    l->config = *config;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->ready, NULL);
    SrStatus status = make_epoch(l);
    l->n_threads = config->threads; // sets the ring's size; make_threads counts again
    if (status == SR_OK)
        status = make_slots(l);
    l->n_threads = 0;
    if (status == SR_OK)
        status = make_threads(l, config->threads);
    if (status != SR_OK) {
        sr_loader_free(l);
        return status;
    }
    *out = l;
    return SR_OK;
}

// Workers finish the image they are at and see `quit`; nothing is ever cancelled.
void sr_loader_free(SrLoader *l) {
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->n_threads; i++)
        pthread_join(l->thread[i], NULL);
    for (int i = 0; i < l->n_pools; i++)
        sr_image_pool_free(l->pool[i]);
    for (int i = 0; l->slot && i < l->n_slots; i++)
        if (l->slot[i].block)
            sr_unmap(l->slot[i].block, l->block_bytes);
    pthread_cond_destroy(&l->ready);
    pthread_cond_destroy(&l->work);
    pthread_mutex_destroy(&l->lock);
    sr_free(l->thread);
    sr_free(l->pool);
    sr_free(l->slot);
    sr_free(l->order);
    sr_free(l->subset);
    sr_free(l);
}

int64_t sr_loader_length(const SrLoader *l) {
    return l->config.drop_last ? l->n / l->config.batch * l->config.batch : l->n;
}

int64_t sr_loader_samples(const SrLoader *l) { return l->n; }

int64_t sr_loader_batches(const SrLoader *l) { return l->batches; }

int sr_loader_targets(const SrLoader *l) { return l->n_targets; }

int sr_loader_batch(const SrLoader *l) { return l->config.batch; }

int64_t sr_loader_in_set(const SrLoader *l, int64_t index) {
    return l->subset ? l->subset[index] : index;
}

// ---- an epoch ----

// In a subset (DATA_LIMIT) items are no longer neighbours on disk, so runs are not used.
SrStatus sr_loader_order(const SrLoader *l, int64_t epoch, uint32_t *order) {
    const SrLoaderConfig *c = &l->config;
    SrRuns runs = {.n = 0};
    if (c->shuffle && !l->subset && c->dataset->runs)
        runs.first = c->dataset->runs(c->set, &runs.n);
    if (runs.n)
        return sr__sampler_runs(c->seed, epoch, runs, SR_MAX(c->replicas, 1), c->batch, order,
                                l->n);
    sr__sampler_order(c->seed, epoch, c->shuffle, order, l->n);
    return SR_OK;
}

// Needs the lock.  Stops taking items and waits for those in flight, which still write into slots.
static void stand_still(SrLoader *l) {
    l->end_item = l->next_item;
    while (l->in_flight)
        pthread_cond_wait(&l->ready, &l->lock);
    SR_ASSERT(l->next_item == l->end_item);
}

void sr_loader_set_share(SrLoader *l, SrShare share) {
    pthread_mutex_lock(&l->lock);
    stand_still(l);
    l->config.share = share;
    count_batches(l);
    pthread_mutex_unlock(&l->lock);
}

SrStatus sr_loader_start(SrLoader *l, int64_t epoch, int64_t first) {
    if (first < 0 || first > l->batches)
        SR_FAIL(SR_ERR_CONFIG, "cannot start at batch %lld of %lld", (long long)first,
                (long long)l->batches);
    pthread_mutex_lock(&l->lock);
    stand_still(l);
    SrStatus status = sr_loader_order(l, epoch, l->order);
    if (status != SR_OK) {
        pthread_mutex_unlock(&l->lock);
        return status;
    }
    for (int i = 0; i < l->n_slots; i++)
        l->slot[i].number = -1;
    l->epoch = epoch;
    l->next_batch = first;
    l->free_below = first + l->n_slots;
    l->next_item = first * l->config.batch;
    l->end_item = l->items;
    l->epoch_seen = l->epoch_bad = 0;
    l->failed = SR_OK;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return SR_OK;
}

// Counts the batch.  Fails if too many of the epoch's images were bad so far.
static SrStatus count_batch(SrLoader *l, const SrLoaderSlot *slot) {
    l->seen += slot->items;
    l->bad += slot->bad;
    l->epoch_seen += slot->items;
    l->epoch_bad += slot->bad;
    bool believed = l->epoch_seen >= EARLY_SEEN || l->next_batch + 1 == l->batches;
    if (!believed || (double)l->epoch_bad <= l->config.max_bad_share * (double)l->epoch_seen)
        return SR_OK;
    SR_FAIL(SR_ERR_RUN,
            "%lld of %lld images could not be read, more than the share of %g that "
            "MAX_BAD_IMAGE_SHARE allows; the first one: %s",
            (long long)l->epoch_bad, (long long)l->epoch_seen, l->config.max_bad_share,
            l->n_listed ? l->listed[0] : "?");
}

// The slot may still hold an older batch that the caller has given back.
static bool complete(const SrLoader *l, const SrLoaderSlot *slot) {
    return slot->number == l->next_batch && slot->ready;
}

// Needs the lock.  Returns when the batch is complete; without workers the caller does the work.
static SrStatus wait_batch(SrLoader *l, const SrLoaderSlot *slot) {
    while (l->failed == SR_OK && !complete(l, slot)) {
        if (!l->n_threads)
            do_item(l, l->pool[0]);
        else
            pthread_cond_wait(&l->ready, &l->lock);
    }
    if (l->failed != SR_OK)
        SR_FAIL(l->failed, "%s", l->failure);
    return count_batch(l, slot);
}

SrStatus sr_loader_next(SrLoader *l, const SrBatch **batch, double *wait_s) {
    double start = sr_clock();
    SrStatus status = SR_OK;
    *batch = NULL;
    pthread_mutex_lock(&l->lock);
    if (l->next_batch < l->batches) {
        // The caller gives the previous batch back: its slot becomes the one furthest ahead.
        SrLoaderSlot *slot = slot_of(l, l->next_batch);
        l->free_below = l->next_batch + l->n_slots;
        pthread_cond_broadcast(&l->work);
        status = wait_batch(l, slot);
        SR_ASSERT(status != SR_OK || slot->items == batch_size(l, l->next_batch));
        l->next_batch += status == SR_OK;
        *batch = status == SR_OK ? &slot->batch : NULL;
    }
    pthread_mutex_unlock(&l->lock);
    if (wait_s)
        *wait_s = sr_clock() - start;
    return status;
}

void sr_loader_bad(const SrLoader *loader, SrBadReport *out) {
    SrLoader *l = (SrLoader *)loader; // only to take its lock
    pthread_mutex_lock(&l->lock);
    *out = (SrBadReport){.seen = l->seen,
                         .bad = l->bad,
                         .epoch_seen = l->epoch_seen,
                         .epoch_bad = l->epoch_bad,
                         .n_listed = l->n_listed};
    for (int i = 0; i < l->n_listed; i++)
        out->listed[i] = l->listed[i];
    pthread_mutex_unlock(&l->lock);
}
