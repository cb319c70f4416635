// Runs golden cases collator_cutmixup* and collators_more: images of a batch mixed with recorded
// draws, and the layouts of VISSL's masking collator.
//
// The cases draw labels for each view of an image separately, so each view is mixed as a batch of
// its own. VISSL repeats labels and indices by view. For ssl_method simclr or moco its data_idx
// is garbled; the images' own indices are expected instead.
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "data/collation.h"
#include "data/collators/cutmixup_collator.h"
#include "data/collators/mix.h"
#include "data/extras.h"
#include "tests/golden/golden.h"
#include "tests/golden/images.h"

enum { MAX_VIEWS = 16, MAX_IMAGES = 512 };

// ---- recorded draws

typedef struct {
    double number[4][MAX_IMAGES];
    int whole[4][MAX_IMAGES]; // one number per image from SR_MIX_H on
} View;

typedef struct {
    View view[MAX_VIEWS];
    const SrYaml *list; // each entry is [kind, arguments, value]
    int at;
} Replay;

static double number(void *arg, SrMixNumber what, int v, int i, double alpha) {
    (void)alpha;
    return ((Replay *)arg)->view[v].number[what][i];
}

static int whole(void *arg, SrMixNumber what, int v, int i, int low, int high) {
    (void)low, (void)high;
    return ((Replay *)arg)->view[v].whole[what - SR_MIX_H][i];
}

static bool next_is(const Replay *r, const char *kind) {
    return r->at < r->list->n && strcmp(r->list->items[r->at]->items[0]->text, kind) == 0;
}

// Takes the next draw: one number, or one per image.
static void take(Replay *r, double *out) {
    const SrYaml *value = r->list->items[r->at++]->items[2];
    if (value->type != SR_YAML_LIST)
        out[0] = value->f;
    for (int i = 0; value->type == SR_YAML_LIST && i < value->n && i < MAX_IMAGES; i++)
        out[i] = value->items[i]->f;
}

// Takes the draws of one box. The size comes before the place, and only boxes by share draw a
// size.
static void take_box(Replay *r, View *view, int i, bool by_share) {
    for (int k = by_share ? 0 : 2; k < 4 && next_is(r, "randint"); k++)
        view->whole[k][i] = (int)r->list->items[r->at++]->items[2]->i;
    r->at += next_is(r, "box yl yh xl xh, lam");
}

static bool is_cut(const SrMix *mix, const View *view, int i) {
    return mix->cutmix_alpha > 0 && view->number[SR_MIX_APPLY][i] < mix->prob &&
           (mix->mixup_alpha <= 0 || view->number[SR_MIX_SWITCH][i] < mix->switch_prob);
}

static void take_batch(Replay *r, const SrMix *mix, View *view) {
    take(r, view->number[SR_MIX_APPLY]);
    if (!(view->number[SR_MIX_APPLY][0] < mix->prob))
        return;
    if (mix->mixup_alpha > 0 && mix->cutmix_alpha > 0)
        take(r, view->number[SR_MIX_SWITCH]);
    bool cut = is_cut(mix, view, 0);
    take(r, view->number[cut ? SR_MIX_BETA_CUTMIX : SR_MIX_BETA_MIXUP]);
    if (cut)
        take_box(r, view, 0, mix->cutmix_minmax.n > 0);
}

// Takes the draws of a mix by image: the numbers of all images first, then their boxes.
static void take_images(Replay *r, const SrMix *mix, View *view, int n) {
    if (mix->mixup_alpha > 0 && mix->cutmix_alpha > 0)
        take(r, view->number[SR_MIX_SWITCH]);
    if (mix->cutmix_alpha > 0)
        take(r, view->number[SR_MIX_BETA_CUTMIX]);
    if (mix->mixup_alpha > 0)
        take(r, view->number[SR_MIX_BETA_MIXUP]);
    take(r, view->number[SR_MIX_APPLY]);
    for (int i = 0; i < n; i++)
        if (is_cut(mix, view, i))
            take_box(r, view, i, mix->cutmix_minmax.n > 0);
}

