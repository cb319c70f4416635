// Computes maps of images by several means, fits a probe to each, and judges it on held-out images.
#include "folder/patches/dense_probe.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "measure/patches/patch_maps.h"
#include "measure/probes/pixel_probe.h"

enum { CELL = 8, LEAST_IMAGES = 5 };
#define MAP_BYTES ((size_t)2 << 30) // of the maps of all images

typedef struct {
    const SrDenseOptions *o;
    const SrImageSet *images;
    SrDenseReport *report;
    SrMasks masks;
    int side;            // pixels of what the model sees
    int rows, columns;   // of the trunk's maps
    int h, w, d;         // of the present maps
    float *maps;         // (images, h, w, d)
    SrProbeImage *train; // (n_train)
    int64_t n_train;
    SrEachPrediction each; // NULL: predictions are not wanted
    void *arg;
} Job;

static SrStatus out_of_memory(void) { return sr_out_of_memory("a dense probe"); }

const char *sr_dense_row_name(const SrDenseReport *r, SrDenseRow row) {
    static const char *const names[] = {"colours of pixels", "pixels of patches",
                                        "untrained trunk, as drawn", "trunk"};
    return row == SR_DENSE_TRUNK && r->drawn ? names[SR_DENSE_DRAWN] : names[row];
}

// Images that are used are counted, so that one that is left out does not move the others.
static bool is_held_out(int64_t used) { return used % SR_DENSE_HELD_OUT == SR_DENSE_HELD_OUT - 1; }

// ---- maps ---------------------------------------------------------------------------------------

static SrStatus make_room(Job *j, int h, int w, int d) {
    size_t map = (size_t)h * (size_t)w * (size_t)d * sizeof(float);
    j->h = h;
    j->w = w;
    j->d = d;
    sr_free(j->maps);
    j->maps = NULL;
    if (map > MAP_BYTES / (size_t)j->images->n)
        SR_FAIL(SR_ERR_CONFIG,
                "maps of %d x %d x %d numbers for %lld images take more than %.1f GB: give a "
                "smaller --size, coarser --layers, or a list of fewer images",
                h, w, d, (long long)j->images->n, (double)MAP_BYTES / 1e9);
    j->maps = sr_alloc(map * (size_t)j->images->n);
    return j->maps ? SR_OK : out_of_memory();
}

static float *map_of(const Job *j, int64_t image) { return j->maps + image * j->h * j->w * j->d; }

static SrStatus keep_map(void *arg, int64_t image, bool good, const float *patches) {
    Job *j = arg;
    if (!good && j->masks.mask[image].h > 0)
        SR_FAIL(SR_ERR_RUN, "image %lld of %s could be read with its mask, but not once more",
                (long long)image + 1, j->images->path);
    if (good)
        memcpy(map_of(j, image), patches, (size_t)(j->h * j->w * j->d) * sizeof *patches);
    return SR_OK;
}

static SrStatus trunk_maps(Job *j, bool drawn) {
    SrPatchSource *s;
    SrPatchOptions o = j->o->patches;
    o.whole = true;
    o.drawn = drawn;
    SR_TRY(sr_patch_source_open(&o, &s));
    j->side = sr_patch_source_height(s);
    j->rows = sr_patch_source_rows(s);
    j->columns = sr_patch_source_columns(s);
    snprintf(j->report->layers, sizeof j->report->layers, "%s", sr_patch_source_layers(s));
    SrStatus status = make_room(j, j->rows, j->columns, sr_patch_source_dim(s));
    if (status == SR_OK)
        status = sr_patch_source_each(s, j->images, drawn ? "maps of the untrained trunk" : "maps",
                                      keep_map, j);
    sr_patch_source_close(s);
    return status;
}

// Resizes images to `cell` pixels for each place of the maps, whose numbers are those pixels.
static SrStatus pixel_map(Job *j, int64_t image, int cell, SrImagePool *pool) {
    SrImage whole, small;
    float *map = map_of(j, image);
    sr_image_pool_reset(pool);
    SR_TRY(sr_image_set_decode(j->images, image, pool, &whole));
    SR_TRY(sr_pixel_resize(&whole, (SrBox){0, 0, whole.H, whole.W}, j->h * cell, j->w * cell,
                           SR_FILTER_BILINEAR, pool, &small));
    for (int y = 0; y < small.H; y++)
        for (int x = 0; x < small.W; x++)
            for (int c = 0; c < 3; c++) {
                int place = y / cell * j->w + x / cell, at = (y % cell * cell + x % cell) * 3 + c;
                map[(int64_t)place * j->d + at] = small.rgb[((int64_t)y * small.W + x) * 3 + c];
            }
    return SR_OK;
}

static SrStatus pixel_maps(Job *j, SrDenseRow row) {
    int cell = row == SR_DENSE_COLORS ? 1 : SR_MAX(SR_MIN(j->side / j->rows, CELL), 1);
    int h = row == SR_DENSE_COLORS ? j->side : j->rows;
    int w = row == SR_DENSE_COLORS ? j->side : j->columns;
    SrImagePool *pool;
    SR_TRY(make_room(j, h, w, cell * cell * 3));
    SR_TRY(sr_image_pool_new(&pool));
    SrStatus status = SR_OK;
    for (int64_t i = 0; status == SR_OK && i < j->images->n; i++)
        if (j->masks.mask[i].h > 0)
            status = pixel_map(j, i, cell, pool);
    sr_image_pool_free(pool);
    return status;
}

