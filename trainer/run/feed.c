// Copies batches of a loader to a plan's inputs, and keeps the features of a frozen trunk.
#include "trainer/run/feed.h"
#include "base/bar.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/machine.h"
#include "base/ranks/comm.h"

#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/load/loader.h"
#include "data/load/sampler.h"
#include "trainer/data/data_split.h"

// ---- keeping

static void forget(SrFeed *f) {
    if (f->rows && f->on_disk)
        sr_file_unmap_temporary(f->rows, f->bytes);
    else if (f->rows)
        sr_unmap(f->rows, f->bytes);
    sr_free(f->labels);
    sr_free(f->batch_labels);
    sr_free(f->order);
    f->rows = NULL;
    f->labels = f->batch_labels = NULL;
    f->order = NULL;
}

void sr_feed_close(SrFeed *f) {
    forget(f);
    *f = (SrFeed){0};
}

// Returns the number of labels per image.
static size_t label_length(const SrFeed *f) { return (size_t)SR_MAX(f->n_targets, 1); }

// Allocates the features in memory if that leaves half of it free, else in a file, which is read
// through the page cache.
static SrStatus make_room(SrFeed *f, SrCacheKind kind, const char *dir) {
    size_t available = sr_memory_available();
    char text[32];
    f->bytes = (size_t)f->n * (size_t)f->row * sizeof(float);
    f->on_disk = kind == SR_CACHE_DISK ||
                 (kind == SR_CACHE_AUTO && available > 0 && f->bytes > available / 2);
    if (f->on_disk)
        SR_TRY(sr_file_map_temporary(dir, f->bytes, (void **)&f->rows));
    else
        f->rows = sr_map(f->bytes);
    f->labels = sr_calloc((size_t)f->n * label_length(f) + 1, sizeof *f->labels);
    f->batch_labels = sr_calloc((size_t)f->batch * label_length(f), sizeof *f->batch_labels);
    f->order = sr_calloc((size_t)sr_loader_samples(f->loader) + 1, sizeof *f->order);
    if (f->rows && f->labels && f->batch_labels && f->order)
        return SR_OK;
    return sr_out_of_memory("%s of features; set MODEL.FEATURE_EVAL_SETTINGS."
                            "CACHE_FEATURES to disk or off",
                            sr_bytes_text((double)f->bytes, text, sizeof text));
}

// Copies the trunk's output to the rows from `at` on.
static void keep_batch(SrFeed *f, const SrBatch *batch, int64_t at) {
    SR_ASSERT(at >= 0 && at + batch->batch <= f->n);
    int64_t offset = 0;
    for (int i = 0; i < f->trunk->taps.n; i++) {
        int64_t row = sr_feature_source_floats(f->trunk, i);
        const float *x = sr_feature_source_value(f->trunk, i).data;
        for (int k = 0; k < batch->batch; k++)
            memcpy(f->rows + (at + k) * f->row + offset, x + k * row, (size_t)row * sizeof *x);
        offset += row;
    }
    memcpy(f->labels + (size_t)at * label_length(f), batch->label,
           (size_t)batch->batch * label_length(f) * sizeof *f->labels);
}

static SrStatus fill_batch(SrFeed *f, SrLoader *loader, int64_t at) {
    const SrBatch *batch;
    double wait_s;
    if (at >= f->n)
        return SR_OK;
    SR_TRY(sr_loader_next(loader, &batch, &wait_s));
    if (!batch || batch->batch > f->n - at)
        SR_FAIL(SR_ERR_RUN, "the loader gave other than its %lld images", (long long)f->n);
    sr_feature_source_run(f->trunk, batch->view[0], batch->batch);
    keep_batch(f, batch, at);
    return SR_OK;
}

// Computes all features.  Ranks take batches in turn, and then exchange all rows.
static SrStatus fill(SrFeed *f, SrLoader *loader) {
    SrShare turns = sr_split_turns();
    int64_t each = sr_loader_batch(loader), round = each * turns.of;
    SrBar bar;
    sr_bar_begin(&bar, "features of images", f->n);
    sr_loader_set_share(loader, turns);
    SR_TRY(sr_loader_start(loader, 0, 0));
    for (int64_t done = 0; done < f->n; done += round) {
        SR_TRY(sr_comm_agree(fill_batch(f, loader, done + turns.first * each)));
        sr_comm_share_rows(f->rows, (size_t)f->row * sizeof *f->rows, done, each, f->n);
        sr_comm_share_rows(f->labels, label_length(f) * sizeof *f->labels, done, each, f->n);
        sr_bar_at(&bar, SR_MIN(done + round, f->n));
    }
    sr_bar_end(&bar);
    return SR_OK;
}