// ---- a batch

// Returns view v of the case's (images, views, 3, h, w) as (images, h, w, 3).
static float *view_of(SrGoldenCase *c, const char *name, int v) {
    const SrTensor *t = golden_tensor(c, name);
    int64_t n;
    float *all = golden_floats(c, name, &n);
    SrShape one = {.rank = 4, .d = {t->shape.d[0], t->shape.d[2], t->shape.d[3], t->shape.d[4]}};
    int64_t image = n / t->shape.d[0] / t->shape.d[1];
    float *view = sr_arena_alloc(c->arena, (size_t)(image * t->shape.d[0]) * sizeof *view);
    for (int i = 0; view && i < t->shape.d[0]; i++)
        memcpy(view + i * image, all + (i * t->shape.d[1] + v) * image,
               (size_t)image * sizeof *all);
    return view ? golden_to_nhwc(c, view, one) : NULL;
}

// Compares view v with "out.data1", with rows of "out.data", or with "out.data_momentum".
static SrStatus compare_view(SrGoldenCase *c, const SrBatch *batch, int v) {
    SrShape shape = SR_SHAPE(batch->batch, 3, batch->h[0], batch->w[0]);
    int64_t n = sr_shape_count(shape), all = 0;
    const float *nhwc = batch->view[0];
    SrShape from = SR_SHAPE(batch->batch, batch->h[0], batch->w[0], 3);
    const char *name = golden_numbered(c, "out.data", v);
    if (!golden_tensor(c, name))
        name = v == 1 && golden_tensor(c, "out.data_momentum") ? "out.data_momentum" : "out.data";
    float *ours = golden_to_nchw(c, nhwc, from), *reference = golden_floats(c, name, &all);
    if (!ours || !reference)
        SR_FAIL(SR_ERR_RUN, "%s: no %s", c->name, name);
    float *whole_of = sr_arena_alloc(c->arena, (size_t)all * sizeof *whole_of);
    memcpy(whole_of, reference, (size_t)all * sizeof *whole_of);
    memcpy(whole_of + (all > n ? v * n : 0), ours, (size_t)n * sizeof *ours);
    return golden_compare(c, name, whole_of, all, 1e-6);
}

// Compares soft labels. Rows are view-major; MoCo's are (images, views, classes).
static SrStatus compare_labels(SrGoldenCase *c, float *soft[MAX_VIEWS], int views, int images,
                               int classes) {
    const SrTensor *t = golden_tensor(c, "out.label");
    float *ours =
        sr_arena_alloc(c->arena, (size_t)views * (size_t)images * (size_t)classes * sizeof *ours);
    if (!t || !ours)
        SR_FAIL(SR_ERR_RUN, "%s: no out.label", c->name);
    for (int v = 0; v < views; v++)
        for (int i = 0; i < images; i++)
            memcpy(ours + (t->shape.rank == 3 ? i * views + v : v * images + i) * classes,
                   soft[v] + i * classes, (size_t)classes * sizeof *ours);
    return golden_compare(c, "out.label", ours, (int64_t)views * images * classes, 1e-6);
}

static SrStatus run_view(SrGoldenCase *c, const SrCollation *collation, Replay *replay, int v,
                         float **soft) {
    const SrTensor *data = golden_tensor(c, "data");
    const SrYaml *labels = sr_yaml_find(c->values, "labels");
    int classes = collation->plan.extras.v[0].shape.d[0], n = data->shape.d[0];
    int64_t label[MAX_IMAGES], index[MAX_IMAGES] = {0};
    int8_t valid[MAX_IMAGES] = {0};
    *soft = sr_arena_alloc(c->arena, (size_t)n * (size_t)classes * sizeof **soft);
    SrBatch batch = {.n_views = 1,
                     .batch = n,
                     .view = {view_of(c, "data", v)},
                     .h = {data->shape.d[3]},
                     .w = {data->shape.d[4]},
                     .rows = {1},
                     .label = label,
                     .index = index,
                     .valid = valid,
                     .extra = {*soft}};
    if (!*soft || !batch.view[0])
        SR_FAIL(SR_ERR_MEMORY, "out of memory for a batch");
    for (int i = 0; i < n; i++)
        label[i] = labels->items[i]->items[v]->i;
    Replay one = {.view = {replay->view[v]}};
    sr__cutmixup_fill(collation->params, (SrMixDraws){number, whole, &one}, &batch);
    return compare_view(c, &batch, v);
}

