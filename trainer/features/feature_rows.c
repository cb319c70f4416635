// Passes over all images of a split, shared by ranks, through a source or over the pixels.
#include "trainer/features/feature_rows.h"

#include <string.h>

#include "base/bar.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "base/stop.h"
#include "data/load/loader.h"
#include "data/pipeline.h"

static SrStatus make_targets(SrMatrix *f, int classes) {
    if (classes == 0)
        return SR_OK;
    f->n_targets = classes;
    f->target = sr_calloc((size_t)f->n, (size_t)classes);
    return f->target ? SR_OK : sr_out_of_memory("the labels of %lld images", (long long)f->n);
}

// Passes over all images.  Rows stand at their images' places until all are computed.
typedef struct {
    SrMatrix *f;
    const SrSplit *split;
    SrLoader *loader;
    SrShare share;  // this rank's batches.  of 0: all
    int64_t each;   // images per whole batch
    int8_t *valid;  // (n)
    int passes;     // crops per image that a row is the mean of; 1 for whole images
    int pass;       // number of this pass, from 0: it reads crop `pass` of each image
    float *crop;    // (each, d) rows of a batch in later passes
    int64_t passed; // images of all rounds of this pass so far
} Filling;

// Writes the rows of one batch, (batch->batch, D), D the matrix's columns.
typedef void (*RowsOfBatch)(void *arg, const SrBatch *batch, float *rows);

static int ranks_of(const Filling *p) { return SR_MAX(p->share.of, 1); }

// Returns the failure of the first rank on all ranks that share the split, else this rank's own.
static SrStatus together(const SrSplit *split, SrStatus status) {
    return split->shared ? sr_comm_agree(status) : status;
}

// With several labels per image, `label` is -1.
static void keep_labels(Filling *p, const SrBatch *batch, int64_t at) {
    SrMatrix *f = p->f;
    for (int i = 0; i < batch->batch; i++) {
        p->valid[at + i] = batch->valid[i];
        f->label[at + i] = batch->n_targets ? -1 : batch->label[i];
        for (int c = 0; c < batch->n_targets; c++)
            f->target[(at + i) * f->n_targets + c] =
                (int8_t)batch->label[(int64_t)i * batch->n_targets + c];
    }
}

// Writes the rows of a batch in the first pass, and adds them in later ones.
static void add_rows(Filling *p, RowsOfBatch rows_of, void *arg, const SrBatch *batch,
                     float *rows /* (batch->batch, d) */) {
    if (p->pass == 0) {
        rows_of(arg, batch, rows);
        return;
    }
    rows_of(arg, batch, p->crop);
    for (int64_t i = 0; i < (int64_t)batch->batch * p->f->d; i++)
        rows[i] += p->crop[i];
}

static SrStatus own_batch(Filling *p, RowsOfBatch rows_of, void *arg) {
    int64_t at = p->passed + p->share.first * p->each;
    const SrBatch *batch;
    double wait_s;
    if (at >= p->f->n)
        return SR_OK;
    SR_TRY(sr_loader_next(p->loader, &batch, &wait_s));
    if (!batch || batch->batch != SR_MIN(p->each, p->f->n - at))
        SR_FAIL(SR_ERR_RUN, "the loader gave other than its %lld images", (long long)p->f->n);
    add_rows(p, rows_of, arg, batch, p->f->x + at * p->f->d);
    keep_labels(p, batch, at);
    return SR_OK;
}

// A failure of one rank ends the pass on all ranks.
static SrStatus one_round(Filling *p, RowsOfBatch rows_of, void *arg) {
    SrMatrix *f = p->f;
    SR_TRY(together(p->split, own_batch(p, rows_of, arg)));
    if (ranks_of(p) == 1)
        return SR_OK;
    sr_comm_share_rows(f->x, (size_t)f->d * sizeof *f->x, p->passed, p->each, f->n);
    sr_comm_share_rows(f->label, sizeof *f->label, p->passed, p->each, f->n);
    sr_comm_share_rows(p->valid, sizeof *p->valid, p->passed, p->each, f->n);
    if (f->target)
        sr_comm_share_rows(f->target, (size_t)f->n_targets, p->passed, p->each, f->n);
    return SR_OK;
}

// Drops images that could not be read.  No rows at all are an error: figures of them would be
// zeros that look measured.
static SrStatus drop_bad(Filling *p, const char *path) {
    int64_t images = p->f->n;
    SrBadReport bad;
    sr_matrix_keep(p->f, p->valid);
    if (p->f->n > 0 || images == 0)
        return SR_OK;
    sr_loader_bad(p->loader, &bad);
    SR_FAIL(SR_ERR_RUN, "%s: none of the %lld images could be read; the first: %s", path,
            (long long)images, bad.n_listed ? bad.listed[0] : "on another rank");
}

