// Runs golden cases tf_lab*, tf_patches*, tf_mnist* and tf_random_erasing*: VISSL's remaining
// transforms with recorded draws.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/yaml_load.h"
#include "base/text/yaml_print.h"
#include "data/augment/shared/erasing.h"
#include "data/augment/shared/patches.h"
#include "data/collator.h"
#include "data/image_pool.h"
#include "data/pipeline.h"
#include "data/pixels/pixel_lab.h"
#include "tests/golden/images.h"

typedef struct {
    SrGoldenCase *c;
    SrImagePool *pool;
} Run;

// Returns a tensor (3, H, W) of bytes or floats as a float image.
static SrStatus float_image(Run r, const char *name, SrImage *out) {
    const SrTensor *t = golden_tensor(r.c, name);
    int64_t n;
    float *chw = golden_floats(r.c, name, &n);
    if (!t || !chw || t->shape.rank != 3)
        SR_FAIL(SR_ERR_RUN, "%s: no image %s", r.c->name, name);
    *out = (SrImage){.H = t->shape.d[1], .W = t->shape.d[2]};
    out->f = golden_to_nhwc(r.c, chw, SR_SHAPE(1, 3, out->H, out->W));
    return SR_OK;
}

static SrStatus compare_floats(Run r, const char *name, const float *hwc, int n, int h, int w) {
    float *ours = golden_to_nchw(r.c, hwc, SR_SHAPE(n, h, w, 3));
    return golden_compare(r.c, name, ours, (int64_t)n * h * w * 3, 1e-6);
}

static SrStatus run_lab(Run r) {
    for (int i = 0; i < r.c->tensors->n; i++) {
        const char *name = r.c->tensors->tensors[i].name;
        char lab[64];
        SrImage image;
        if (strncmp(name, "img_", 4) != 0)
            continue;
        snprintf(lab, sizeof lab, "lab_%s", name + 4);
        SR_TRY(golden_image(r.c, name, r.pool, &image));
        SR_TRY(sr_pixel_to_lab(&image, r.pool));
        SR_TRY(compare_floats(r, lab, image.f, 1, image.H, image.W));
    }
    return SR_OK;
}

static SrStatus cut(Run r, SrImage *image, int n, int jitter, float **out, int *size) {
    SrPatchGrid grid;
    int64_t n_places;
    const float *places = golden_floats(r.c, "jitter", &n_places); // (2, side, side)
    SR_TRY(sr__patch_grid(n, SR_MIN(image->H, image->W), jitter, &grid));
    *size = grid.cell - grid.jitter;
    size_t one = 3 * (size_t)*size * (size_t)*size;
    *out = sr_arena_alloc(r.c->arena, (size_t)n * one * sizeof **out);
    for (int i = 0; *out && i < n; i++) {
        SrImage patch;
        SR_TRY(sr__patch_cut(image, &grid, i, (int)places[i], (int)places[n + i], r.pool, &patch));
        memcpy(*out + (size_t)i * one, patch.f, one * sizeof **out);
    }
    return SR_OK;
}

static SrStatus run_patches(Run r) {
    const SrYaml *options = sr_yaml_find(r.c->config, "ImgPatchesFromTensor");
    const SrYaml *jitter =
        options ? sr_yaml_find(options, "patch_jitter") : sr_yaml_find(r.c->values, "patch_jitter");
    const SrTensor *patches = golden_tensor(r.c, "patches");
    SrImage image;
    float *ours;
    int size;
    if (!jitter || !patches)
        SR_FAIL(SR_ERR_RUN, "%s: no patch_jitter or patches", r.c->name);
    SR_TRY(float_image(r, "img", &image));
    SR_TRY(cut(r, &image, patches->shape.d[0], (int)jitter->i, &ours, &size));
    return compare_floats(r, "patches", ours, patches->shape.d[0], size, size);
}

// Applies a transform, given in YAML flow style, to one image.
static SrStatus run_transform(Run r, const char *flow, SrImage *image) {
    SrYaml *list;
    SrPipeline *p;
    SrViews views = {.n = 1, .view = {*image}};
    SrTransformContext ctx = {.pool = r.pool};
    SR_TRY(sr_yaml_parse(r.c->arena, flow, strlen(flow), "golden", &list));
    SR_TRY(sr_pipeline_new(list, "golden", &p));
    SrStatus status = sr_pipeline_apply(p, &ctx, &views);
    sr_pipeline_free(p);
    *image = views.view[0];
    return status;
}