static SrStatus run_cutmixup(SrGoldenCase *c) {
    const SrTensor *data = golden_tensor(c, "data");
    const SrYaml *options = sr_yaml_find(c->config, "cutmixup_collator");
    static Replay replay;
    SrCollation collation;
    float *soft[MAX_VIEWS] = {NULL};
    if (!data || !options || data->shape.d[1] > MAX_VIEWS || data->shape.d[0] > MAX_IMAGES)
        SR_FAIL(SR_ERR_RUN, "%s: no data or options", c->name);
    int views = data->shape.d[1], images = data->shape.d[0];
    SrCollateViews of = {.n = views};
    for (int v = 0; v < views; v++) {
        of.h[v] = data->shape.d[3];
        of.w[v] = data->shape.d[4];
    }
    SR_TRY(sr_collation_new("cutmixup_collator", options, "DATA.TRAIN", &of, c->arena, &collation));
    SrMix mix = *(const SrMix *)collation.params; // the mix is the first member of the params
    if (mix.cutmix_minmax.n > 0)
        mix.cutmix_alpha = 1;
    replay = (Replay){.list = sr_yaml_find(c->values, "draws")};
    for (int v = 0; v < views; v++) {
        if (mix.mode == SR_MIX_BATCH)
            take_batch(&replay, &mix, &replay.view[v]);
        else
            take_images(&replay, &mix, &replay.view[v],
                        mix.mode == SR_MIX_PAIR ? images / 2 : images);
    }
    if (replay.at != replay.list->n)
        SR_FAIL(SR_ERR_RUN, "%s: %d of %d draws used", c->name, replay.at, replay.list->n);
    for (int v = 0; v < views; v++)
        SR_TRY(run_view(c, &collation, &replay, v, &soft[v]));
    return compare_labels(c, soft, views, images, collation.plan.extras.v[0].shape.d[0]);
}

// ---- collators_more

// The case's labels and indices are those of the first image of each pair, view by view.
static SrStatus run_neighbours(SrGoldenCase *c) {
    const SrTensor *data = golden_tensor(c, "mixup.data");
    double lambda;
    int64_t n = 0, label[MAX_IMAGES], index[MAX_IMAGES];
    int8_t valid[MAX_IMAGES];
    float out_label[MAX_VIEWS * MAX_IMAGES], out_index[MAX_VIEWS * MAX_IMAGES];
    if (!data || !golden_value(c, "mixup_lambda", &lambda) || data->shape.d[0] > MAX_IMAGES ||
        data->shape.d[1] > MAX_VIEWS)
        SR_FAIL(SR_ERR_RUN, "%s: no mixup.data or mixup_lambda", c->name);
    const float *labels = golden_floats(c, "mixup.label", &n),
                *indices = golden_floats(c, "mixup.data_idx", &n);
    for (int v = 0, at = 0; v < data->shape.d[1]; v++) {
        SrBatch batch = {.n_views = 1,
                         .batch = data->shape.d[0],
                         .view = {view_of(c, "mixup.data", v)},
                         .h = {data->shape.d[3]},
                         .w = {data->shape.d[4]},
                         .label = label,
                         .index = index,
                         .valid = valid};
        for (int i = 0; i < batch.batch; i++) { // the second image of each pair must not appear
            label[i] = i % 2 ? -5 : (int64_t)labels[at + i / 2];
            index[i] = i % 2 ? -5 : (int64_t)indices[at + i / 2];
            valid[i] = 1;
        }
        sr__mixup_neighbours(&batch, lambda);
        for (int i = 0; i < batch.batch; i++, at++) {
            out_label[at] = (float)label[i];
            out_index[at] = (float)index[i];
        }
        const SrShape shape = SR_SHAPE(batch.batch, batch.h[0], batch.w[0], 3);
        SR_TRY(golden_compare(c, golden_numbered(c, "mixup.out", v),
                              golden_to_nchw(c, batch.view[0], shape), sr_shape_count(shape),
                              1e-6));
    }
    SR_TRY(golden_compare(c, "mixup.label", out_label, n, 0));
    return golden_compare(c, "mixup.data_idx", out_index, n, 0);
}