// Rows come in the loader's order, which for an evaluation is that of the set, so features line up
// with labels whatever the number of threads or ranks.
static SrStatus one_pass(Filling *p, RowsOfBatch rows_of, void *arg, SrBar *bar) {
    SR_TRY(together(p->split, sr_loader_start(p->loader, p->pass, 0)));
    for (p->passed = 0; p->passed < p->f->n;) {
        SR_TRY(sr_stop_check());
        SR_TRY(one_round(p, rows_of, arg));
        p->passed = SR_MIN(p->passed + p->each * ranks_of(p), p->f->n);
        sr_bar_at(bar, p->pass * p->f->n + p->passed);
    }
    return SR_OK;
}

static SrStatus fill(Filling *p, const char *path, RowsOfBatch rows_of, void *arg) {
    SrBar bar;
    sr_bar_begin(&bar, "features of images", p->passes * p->f->n);
    for (p->pass = 0; p->pass < p->passes; p->pass++)
        SR_TRY(one_pass(p, rows_of, arg, &bar));
    sr_bar_end(&bar);
    for (int64_t i = 0; p->passes > 1 && i < p->f->n * p->f->d; i++)
        p->f->x[i] /= (float)p->passes;
    return drop_bad(p, path);
}

// Allocates what a pass needs.
static SrStatus prepare(Filling *p, int classes) {
    SrMatrix *f = p->f;
    SR_TRY(make_targets(f, classes));
    p->valid = sr_calloc((size_t)f->n + 1, sizeof *p->valid);
    p->crop = sr_calloc(p->passes > 1 ? (size_t)(p->each * f->d) : 1, sizeof *p->crop);
    return p->valid && p->crop ? SR_OK : sr_out_of_memory("%lld images", (long long)f->n);
}

static SrStatus fill_rows(SrSplit *split, SrMatrix *f, RowsOfBatch rows_of, void *arg) {
    Filling p = {.f = f,
                 .split = split,
                 .loader = split->loader,
                 .each = sr_loader_batch(split->loader),
                 .passes = SR_MAX(split->crops, 1)};
    SrStatus status;
    SR_TRY_GOTO(together(split, prepare(&p, split->n_targets)));
    if (split->shared && sr_comm_size() > 1)
        p.share = sr_split_turns();
    sr_loader_set_share(split->loader, p.share);
    SR_TRY_GOTO(fill(&p, split->path, rows_of, arg));
done:
    sr_free(p.crop);
    sr_free(p.valid);
    return status;
}

// ---- through a source ---------------------------------------------------------------------------

// Returns the floats of layer i in a row.
static int64_t layer_length(const SrFeatureSource *s, int i) {
    int rows, columns, depth;
    if (!s->options.pooled)
        return sr_feature_source_floats(s, i);
    sr_stage_size(sr_feature_source_shape(s, i), &rows, &columns, &depth);
    return (int64_t)rows * columns * depth;
}

static int row_length(const SrFeatureSource *s) {
    int64_t d = s->stages.d;
    for (int i = 0; s->options.kind != SR_FEATURES_STAGES && i < s->taps.n; i++)
        d += layer_length(s, i);
    return (int)d;
}

static void rows_of_stages(const SrFeatureSource *s, int n, int d, float *rows) {
    SR_ASSERT(s->stages.n <= SR_STAGES_MAX && n <= s->options.batch && d == s->stages.d);
    SrTensor value[SR_STAGES_MAX];
    for (int k = 0; k < s->stages.n; k++)
        value[k] = sr_feature_source_value(s, k);
    for (int i = 0; i < n; i++)
        sr_stages_row(&s->stages, value, i, rows + (int64_t)i * d);
}

// Writes layer k of one image.
static void row_of_layer(const SrFeatureSource *s, int k, int image, float *row) {
    SrTensor value = sr_feature_source_value(s, k);
    SR_ASSERT(value.data && image >= 0 && image < s->options.batch);
    int64_t floats = sr_feature_source_floats(s, k);
    const float *x = (const float *)value.data + image * floats;
    int rows, columns, depth;
    if (!s->options.pooled) {
        memcpy(row, x, (size_t)floats * sizeof *row);
        return;
    }
    sr_stage_size(value.shape, &rows, &columns, &depth);
    int H = value.shape.rank > 2 ? value.shape.d[1] : 1;
    int W = value.shape.rank == 4 ? value.shape.d[2] : 1;
    sr_stage_pool(x, H, W, depth, rows, columns, row);
}

static void rows_of_source(void *arg, const SrBatch *batch, float *rows) {
    SrFeatureSource *s = arg;
    int d = row_length(s);
    sr_feature_source_run(s, batch->view[0], batch->batch);
    if (s->options.kind == SR_FEATURES_STAGES) {
        rows_of_stages(s, batch->batch, d, rows);
        return;
    }
    for (int k = 0; k < s->taps.n; k++) {
        for (int i = 0; i < batch->batch; i++)
            row_of_layer(s, k, i, rows + (int64_t)i * d);
        rows += layer_length(s, k);
    }
}