SrStatus sr_feed_keep(SrFeed *f, SrLoader *in_order, SrCacheKind kind, const char *dir) {
    char text[32];
    double began = sr_clock();
    f->n = sr_loader_length(in_order);
    f->n_targets = sr_loader_targets(in_order);
    f->row = 0;
    for (int i = 0; i < f->trunk->taps.n; i++)
        f->row += sr_feature_source_floats(f->trunk, i);
    SrStatus status = make_room(f, kind, dir);
    if (status == SR_OK)
        status = fill(f, in_order);
    if (status != SR_OK)
        forget(f);
    else
        sr_info("features of %lld images kept %s (%s, %.1f s)", (long long)f->n,
                f->on_disk ? "on disk" : "in memory",
                sr_bytes_text((double)f->bytes, text, sizeof text), sr_clock() - began);
    return status;
}

// ---- feeding

SrStatus sr_feed_start(SrFeed *f, int64_t epoch, int64_t first) {
    if (!f->rows)
        return sr_loader_start(f->loader, epoch, first);
    f->next = first;
    return sr_loader_order(f->loader, epoch, f->order);
}

// The plan has no memory for an input that nothing reads.
static void copy_in(const SrFeedTarget *to, SrNodeId input, const void *from, size_t bytes) {
    void *data = input == SR_NO_NODE ? NULL : sr_plan_input(to->plan, input).data;
    if (data)
        memcpy(data, from, bytes);
}

static void next_kept(SrFeed *f, const SrFeedTarget *to, int n) {
    int64_t offset = 0, *index = NULL;
    SR_ASSERT(f->at >= 0 && n > 0 && f->at + n <= f->n);
    for (int i = 0; i < to->n_inputs; i++) {
        SrTensor x = sr_plan_input(to->plan, to->inputs[i]);
        int64_t row = sr_shape_count(x.shape) / x.shape.d[0];
        for (int k = 0; k < n && x.data; k++)
            memcpy((float *)x.data + k * row, f->rows + f->order[f->at + k] * f->row + offset,
                   (size_t)row * sizeof(float));
        offset += row;
    }
    for (int k = 0; k < n; k++)
        memcpy(f->batch_labels + (size_t)k * label_length(f),
               f->labels + (size_t)f->order[f->at + k] * label_length(f),
               label_length(f) * sizeof(int64_t));
    copy_in(to, to->labels, f->batch_labels, (size_t)n * label_length(f) * sizeof(int64_t));
    if (to->sample_index != SR_NO_NODE)
        index = sr_plan_input(to->plan, to->sample_index).data;
    for (int k = 0; index && k < n; k++)
        index[k] = f->order[f->at + k];
}

static void copy_inputs(SrFeed *f, const SrFeedTarget *to, const SrBatch *batch) {
    size_t n = (size_t)batch->batch;
    for (int i = 0; i < to->n_inputs; i++) {
        SrTensor x = sr_plan_input(to->plan, to->inputs[i]);
        // Rows of one image lie together, so that a smaller batch fills the first rows.
        size_t row = (size_t)(sr_shape_count(x.shape) / x.shape.d[0]) * sizeof(float);
        if (f->trunk)
            copy_in(to, to->inputs[i], sr_feature_source_value(f->trunk, i).data, n * row);
        else
            copy_in(to, to->inputs[i], batch->view[i], n * (size_t)batch->rows[i] * row);
    }
}

void sr_feed_copy(SrFeed *f, const SrFeedTarget *to, const SrBatch *batch) {
    size_t n = (size_t)batch->batch;
    if (f->trunk)
        sr_feature_source_run(f->trunk, batch->view[0], batch->batch);
    copy_inputs(f, to, batch);
    if (to->also && !f->trunk)
        copy_inputs(f, to->also, batch);
    copy_in(to, to->labels, batch->label,
            n * (size_t)SR_MAX(batch->n_targets, 1) * sizeof(int64_t));
    copy_in(to, to->sample_index, batch->index, n * sizeof(int64_t));
    for (int i = 0; i < to->n_extras; i++) {
        SrTensor x = sr_plan_input(to->plan, to->extras[i].input);
        size_t row = (size_t)(sr_shape_count(x.shape) / x.shape.d[0]) * sr_dtype_bytes(x.dtype);
        copy_in(to, to->extras[i].input, batch->extra[to->extras[i].extra], n * row);
    }
}

SrStatus sr_feed_next(SrFeed *f, const SrFeedTarget *to, int *rows, const int64_t **labels,
                      double *wait_s) {
    *wait_s = 0;
    if (!f->rows) {
        const SrBatch *batch;
        SR_TRY(sr_loader_next(f->loader, &batch, wait_s));
        *rows = batch ? batch->batch : 0;
        *labels = batch ? batch->label : NULL;
        if (batch)
            sr_feed_copy(f, to, batch);
        return SR_OK;
    }
    f->at = sr_share_batch(f->share, f->next++) * f->batch;
    *rows = (int)SR_MIN(f->n - f->at, f->batch);
    if (*rows < (f->drop_last ? f->batch : 1)) {
        *rows = 0;
        return SR_OK;
    }
    next_kept(f, to, *rows);
    *labels = f->batch_labels;
    return SR_OK;
}