// Global views and masks are stored view-major, image by image.
static SrStatus run_masking(SrGoldenCase *c) {
    const SrTensor *in = golden_tensor(c, "ibot.masks_in"),
                   *globals = golden_tensor(c, "ibot.global_views"),
                   *locals = golden_tensor(c, "ibot.local_views");
    SrCollation collation;
    if (!in || !globals || !locals)
        SR_FAIL(SR_ERR_RUN, "%s: no ibot tensors", c->name);
    int images = in->shape.d[0], n_global = in->shape.d[1],
        views = n_global + locals->shape.d[0] / images;
    int patches = in->shape.d[2] * in->shape.d[3];
    SrCollateViews of = {.n = views};
    for (int v = 0; v < views; v++) {
        of.h[v] = of.w[v] = (v < n_global ? globals : locals)->shape.d[2];
        SR_TRY(sr_extras_add(&of.extras, &(SrBatchExtra){"mask", v, SR_SHAPE(patches), SR_F32, 0}));
    }
    SR_TRY(sr_collation_new("ibot_multicrop_masking_collator", NULL, "DATA.TRAIN", &of, c->arena,
                            &collation));
    const SrBatchPlan *plan = &collation.plan;
    int64_t n;
    const float *masks = golden_floats(c, "ibot.masks_in", &n);
    float *mask = sr_arena_alloc(c->arena, (size_t)n * sizeof *mask), *filled[2] = {NULL, NULL};
    int64_t rows[2] = {0, 0}, count[2];
    for (int side = 0; side < 2; side++) {
        count[side] = sr_shape_count((side ? locals : globals)->shape);
        filled[side] = sr_arena_alloc(c->arena, (size_t)count[side] * sizeof **filled);
    }
    for (int i = 0; i < plan->n_inputs; i++) {
        int side = strcmp(plan->input[i].name, "global_views") != 0, view = 0;
        int64_t pixels = (int64_t)plan->input[i].h * plan->input[i].w * 3;
        while (plan->place[view].input != i)
            view++;
        for (int image = 0; image < images; image++, rows[side]++)
            for (int64_t p = 0; p < pixels; p++)
                filled[side][rows[side] * pixels + p] = (float)(100 * image + view);
    }
    for (int e = 0; e < plan->extras.n; e++)
        for (int image = 0; image < images; image++)
            memcpy(mask + (e * images + image) * patches,
                   masks + (image * n_global + plan->made.v[plan->extras.v[e].from].view) * patches,
                   (size_t)patches * sizeof *mask);
    SR_TRY(golden_compare(c, "ibot.global_views", filled[0], count[0], 1e-7));
    SR_TRY(golden_compare(c, "ibot.local_views", filled[1], count[1], 1e-7));
    return golden_compare(c, "ibot.mask", mask, n, 0);
}

// The case's targets_one_hot.label comes from lists of classes, which no data set here has:
// LABEL_PATHS hold columns.
static SrStatus run(SrGoldenCase *c) {
    if (golden_tensor(c, "data"))
        return run_cutmixup(c);
    if (golden_tensor(c, "mixup.data"))
        SR_TRY(run_neighbours(c));
    return golden_tensor(c, "ibot.masks_in") ? run_masking(c) : SR_OK;
}

const SrGolden sr_golden_collators_mix = {.prefixes = {"collator_cutmixup", "collators_more"},
                                          .run = run};
