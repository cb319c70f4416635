// Loads one image into its place in a batch (decoding, transforms, labels) and finishes a complete
// batch (the collator).  loader.c has the order and the threads.
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "data/collation.h"
#include "data/collator.h"
#include "data/dataset.h"
#include "data/extras.h"
#include "data/image_form.h"
#include "data/image_pool.h"
#include "data/load/loader_internal.h"
#include "data/load/sampler.h"
#include "data/pipeline.h"
#include "data/transform.h"

// ---- one image ----

// Makes the grey image that VISSL puts in the place of an unreadable one; its `valid` is -1.  An
// image of floats has the mean of each channel.
static SrStatus gray_image(const SrLoader *l, SrImagePool *pool, SrImage *out) {
    int size = l->config.gray_size, C = sr_pipeline_form(l->config.pipeline).channels;
    if (C > 0) {
        SR_TRY(sr_image_new_floats(pool, size, size, C, out));
        for (int c = 0; c < C; c++) {
            float mean = (float)sr_pipeline_mean(l->config.pipeline, c);
            for (size_t i = (size_t)c; i < sr_image_samples(out); i += (size_t)C)
                out->f[i] = mean;
        }
        return SR_OK;
    }
    SR_TRY(sr_image_new(pool, size, size, out));
    memset(out->rgb, 128, (size_t)size * (size_t)size * 3);
    return SR_OK;
}

// SR_ERR_IO: this image is bad and may be replaced.  Any other error ends the run: failing memory,
// descriptors or disks say nothing about the image.
static SrStatus open_image(const SrLoader *l, int64_t i, SrImagePool *pool, SrImage *out,
                           const char **path) {
    SrSample sample = {.path = ""};
    SrStatus status = l->config.dataset->read(l->config.set, i, pool, &sample);
    *path = sample.path ? sample.path : "";
    SR_TRY(status);
    return sr_sample_image(&sample, sr_pipeline_form(l->config.pipeline).channels, pool, out);
}

// Needs the lock.  A bad file fails in every epoch and is listed once.
static void list_bad(SrLoader *l, const char *path, const char *reason) {
    char line[SR__LISTED_BYTES];
    // Messages about files already begin with what failed on which path.
    snprintf(line, sizeof line, "%s%s%s", strstr(reason, path) ? "" : path,
             strstr(reason, path) ? "" : ": ", reason);
    for (int i = 0; i < l->n_listed; i++)
        if (strcmp(l->listed[i], line) == 0)
            return;
    if (l->n_listed < SR__LISTED)
        memcpy(l->listed[l->n_listed++], line, sizeof line);
}

// Rows of a batch never overlap, so workers write without a lock.
static SrStatus write_views(const SrLoader *l, const SrViews *views) {
    const SrBatchPlan *plan = &l->collation.plan;
    if (views->n != plan->n_views)
        SR_FAIL(SR_ERR_RUN, "the transforms made %d views, but they announced %d", views->n,
                plan->n_views);
    for (int v = 0; v < plan->n_views; v++) {
        const SrImage *image = &views->view[v];
        SR_TRY(sr__view_fits(views, v));
        if (image->f != views->out[v])
            memcpy(views->out[v], image->f, sizeof(float) * sr_image_samples(image));
    }
    return SR_OK;
}

// LABEL_TYPE; sample_index counts within the subset, because memory banks are as long as that.
static int64_t label_of(const SrLoader *l, int64_t in_set, int64_t in_subset) {
    if (strcmp(l->config.label_type, "sample_index") == 0)
        return in_subset;
    if (strcmp(l->config.label_type, "zero") == 0)
        return 0;
    int64_t label = l->config.dataset->label(l->config.set, in_set);
    return l->config.class_map && label >= 0 ? l->config.class_map[label] : label;
}

// Writes an image's label: one number, or a column per class from the source or from its class.
static void write_label(const SrLoader *l, int64_t in_set, int64_t label, int row, SrBatch *batch) {
    int n = batch->n_targets;
    int64_t *to = batch->label + (int64_t)row * SR_MAX(n, 1);
    bool unlabelled = batch->valid[row] < 0 && l->config.unlabel_bad;
    if (n == 0) {
        *to = label;
        return;
    }
    const int8_t *targets =
        l->has_targets ? l->config.dataset->targets(l->config.set, in_set) : NULL;
    sr_one_hot(&label, 1, n, to);
    for (int c = 0; c < n && (unlabelled || targets); c++)
        to[c] = unlabelled ? -1 : targets[c];
}