SrStatus sr_feature_rows(SrFeatureSource *s, SrSplit *split, SrMatrix *out) {
    SrStatus status =
        together(split, sr_matrix_init(out, sr_loader_length(split->loader), row_length(s)));
    if (status == SR_OK)
        status = fill_rows(split, out, rows_of_source, s);
    if (status != SR_OK)
        sr_matrix_deinit(out);
    return status;
}

static SrFeatureOptions options_of(SrModel *model, const SrSplit *split, int batch) {
    return (SrFeatureOptions){.model = model,
                              .live = true,
                              .batch = batch,
                              .height = split->h[0],
                              .width = split->w[0],
                              .meaning = SR_NAMES_STAGES};
}

SrStatus sr_feature_rows_of_model(SrModel *model, const char *layer, SrStages *stages,
                                  SrSplit *split, int batch, SrMatrix *out) {
    SrFeatureSource s;
    SrFeatureOptions o = options_of(model, split, batch);
    *out = (SrMatrix){0};
    o.kind = stages ? SR_FEATURES_STAGES : SR_FEATURES_NAMED;
    o.layers = layer;
    SrStatus status = together(split, sr_feature_source_open(&o, &s));
    if (status == SR_OK && stages)
        *stages = s.stages;
    if (status == SR_OK)
        status = sr_feature_rows(&s, split, out);
    sr_feature_source_close(&s);
    return status;
}

SrStatus sr_feature_rows_pooled(SrModel *model, const char *layer, SrSplit *split, int batch,
                                SrMatrix *out) {
    SrFeatureSource s;
    SrFeatureOptions o = options_of(model, split, batch);
    *out = (SrMatrix){0};
    o.layers = layer;
    o.pooled = true;
    SrStatus status = together(split, sr_feature_source_open(&o, &s));
    if (status == SR_OK)
        status = sr_feature_rows(&s, split, out);
    sr_feature_source_close(&s);
    return status;
}

SrStatus sr_feature_rows_items(SrSplit *split, int64_t n, int64_t *item, int64_t *found) {
    const SrBatch *batch;
    *found = 0;
    SR_TRY(sr_loader_start(split->loader, 0, 0));
    for (;;) {
        SR_TRY(sr_loader_next(split->loader, &batch, NULL));
        if (!batch)
            return SR_OK;
        for (int i = 0; i < batch->batch; i++)
            if (batch->valid[i] >= 0 && *found < n)
                item[(*found)++] = sr_loader_in_set(split->loader, batch->index[i]);
    }
}

// ---- raw pixels ---------------------------------------------------------------------------------

typedef struct {
    int h, w;   // pixels of the view
    int s;      // side of a square that is averaged
    int oh, ow; // squares per column and row
    int C;      // channels
} Pixels;

// Averages s x s squares; the last rows and columns that fill none are left out.
static void average_pixels(const Pixels *p, const float *x /* (h, w, C) */,
                           float *y /* (oh, ow, C) */) {
    float scale = 1.0f / (float)(p->s * p->s);
    for (int i = 0; i < p->oh * p->ow * p->C; i++) {
        int c = i % p->C, col = i / p->C % p->ow, row = i / p->C / p->ow;
        float sum = 0;
        for (int k = 0; k < p->s * p->s; k++)
            sum += x[((row * p->s + k / p->s) * p->w + col * p->s + k % p->s) * p->C + c];
        y[i] = sum * scale;
    }
}

static void rows_of_pixels(void *arg, const SrBatch *batch, float *rows) {
    const Pixels *p = arg;
    for (int i = 0; i < batch->batch; i++)
        average_pixels(p, batch->view[0] + (size_t)i * (size_t)(p->h * p->w * p->C),
                       rows + (size_t)i * (size_t)(p->oh * p->ow * p->C));
}

// Large images are averaged down because raw pixels at 224 x 224 are 150,000 floats per row, and
// the little that they say lies in their coarse structure.
SrStatus sr_feature_rows_of_pixels(SrSplit *split, SrMatrix *out) {
    Pixels p = {.h = split->h[0],
                .w = split->w[0],
                .C = sr_channels(sr_pipeline_form(split->pipeline).channels)};
    p.s = (SR_MAX(p.h, p.w) + SR_PIXELS_MAX_SIDE - 1) / SR_PIXELS_MAX_SIDE;
    p.oh = p.h / p.s;
    p.ow = p.w / p.s;
    SrStatus status =
        together(split, sr_matrix_init(out, sr_loader_length(split->loader), p.oh * p.ow * p.C));
    if (status == SR_OK)
        status = fill_rows(split, out, rows_of_pixels, &p);
    if (status != SR_OK)
        sr_matrix_deinit(out);
    return status;
}