static SrStatus grey_image(Run r, const char *name, SrImage *out) {
    const SrTensor *t = golden_tensor(r.c, name);
    SR_TRY(sr_image_new(r.pool, t->shape.d[0], t->shape.d[1], out));
    for (int i = 0; i < 3 * out->H * out->W; i++)
        out->rgb[i] = ((const uint8_t *)t->data)[i / 3];
    return SR_OK;
}

// Checks OneHotEncode: the classes of an image as columns.
static SrStatus run_one_hot(Run r) {
    const SrYaml *labels = sr_yaml_find(r.c->values, "labels");
    const SrTensor *t;
    for (int i = 0; labels && (t = golden_tensor(r.c, golden_numbered(r.c, "onehot", i))); i++) {
        int n = labels->items[i]->n, width = t->shape.d[0];
        int64_t *classes = sr_arena_alloc(r.c->arena, ((size_t)n + 1) * sizeof *classes);
        int64_t *columns = sr_arena_alloc(r.c->arena, ((size_t)width + 1) * sizeof *columns);
        float *ours = sr_arena_alloc(r.c->arena, ((size_t)width + 1) * sizeof *ours);
        if (!classes || !columns || !ours)
            SR_FAIL(SR_ERR_MEMORY, "out of memory for %d columns", width);
        for (int k = 0; k < n; k++)
            classes[k] = labels->items[i]->items[k]->i;
        sr_one_hot(classes, n, width, columns);
        for (int c = 0; c < width; c++)
            ours[c] = (float)columns[c];
        SR_TRY(golden_compare(r.c, golden_numbered(r.c, "onehot", i), ours, width, 0));
    }
    return SR_OK;
}

static SrStatus run_mnist(Run r) {
    const char *name;
    SR_TRY(run_one_hot(r));
    for (int i = 0; golden_tensor(r.c, name = golden_numbered(r.c, "rgb", i)); i++) {
        SrText flow = SR_TEXT_INIT;
        SrImage image;
        sr_text_add(&flow, "[{name: MNISTImgPil2RGB, size: ");
        sr_yaml_print_flow(sr_yaml_find(sr_yaml_find(r.c->values, name), "size"), &flow);
        sr_text_add(&flow, ", box: ");
        sr_yaml_print_flow(sr_yaml_find(sr_yaml_find(r.c->values, name), "box"), &flow);
        sr_text_add(&flow, "}]");
        SR_TRY(grey_image(r, "gray", &image));
        SrStatus status = run_transform(r, flow.s, &image);
        sr_text_deinit(&flow);
        SR_TRY(status);
        SR_TRY(golden_compare_image(r.c, name, &image));
    }
    for (int i = 0; golden_tensor(r.c, name = golden_numbered(r.c, "larger", i)); i++) {
        char flow[80];
        double size;
        SrImage image;
        golden_value(r.c, name, &size);
        snprintf(flow, sizeof flow, "[{name: ImgPilResizeLargerSide, size: %d}]", (int)size);
        SR_TRY(golden_image(r.c, "img", r.pool, &image));
        SR_TRY(run_transform(r, flow, &image));
        SR_TRY(golden_compare_image(r.c, name, &image));
    }
    return SR_OK;
}

// ---- erasing ----

// Writes the recorded noise where sslrun draws its own; everything else must come out as
// recorded.
static void put_noise(Run r, const char *name, SrBox box, SrImage *image) {
    int64_t n;
    const float *noise = golden_floats(r.c, name, &n); // (3, h, w)
    for (int c = 0; noise && c < 3; c++)
        for (int y = 0; y < box.h; y++)
            for (int x = 0; x < box.w; x++)
                image->f[((box.top + y) * image->W + box.left + x) * 3 + c] =
                    noise[(c * box.h + y) * box.w + x];
}

