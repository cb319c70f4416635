// Contact sheets: makes the views of some images, and draws them with their texts.
#include "pages/photos/contact_sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/augment/normalize.h"
#include "data/encode.h"
#include "data/image_form.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "data/load/sampler.h"
#include "data/pipeline.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "data/transform.h"
#include "data/view_preview.h"
#include "pages/canvas.h"
#include "trainer/config/derived_config.h"
#include "trainer/data/data_split.h"

enum { GAP = 8, CELL = 144, LARGEST = 224, TITLE = 2 * SR_CANVAS_LINE_H };
enum { PAPER = 0xFFFFFF, INK = 0x222222, PALE = 0x777777, FRAME = 0xDDDDDD };

// ---- back to bytes ------------------------------------------------------------------------------

// Reads the last transform if it is Normalize; otherwise there is nothing to undo.
void sr_unnormalize_of(const SrYaml *transforms, SrUnnormalize *out) {
    *out = (SrUnnormalize){.std = {1, 1, 1}};
    if (!transforms || transforms->type != SR_YAML_LIST || transforms->n < 1)
        return;
    SrArena arena = SR_ARENA_INIT;
    SrNormalize params;
    const SrTransform *t = NULL;
    SrYaml *last = sr_yaml_copy(&arena, transforms->items[transforms->n - 1]);
    const SrYaml *name = sr_yaml_find(last, "name");
    if (name && name->text && sr_transform_find(name->text, &t) == SR_OK && t->normalizes &&
        t->params_bytes == sizeof params && sr_yaml_remove(last, "name") &&
        sr_options_parse(t->options, last, t->name, &arena, &params) == SR_OK)
        for (int c = 0; c < 3 && c < params.mean.n && c < params.std.n; c++) {
            out->mean[c] = params.mean.v[c];
            out->std[c] = params.std.v[c];
        }
    sr_arena_deinit(&arena);
}

void sr_unnormalize(const SrUnnormalize *u, const float *x, int h, int w, uint8_t *rgb) {
    for (int i = 0; i < h * w * 3; i++) {
        double level = rint(255 * ((double)x[i] * u->std[i % 3] + u->mean[i % 3]));
        rgb[i] = (uint8_t)SR_MAX(0, SR_MIN(level, 255));
    }
}

SrStatus sr_show_view(const SrUnnormalize *u, const float *x, int h, int w, int channels,
                      SrImagePool *pool, SrImage *out) {
    if (channels > 0) {
        SR_TRY(sr_image_new_floats(pool, h, w, channels, out));
        memcpy(out->f, x, sr_image_samples(out) * sizeof *x);
        return sr_image_to_rgb(out, pool);
    }
    SR_TRY(sr_image_new(pool, h, w, out));
    sr_unnormalize(u, x, h, w, out->rgb);
    return SR_OK;
}

// ---- cells --------------------------------------------------------------------------------------

// One picture with its text below.
typedef struct {
    int h, w, zoom;
    uint8_t *rgb;
    char *words;
} Cell;

typedef struct {
    const SrConfig *config;
    SrLoaderConfig source;
    SrUnnormalize un;
    SrImagePool *pool;
    SrArena arena;
    int rows, columns,
        cell;    // columns include the original; cell: width of the widest picture, pixels
    Cell *at;    // (rows, columns)
    int *height; // (rows) height of each row, pixels
    SrSheetReport *report;
} Sheet;

static SrStatus out_of_memory(void) { return sr_out_of_memory("the sheet"); }

static SrStatus keep(Sheet *s, Cell *cell, int h, int w, const char *words) {
    cell->h = h;
    cell->w = w;
    cell->zoom = SR_MAX(1, CELL / SR_MAX(h, w));
    cell->rgb = sr_arena_alloc(&s->arena, (size_t)h * (size_t)w * 3);
    cell->words = sr_arena_strdup(&s->arena, words ? words : "");
    s->cell = SR_MAX(s->cell, w * cell->zoom);
    return cell->rgb && cell->words ? SR_OK : out_of_memory();
}