// Finds the places of this image's views and extras in the batch.
static void place_views(const SrLoader *l, const SrLoaderSlot *slot, int row, SrViews *views,
                        void *extra[SR_MAX_EXTRAS]) {
    const SrBatchPlan *plan = &l->collation.plan;
    for (int v = 0; v < plan->n_views; v++) {
        views->out[v] = slot->batch.view[plan->place[v].input] + sr_batch_offset(plan, v, row);
        views->h[v] = plan->h[v];
        views->w[v] = plan->w[v];
    }
    for (int i = 0; i < plan->made.n; i++)
        extra[i] = NULL;
    for (int i = 0; i < plan->extras.n; i++)
        if (plan->extras.v[i].from >= 0)
            extra[plan->extras.v[i].from] = (char *)slot->batch.extra[i] +
                                            (size_t)row * sr_batch_extra_bytes(&plan->extras.v[i]);
}

// Position of this share's item number `item` in the order of all images.
static int64_t position_of(const SrLoader *l, int64_t item) {
    int64_t batch = sr_share_batch(l->config.share, item / l->config.batch);
    return batch * l->config.batch + item % l->config.batch;
}

SrStatus sr__loader_item(SrLoader *l, int64_t item, int64_t epoch, SrImagePool *pool,
                         SrLoaderSlot *slot, bool *bad) {
    int row = (int)(item % l->config.batch);
    int64_t index = l->order[position_of(l, item)], in_set = l->subset ? l->subset[index] : index;
    int64_t label = label_of(l, in_set, index);
    SrViews views = {.n = 1};
    const char *path;
    void *extra[SR_MAX_EXTRAS];
    place_views(l, slot, row, &views, extra);
    SrTransformContext ctx = {
        .seed = l->config.seed,
        .epoch = epoch,
        .sample = index,
        .fast = l->config.fast,
        .pool = pool,
        .label = &label,
        .extras = &l->collation.plan.made,
        .extra = extra,
    };
    sr_image_pool_reset(pool);
    SrStatus status = open_image(l, in_set, pool, &views.view[0], &path);
    if (status == SR_OK)
        status = sr_pipeline_apply(l->config.pipeline, &ctx, &views);
    *bad = status == SR_ERR_IO;
    if (*bad) {
        pthread_mutex_lock(&l->lock);
        list_bad(l, path, sr_status_message());
        pthread_mutex_unlock(&l->lock);
        views.n = 1;
        sr_image_pool_reset(pool); // the path was in the pool too
        path = "";
        SR_TRY(gray_image(l, pool, &views.view[0]));
        status = sr_pipeline_apply(l->config.pipeline, &ctx, &views);
    }
    if (status == SR_OK)
        status = write_views(l, &views);
    if (status != SR_OK && !(*path && strstr(sr_status_message(), path)))
        return sr_fail_prefix(status, "%s", *path ? path : "an image");
    SR_TRY(status);
    slot->batch.index[row] = index;
    slot->batch.valid[row] = *bad ? -1 : 1;
    write_label(l, in_set, *bad && l->config.unlabel_bad ? -1 : label, row, &slot->batch);
    return SR_OK;
}

// ---- a whole batch ----

// A label becomes the class with the largest share of a soft label, for measures that count
// classes.
static void label_by_targets(const SrBatchPlan *plan, SrBatch *batch) {
    int e = 0;
    while (e < plan->extras.n && strcmp(plan->extras.v[e].name, SR_EXTRA_LABEL) != 0)
        e++;
    if (e == plan->extras.n)
        return;
    int classes = plan->extras.v[e].shape.d[0];
    for (int i = 0; i < batch->batch; i++) {
        const float *q = (const float *)batch->extra[e] + (int64_t)i * classes;
        int64_t best = 0;
        for (int c = 1; c < classes; c++)
            best = q[c] > q[best] ? c : best;
        batch->label[i] = best;
    }
}

void sr__loader_collate(const SrLoader *l, int64_t epoch, SrLoaderSlot *slot) {
    const SrCollation *c = &l->collation;
    SrCollateContext ctx = {.seed = l->config.seed, .epoch = epoch, .number = slot->number};
    if (!c->collator || !c->collator->fill)
        return;
    c->collator->fill(c->params, &c->plan, &ctx, &slot->batch);
    label_by_targets(&c->plan, &slot->batch);
}