static SrStatus run_boxes(Run r) {
    const SrYaml *box;
    for (int i = 0; (box = sr_yaml_find(r.c->values, golden_numbered(r.c, "box", i))); i++) {
        const SrYaml *value = sr_yaml_find(r.c->values, golden_numbered(r.c, "value", i));
        SrBox at = {(int)box->items[0]->i, (int)box->items[1]->i, (int)box->items[2]->i,
                    (int)box->items[3]->i};
        double level[3];
        SrImage image;
        SR_TRY(float_image(r, "img", &image));
        for (int c = 0; c < 3; c++)
            level[c] = value->type == SR_YAML_LIST ? value->items[c]->f : value->f;
        if (value->type == SR_YAML_STRING)
            put_noise(r, golden_numbered(r.c, "noise", i), at, &image);
        else
            sr__erasing_apply(&image, at, level, 3, NULL);
        SR_TRY(compare_floats(r, golden_numbered(r.c, "out", i), image.f, 1, image.H, image.W));
    }
    return SR_OK;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Compares quantiles of sslrun's draws with torchvision's: within 1.5 % of the range.
static SrStatus compare_quantiles(Run r, const char *name, double *ours, int n) {
    int64_t n_q, n_p;
    const float *want = golden_floats(r.c, name, &n_q),
                *percent = golden_floats(r.c, "percent", &n_p);
    double range = want[n_q - 1] - want[0];
    qsort(ours, (size_t)n, sizeof *ours, ascending);
    for (int i = 0; i < n_q && i < n_p; i++) {
        int at = SR_MIN((int)((double)percent[i] / 100 * (n - 1) + 0.5), n - 1);
        SR_TRY(golden_number(r.c, name, (ours[at] - want[i]) / range + 1, 1, 0.015));
    }
    return SR_OK;
}

// Finds the size of the image whose boxes were drawn: recorded as numbers, or in words, or 64 x
// 96.
static void erased_size(Run r, int *H, int *W) {
    double h, w;
    *H = 64;
    *W = 96;
    if (golden_value(r.c, "H", &h) && golden_value(r.c, "W", &w)) {
        *H = (int)h;
        *W = (int)w;
    } else {
        sscanf(golden_what(r.c, "area"), "image %dx%d", H, W);
    }
}

static SrStatus run_distribution(Run r) {
    enum { N = 20000 };
    const SrYaml *s = sr_yaml_find(r.c->config, "scale"), *q = sr_yaml_find(r.c->config, "ratio");
    double scale[2] = {s->items[0]->f, s->items[1]->f}, ratio[2] = {q->items[0]->f, q->items[1]->f};
    double *area = sr_arena_alloc(r.c->arena, N * sizeof *area),
           *aspect = sr_arena_alloc(r.c->arena, N * sizeof *aspect);
    int n = 0, H, W;
    erased_size(r, &H, &W);
    for (int i = 0; i < N; i++) {
        SrRng rng = sr_rng(1, SR_RNG_TEST, 0, (uint64_t)i, 0, 0);
        SrBox box;
        if (!sr__erasing_draw(&rng, H, W, scale, ratio, &box))
            continue;
        area[n] = (double)box.h * box.w / (H * W);
        aspect[n++] = log((double)box.h / box.w);
    }
    SR_TRY(compare_quantiles(r, "area", area, n));
    return compare_quantiles(r, "logaspect", aspect, n);
}

static SrStatus run_erasing(Run r) {
    SR_TRY(run_boxes(r));
    return run_distribution(r);
}

static SrStatus run(SrGoldenCase *c) {
    static const struct {
        const char *prefix;
        SrStatus (*run)(Run r);
    } kinds[] = {{"tf_lab", run_lab},
                 {"tf_patches", run_patches},
                 {"tf_mnist", run_mnist},
                 {"tf_random_erasing", run_erasing}};
    SrImagePool *pool;
    SrStatus status = SR_OK;
    SR_TRY(sr_image_pool_new(&pool));
    for (int k = 0; k < SR_COUNT(kinds); k++)
        if (strncmp(c->name, kinds[k].prefix, strlen(kinds[k].prefix)) == 0)
            status = kinds[k].run((Run){c, pool});
    sr_image_pool_free(pool);
    return status;
}

const SrGolden sr_golden_tf_more = {
    .prefixes = {"tf_lab", "tf_patches", "tf_mnist", "tf_random_erasing"}, .run = run};