// Keeps the original; a large one is made smaller.
static SrStatus keep_original(Sheet *s, Cell *cell, const SrViewPreview *shown, int64_t in_set) {
    SrImage small = shown->original;
    char words[512];
    int longest = SR_MAX(small.H, small.W);
    const char *slash = strrchr(shown->path, '/'), *name = slash ? slash + 1 : shown->path;
    const char *class = NULL;
    const SrDataset *set = s->source.dataset;
    if (set->class_name && shown->label >= 0)
        class = set->class_name(s->source.set, (int)shown->label);
    // Images of one file have its name in common.
    snprintf(words, sizeof words, set->path ? "%s " : "image %.0s%lld ", name, (long long)in_set);
    size_t n = strlen(words);
    snprintf(words + n, sizeof words - n, "%d x %d%s%s", small.W, small.H, class ? "; " : "",
             class ? class : "");
    if (longest > LARGEST) {
        int h = SR_MAX(small.H * LARGEST / longest, 1), w = SR_MAX(small.W * LARGEST / longest, 1);
        SrBox all = {0, 0, small.H, small.W};
        SR_TRY(sr_pixel_resize(&shown->original, all, h, w, SR_FILTER_BILINEAR, s->pool, &small));
    }
    SR_TRY(keep(s, cell, small.H, small.W, words));
    memcpy(cell->rgb, small.rgb, (size_t)small.H * small.W * 3);
    return SR_OK;
}

static SrStatus keep_view(Sheet *s, Cell *cell, const SrViewPreview *shown, int v) {
    const SrImage *view = &shown->views.view[v];
    char words[1024];
    const char *told = shown->told[v].s;
    snprintf(words, sizeof words, "%d x %d; %s", view->W, view->H,
             told ? told : "no random choices");
    SrImage image;
    SR_TRY(keep(s, cell, view->H, view->W, words));
    SR_TRY(sr_show_view(&s->un, view->f, view->H, view->W, view->channels, s->pool, &image));
    memcpy(cell->rgb, image.rgb, (size_t)view->H * (size_t)view->W * 3);
    return SR_OK;
}

static SrStatus keep_views(Sheet *s, Cell *row, const SrViewPreview *shown, int64_t in_set) {
    SR_TRY(keep_original(s, &row[0], shown, in_set));
    for (int v = 0; v < shown->views.n && v + 1 < s->columns; v++)
        SR_TRY(keep_view(s, &row[1 + v], shown, v));
    return SR_OK;
}

static SrStatus fill_row(Sheet *s, int row, int64_t epoch, int64_t index, int64_t in_set) {
    SrViewPreview shown;
    Cell *cells = s->at + (int64_t)row * s->columns;
    sr_image_pool_reset(s->pool);
    SrStatus status = sr_view_preview_make(&s->source, epoch, index, in_set, s->pool, &shown);
    if (status == SR_OK) {
        status = keep_views(s, cells, &shown, in_set);
    } else if (status == SR_ERR_IO) { // the loader replaces it by grey
        s->report->unreadable++;
        status = keep(s, &cells[0], 1, 1, sr_status_message());
    }
    sr_view_preview_deinit(&shown);
    return status;
}

static SrStatus fill(Sheet *s, int64_t epoch, uint32_t *order, int64_t n, const uint32_t *subset) {
    sr__sampler_order(s->config->seed, epoch, s->source.shuffle, order, n);
    for (int i = 0; i < s->rows; i++)
        SR_TRY(fill_row(s, i, epoch, order[i], subset ? subset[order[i]] : order[i]));
    return SR_OK;
}

// ---- drawing ------------------------------------------------------------------------------------

static int words_height(const Sheet *s, const Cell *cell) {
    return cell->words ? SR_CANVAS_LINE_H * sr_canvas_text(NULL, 0, 0, s->cell, INK, cell->words)
                       : 0;
}

static int measure(Sheet *s) {
    int sum = TITLE + GAP;
    for (int r = 0; r < s->rows; r++) {
        for (int c = 0; c < s->columns; c++) {
            const Cell *cell = &s->at[(int64_t)r * s->columns + c];
            int h = cell->h * cell->zoom + 4 + words_height(s, cell);
            s->height[r] = SR_MAX(s->height[r], h);
        }
        sum += s->height[r] + GAP;
    }
    return sum;
}

static void draw_cell(const Sheet *s, SrCanvas *canvas, int x, int y, const Cell *cell) {
    if (!cell->rgb)
        return;
    int h = cell->h * cell->zoom, w = cell->w * cell->zoom;
    sr_canvas_box(canvas, x - 1, y - 1, w + 2, h + 2, FRAME);
    sr_canvas_image(canvas, x, y, cell->rgb, cell->h, cell->w, cell->zoom);
    sr_canvas_text(canvas, x, y + h + 4, s->cell, INK, cell->words);
}

