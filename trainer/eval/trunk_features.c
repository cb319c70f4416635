// Feature extraction for evaluation: plan forward, rows copied out.  The tap may have any shape (N,
// ...).
#include "trainer/eval/trunk_features.h"

#include <string.h>

#include "base/bar.h"
#include "base/comm.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/stop.h"

static SrStatus make_targets(SrMatrix *f, int classes) {
    if (classes == 0)
        return SR_OK;
    f->n_targets = classes;
    f->target = sr_calloc((size_t)f->n, (size_t)classes);
    return f->target ? SR_OK
                     : sr_fail(SR_ERR_MEMORY, "out of memory for the labels of %lld images",
                               (long long)f->n);
}

// A pass over all images.  Rows lie where their images do until all are there.
typedef struct {
    SrMatrix *f;
    SrLoader *loader;
    SrShare share;  // of the batches; of 0: all are ours
    int64_t each;   // images of a whole batch
    int8_t *valid;  // (n)
    int64_t passed; // images of all rounds so far
} Filling;

static int ranks_of(const Filling *p) { return SR_MAX(p->share.of, 1); }

// With several labels an image `label` says none.
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

static SrStatus own_batch(Filling *p, SrRowsOfBatch rows_of, void *arg) {
    int64_t at = p->passed + p->share.first * p->each;
    const SrBatch *batch;
    double wait_s;
    if (at >= p->f->n)
        return SR_OK;
    SR_TRY(sr_loader_next(p->loader, &batch, &wait_s));
    if (!batch || batch->batch != SR_MIN(p->each, p->f->n - at))
        SR_FAIL(SR_ERR_RUN, "the loader gave other than its %lld images", (long long)p->f->n);
    rows_of(arg, batch, p->f->x + at * p->f->d);
    keep_labels(p, batch, at);
    return SR_OK;
}

// What one rank fails of ends the pass on all.
static SrStatus one_round(Filling *p, SrRowsOfBatch rows_of, void *arg) {
    SrMatrix *f = p->f;
    SrStatus status = own_batch(p, rows_of, arg);
    if (ranks_of(p) == 1)
        return status;
    SR_TRY(sr_comm_agree(status));
    sr_comm_share_rows(f->x, (size_t)f->d * sizeof *f->x, p->passed, p->each, f->n);
    sr_comm_share_rows(f->label, sizeof *f->label, p->passed, p->each, f->n);
    sr_comm_share_rows(p->valid, sizeof *p->valid, p->passed, p->each, f->n);
    if (f->target)
        sr_comm_share_rows(f->target, (size_t)f->n_targets, p->passed, p->each, f->n);
    return SR_OK;
}

// Images that could not be read leave no row.  Figures of no rows would be zeros that look
// measured.
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
static SrStatus fill(Filling *p, const char *path, SrRowsOfBatch rows_of, void *arg) {
    SrBar bar;
    SR_TRY(sr_loader_start(p->loader, 0, 0));
    sr_bar_begin(&bar, "features of images", p->f->n);
    while (p->passed < p->f->n) {
        SR_TRY(sr_stop_check());
        SR_TRY(one_round(p, rows_of, arg));
        p->passed = SR_MIN(p->passed + p->each * ranks_of(p), p->f->n);
        sr_bar_at(&bar, p->passed);
    }
    sr_bar_end(&bar);
    return drop_bad(p, path);
}

SrStatus sr_trunk_features_fill(SrSplit *split, SrMatrix *f, SrRowsOfBatch rows_of, void *arg) {
    Filling p = {.f = f, .loader = split->loader, .each = sr_loader_batch(split->loader)};
    SR_TRY(make_targets(f, split->n_targets));
    p.valid = sr_calloc((size_t)f->n + 1, sizeof *p.valid);
    if (!p.valid)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %lld images", (long long)f->n);
    if (split->shared && sr_comm_size() > 1)
        p.share = sr_split_turns();
    sr_loader_set_share(split->loader, p.share);
    SrStatus status = fill(&p, split->path, rows_of, arg);
    sr_free(p.valid);
    return status;
}

// ---- through the trunk --------------------------------------------------------------------------

typedef struct {
    SrGraph *graph;
    SrPlan *plan;
    SrTensor input; // (N, H, W, 3)
    SrTensor tap;   // (N, ...)
    int64_t passes;
} Trunk;

// The graph stays the model's; only the plan's memory is given back afterwards.
static SrStatus trunk_open(Trunk *t, SrModel *model, const char *layer, const SrSplit *split,
                           int batch, SrMode mode) {
    SrNodeId input, tap;
    *t = (Trunk){0};
    SR_TRY(sr_model_build_eval(model, batch, split->h[0], split->w[0], layer, &t->graph, &input,
                               &tap));
    SR_TRY(sr_params_allocate(sr_model_params(model)));
    SrPlanOptions options = {.mode = mode,
                             .outputs = &tap,
                             .n_outputs = 1,
                             .machine = sr_model_machine(model),
                             .bf16 = sr_model_bf16(model)};
    SR_TRY(sr_plan_compile(t->graph, &options, &t->plan));
    t->input = sr_plan_input(t->plan, input);
    t->tap = sr_plan_output(t->plan, tap);
    return SR_OK;
}