// ---- a row --------------------------------------------------------------------------------------

// Judges the probe on one image held out.
static SrStatus judge(const Job *j, const SrPixelProbe *probe, int64_t image, bool wanted,
                      SrConfusion *confusion) {
    const SrMask *mask = &j->masks.mask[image];
    int64_t pixels = (int64_t)mask->h * mask->w;
    float *score = sr_alloc((size_t)(j->h * j->w * probe->classes) * sizeof *score);
    uint8_t *label = sr_alloc((size_t)pixels);
    SrStatus status = score && label ? SR_OK : out_of_memory();
    if (status == SR_OK) {
        sr_pixel_probe_scores(probe, map_of(j, image), j->h * j->w, score);
        sr_patch_argmax(score, j->h, j->w, probe->classes, mask->h, mask->w, label);
        sr_confusion_add(confusion, mask->class, label, pixels);
        status = wanted && j->each ? j->each(j->arg, image, mask, label) : SR_OK;
    }
    sr_free(score);
    sr_free(label);
    return status;
}

static SrStatus fit_row(Job *j, SrPixelProbe *probe) {
    SrPixelProbeOptions o = SR_PIXEL_PROBE_DEFAULT;
    o.h = j->h;
    o.w = j->w;
    o.d = j->d;
    o.classes = j->masks.classes;
    o.steps = j->o->steps;
    o.seed = j->o->seed;
    int64_t used = 0;
    j->n_train = 0;
    for (int64_t i = 0; i < j->images->n; i++) {
        const SrMask *mask = &j->masks.mask[i];
        if (mask->h > 0 && !is_held_out(used++))
            j->train[j->n_train++] = (SrProbeImage){map_of(j, i), mask->class, mask->h, mask->w};
    }
    return sr_pixel_probe_fit(&o, j->train, j->n_train, probe);
}

static SrStatus score_row(Job *j, SrDenseRow row) {
    SrDenseScore *s = &j->report->score[row];
    SrPixelProbe probe = {.classes = 0};
    int64_t used = 0;
    SR_TRY(fit_row(j, &probe));
    memset(s, 0, sizeof *s); // too large for a temporary
    s->has = true;
    s->rows = j->h;
    s->columns = j->w;
    s->dim = j->d;
    s->confusion.classes = j->masks.classes;
    SrStatus status = SR_OK;
    for (int64_t i = 0; status == SR_OK && i < j->images->n; i++)
        if (j->masks.mask[i].h > 0 && is_held_out(used++))
            status = judge(j, &probe, i, row == SR_DENSE_TRUNK, &s->confusion);
    sr_pixel_probe_deinit(&probe);
    return status;
}

// ---- the report ---------------------------------------------------------------------------------

static bool has_weights(const SrPatchOptions *p) {
    return p->weights || (sr_file_exists(p->model) && !sr_text_ends(p->model, ".yaml"));
}

static SrStatus check_images(Job *j) {
    SrDenseReport *r = j->report;
    int64_t used = j->images->n - j->masks.bad - j->masks.blank;
    r->classes = j->masks.classes;
    memcpy(r->value, j->masks.value, sizeof r->value);
    r->bad = j->masks.bad;
    r->blank = j->masks.blank;
    r->test = used / SR_DENSE_HELD_OUT;
    r->train = used - r->test;
    if (used < LEAST_IMAGES)
        SR_FAIL(SR_ERR_CONFIG,
                "%s has %lld images that can be read and have a pixel with a class, at least %d "
                "are needed",
                j->images->path, (long long)used, LEAST_IMAGES);
    return SR_OK;
}

static SrStatus score_all(Job *j) {
    SR_TRY(trunk_maps(j, false));
    SR_TRY(score_row(j, SR_DENSE_TRUNK));
    if (!j->report->drawn) {
        SR_TRY(trunk_maps(j, true));
        SR_TRY(score_row(j, SR_DENSE_DRAWN));
    }
    for (SrDenseRow row = SR_DENSE_COLORS; row <= SR_DENSE_PIXELS; row++) {
        SR_TRY(pixel_maps(j, row));
        SR_TRY(score_row(j, row));
    }
    return SR_OK;
}

SrStatus sr_dense_probe(const SrDenseOptions *options, const SrImageSet *images,
                        SrDenseReport *report, SrEachPrediction each, void *arg) {
    Job j = {.o = options, .images = images, .report = report, .each = each, .arg = arg};
    SrStatus status;
    memset(report, 0, sizeof *report); // too large for a temporary
    report->drawn = !has_weights(&options->patches);
    SR_TRY_GOTO(sr_masks_read(options->masks, images, &j.masks));
    SR_TRY_GOTO(check_images(&j));
    j.train = sr_alloc((size_t)images->n * sizeof *j.train);
    SR_TRY_GOTO(j.train ? score_all(&j) : out_of_memory());
done:
    sr_free(j.train);
    sr_free(j.maps);
    sr_masks_deinit(&j.masks);
    return status;
}