static SrStatus draw(Sheet *s, const SrSheetOptions *o, SrText *out) {
    SrCanvas canvas;
    char title[512];
    int h = measure(s), w = GAP + s->columns * (s->cell + GAP), y = TITLE + GAP;
    SR_TRY(sr_canvas_init(&canvas, h, w, PAPER));
    snprintf(
        title, sizeof title,
        "%s: seed %llu, epoch %lld. Photos on the left, then each view as the network sees it.",
        s->config->path, (unsigned long long)s->config->seed, (long long)o->epoch);
    sr_canvas_text(&canvas, GAP, GAP, w - 2 * GAP, PALE, title);
    for (int r = 0; r < s->rows; r++) {
        for (int c = 0; c < s->columns; c++)
            draw_cell(s, &canvas, GAP + c * (s->cell + GAP), y,
                      &s->at[(int64_t)r * s->columns + c]);
        y += s->height[r] + GAP;
    }
    sr_png_encode(canvas.rgb, h, w, out);
    sr_canvas_deinit(&canvas);
    s->report->h = h;
    s->report->w = w;
    return out->failed ? out_of_memory() : SR_OK;
}

// ---- all ----------------------------------------------------------------------------------------

// Returns the configuration of the loader of the open training part.
static SrLoaderConfig source_of(const SrConfig *config, const SrSplit *split) {
    const SrSplitConfig *c = &config->train;
    return (SrLoaderConfig){.dataset = split->source,
                            .set = split->set,
                            .limit = c->data_limit,
                            .limit_balanced = c->data_limit_balanced,
                            .limit_seed = (uint64_t)c->data_limit_seed,
                            .limit_skip = c->data_limit_skip,
                            .pipeline = split->pipeline,
                            .shuffle = true,
                            .fast = c->pixels == SR_PIXELS_FAST,
                            .seed = config->seed};
}

static SrStatus make(Sheet *s, const SrSheetOptions *o, SrText *out) {
    uint32_t *subset = NULL, *order = NULL;
    int64_t n;
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS];
    SrStatus status;
    const SrSubset chosen = sr_loader_subset(&s->source);
    SR_TRY(sr__sampler_subset(&chosen, &subset, &n));
    s->rows = (int)SR_MIN(n, SR_MIN(o->images, SR_SHEET_MAX_IMAGES));
    SR_TRY_GOTO(sr_pipeline_shape(s->source.pipeline, &s->columns, h, w));
    *s->report = (SrSheetReport){.images = s->rows, .views = s->columns};
    s->columns++;
    s->cell = CELL;
    s->at = sr_arena_alloc(&s->arena, (size_t)(s->rows * s->columns) * sizeof *s->at);
    s->height = sr_arena_alloc(&s->arena, (size_t)s->rows * sizeof *s->height);
    order = sr_alloc((size_t)n * sizeof *order);
    SR_TRY_GOTO(s->at && s->height && order ? SR_OK : out_of_memory());
    SR_TRY_GOTO(sr_image_pool_new(&s->pool));
    SR_TRY_GOTO(fill(s, o->epoch, order, n, subset));
    SR_TRY_GOTO(draw(s, o, out));
done:
    sr_image_pool_free(s->pool);
    sr_free(subset);
    sr_free(order);
    return status;
}

SrStatus sr_contact_sheet(const SrConfig *config, const SrSheetOptions *options, SrText *out,
                          SrSheetReport *report) {
    SrConfig *alone;
    SrSplit split = {.note = ""};
    SR_TRY(sr_config_copy(config, &alone));
    alone->num_dataloader_workers = 0; // few images need no loader threads
    alone->train.batchsize_per_replica = 1;
    SrStatus status = sr_split_open_train(alone, &split);
    if (status == SR_OK) {
        Sheet sheet = {.config = config, .source = source_of(config, &split), .report = report};
        sr_unnormalize_of(config->train.transforms, &sheet.un);
        status = make(&sheet, options, out);
        sr_arena_deinit(&sheet.arena);
    }
    sr_split_close(&split);
    sr_config_free(alone);
    return status;
}