// A tap of (N, H, W, C) is compared as one long vector.
static int row_length(SrTensor tap) { return (int)(sr_shape_count(tap.shape) / tap.shape.d[0]); }

// A last batch that is not full leaves old images in the plan's other rows; they are computed and
// not read.
static void rows_of_trunk(void *arg, const SrBatch *batch, float *rows) {
    Trunk *t = arg;
    size_t image = (size_t)sr_shape_count(t->input.shape) / (size_t)t->input.shape.d[0];
    memcpy(t->input.data, batch->view[0], (size_t)batch->batch * image * sizeof(float));
    sr_plan_forward(t->plan, t->passes++);
    if (rows)
        memcpy(rows, t->tap.data,
               (size_t)batch->batch * (size_t)row_length(t->tap) * sizeof(float));
}

// Eval mode: batch norm with running statistics, so a row does not depend on its batch.
SrStatus sr_trunk_features_extract(SrModel *model, const char *layer, SrSplit *split, int batch,
                                   SrMatrix *out) {
    Trunk t;
    SrStatus status;
    *out = (SrMatrix){0};
    SR_TRY_GOTO(trunk_open(&t, model, layer, split, batch, SR_MODE_EVAL));
    SR_TRY_GOTO(sr_matrix_init(out, sr_loader_length(split->loader), row_length(t.tap)));
    SR_TRY_GOTO(sr_trunk_features_fill(split, out, rows_of_trunk, &t));
done:
    sr_plan_free(t.plan);
    if (status != SR_OK)
        sr_matrix_deinit(out);
    return status;
}

// Momentum 0.1 forgets the initial mean 0 and variance 1 at 0.9 a pass.
SrStatus sr_trunk_features_calibrate(SrModel *model, const char *layer, SrSplit *split, int batch,
                                     int batches) {
    Trunk t;
    SrStatus status;
    SR_TRY_GOTO(trunk_open(&t, model, layer, split, batch, SR_MODE_TRAIN));
    // As many epochs as it takes: a small set passes several times, in another order each.
    for (int64_t epoch = 0; t.passes < batches; epoch++) {
        const SrBatch *images = NULL;
        double wait_s;
        SR_TRY_GOTO(sr_loader_start(split->loader, epoch, 0));
        SR_TRY_GOTO(sr_loader_next(split->loader, &images, &wait_s));
        while (images && t.passes < batches) {
            rows_of_trunk(&t, images, NULL);
            SR_TRY_GOTO(sr_loader_next(split->loader, &images, &wait_s));
        }
    }
done:
    sr_plan_free(t.plan);
    return status;
}

// ---- raw pixels ---------------------------------------------------------------------------------

typedef struct {
    int h, w;   // of the view
    int s;      // side of the square averaged
    int oh, ow; // what is left
} Pixels;

// Mean over s x s squares; the last rows and columns that fill none are left out.
static void average_pixels(const Pixels *p, const float *x /* (h, w, 3) */,
                           float *y /* (oh, ow, 3) */) {
    float scale = 1.0f / (float)(p->s * p->s);
    for (int i = 0; i < p->oh * p->ow * 3; i++) {
        int c = i % 3, col = i / 3 % p->ow, row = i / 3 / p->ow;
        float sum = 0;
        for (int k = 0; k < p->s * p->s; k++)
            sum += x[((row * p->s + k / p->s) * p->w + col * p->s + k % p->s) * 3 + c];
        y[i] = sum * scale;
    }
}

// view: (batch, h, w, 3).
static void rows_of_pixels(void *arg, const SrBatch *batch, float *rows) {
    const Pixels *p = arg;
    for (int i = 0; i < batch->batch; i++)
        average_pixels(p, batch->view[0] + (size_t)i * (size_t)(p->h * p->w * 3),
                       rows + (size_t)i * (size_t)(p->oh * p->ow * 3));
}

// Large images are averaged down because raw pixels at 224 x 224 are 150,000 numbers a row, and
// what little they tell is in their coarse structure.
SrStatus sr_trunk_features_pixels(SrSplit *split, SrMatrix *out) {
    Pixels p = {.h = split->h[0], .w = split->w[0]};
    p.s = (SR_MAX(p.h, p.w) + SR_PIXELS_MAX_SIDE - 1) / SR_PIXELS_MAX_SIDE;
    p.oh = p.h / p.s;
    p.ow = p.w / p.s;
    SR_TRY(sr_matrix_init(out, sr_loader_length(split->loader), p.oh * p.ow * 3));
    SrStatus status = sr_trunk_features_fill(split, out, rows_of_pixels, &p);
    if (status != SR_OK)
        sr_matrix_deinit(out);
    return status;
}
