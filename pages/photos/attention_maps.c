// Computes shares of attention from the trunk's last attention, and draws them as pictures.
#include "pages/photos/attention_maps.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "data/load/loader.h"
#include "data/pipeline.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "pages/html.h"
#include "pages/photos/contact_sheet.h"

enum { IMAGES = 8, HEADS_SHOWN = 6, MOST_PREFIX = 16, GAP = 4, QUALITY = 82 };
#define NODE "lastATT" // trunks give the last attention this alias

static SrStatus out_of_memory(void) { return sr_out_of_memory("the maps of attention"); }

// ---- numbers ------------------------------------------------------------------------------------

// Finds the grid of patches among L tokens: a few tokens are no patches, and the grid has the
// image's proportions.
static bool find_grid(int L, int h, int w, int *rows, int *cols) {
    for (int prefix = 0; prefix <= MOST_PREFIX && prefix < L; prefix++) {
        int patches = L - prefix, side = (int)lround(sqrt((double)patches * h / w));
        if (side > 0 && patches % side == 0 && side * w == patches / side * h) {
            *rows = side;
            *cols = patches / side;
            return true;
        }
    }
    return false;
}

// Computes one head's share of attention per patch, which sums to 1.
static void shares_of_head(const float *att, int L, int prefix, float *share) {
    int patches = L - prefix;
    double sum = 0;
    for (int p = 0; p < patches; p++) {
        double taken = 0;
        for (int q = 0; q < (prefix ? 1 : L); q++)
            taken += (double)att[(int64_t)q * L + prefix + p];
        share[p] = (float)taken;
        sum += taken;
    }
    for (int p = 0; p < patches; p++)
        share[p] = (float)((double)share[p] / (sum > 0 ? sum : 1));
}

void sr_attention_shares(const float *att, int E, int L, int rows, int cols, float *share) {
    for (int e = 0; e < E; e++)
        shares_of_head(att + (int64_t)e * L * L, L, L - rows * cols, share + e * rows * cols);
}

// ---- filling ------------------------------------------------------------------------------------

typedef struct {
    SrAttentionMaps *maps;
    SrSplit *split;
    SrUnnormalize un;
    SrImagePool *pool;
    SrFeatureSource source;
} Fill;

static SrStatus keep_image(Fill *f, const float *x) {
    SrAttentionMaps *m = f->maps;
    SrImage image, small;
    int h = f->split->h[0], w = f->split->w[0];
    size_t bytes = (size_t)SR_ATTENTION_SIDE * SR_ATTENTION_SIDE * 3;
    int channels = sr_pipeline_form(f->split->pipeline).channels;
    int64_t samples = (int64_t)h * w * sr_channels(channels);
    memcpy((float *)sr_feature_source_input(&f->source).data + m->n * samples, x,
           (size_t)samples * sizeof *x);
    sr_image_pool_reset(f->pool);
    SR_TRY(sr_show_view(&f->un, x, h, w, channels, f->pool, &image));
    SR_TRY(sr_pixel_resize(&image, (SrBox){0, 0, h, w}, SR_ATTENTION_SIDE, SR_ATTENTION_SIDE,
                           SR_FILTER_BILINEAR, f->pool, &small));
    memcpy(m->rgb + m->n * bytes, small.rgb, bytes);
    m->n++;
    return SR_OK;
}

static SrStatus take_images(Fill *f) {
    const SrBatch *batch;
    SR_TRY(sr_loader_start(f->split->loader, 0, 0));
    while (f->maps->n < IMAGES) {
        SR_TRY(sr_loader_next(f->split->loader, &batch, NULL));
        if (!batch)
            break;
        int64_t image = (int64_t)batch->h[0] * batch->w[0] * sr_channels(batch->channels);
        for (int i = 0; i < batch->batch && f->maps->n < IMAGES; i++)
            if (batch->valid[i] >= 0)
                SR_TRY(keep_image(f, batch->view[0] + i * image));
    }
    return SR_OK;
}

static SrStatus fill(Fill *f) {
    SrAttentionMaps *m = f->maps;
    SrTensor in = sr_feature_source_input(&f->source);
    SrTensor att = sr_feature_source_value(&f->source, 0); // (IMAGES, E, L, L)
    int L = att.shape.d[2];
    m->heads = att.shape.d[1];
    if (!find_grid(L, f->split->h[0], f->split->w[0], &m->rows, &m->cols))
        return SR_OK;
    int64_t of_image = (int64_t)m->heads * m->rows * m->cols;
    m->share = sr_calloc((size_t)(IMAGES * of_image), sizeof *m->share);
    m->rgb = sr_calloc(IMAGES, (size_t)SR_ATTENTION_SIDE * SR_ATTENTION_SIDE * 3);
    SR_TRY(m->share && m->rgb ? SR_OK : out_of_memory());
    memset(in.data, 0, (size_t)sr_shape_count(in.shape) * sizeof(float));
    SR_TRY(take_images(f));
    sr_feature_source_forward(&f->source);
    for (int i = 0; i < m->n; i++)
        sr_attention_shares((const float *)att.data + (int64_t)i * m->heads * L * L, m->heads, L,
                            m->rows, m->cols, m->share + i * of_image);
    return SR_OK;
}

static SrStatus fill_maps(Fill *f, const SrConfig *config) {
    const SrYaml *transforms = NULL;
    const char *where;
    SR_TRY(sr_feature_source_choose(&f->source, NODE));
    SR_TRY(sr_feature_source_compile(&f->source));
    SR_TRY(sr_split_eval_transforms(config, f->split->h[0], &f->split->arena, &transforms, &where));
    sr_unnormalize_of(transforms, &f->un);
    SR_TRY(sr_image_pool_new(&f->pool));
    return fill(f);
}

SrStatus sr_attention_maps_fill(SrModel *model, SrBaselines *sides, SrAttentionMaps *out) {
    Fill f = {.maps = out, .split = &sides->test};
    SrStatus status = SR_OK;
    SrFeatureOptions o = {.model = model,
                          .live = true,
                          .batch = IMAGES,
                          .height = f.split->h[0],
                          .width = f.split->w[0]};
    *out = (SrAttentionMaps){.n = 0};
    SR_TRY(sr_feature_source_build(&o, &f.source));
    if (sr_graph_find(f.source.whole, NODE) != SR_NO_NODE)
        status = fill_maps(&f, sides->config);
    sr_feature_source_close(&f.source);
    sr_image_pool_free(f.pool);
    return status;
}

void sr_attention_maps_deinit(SrAttentionMaps *m) {
    sr_free(m->share);
    sr_free(m->rgb);
    *m = (SrAttentionMaps){.n = 0};
}

// ---- pictures -----------------------------------------------------------------------------------

// Maps v in [0, 1] to black, red, yellow and white; returns one channel.
static double heat(double v, int channel) { return fmin(fmax(3 * v - channel, 0), 1) * 255; }

typedef struct {
    const SrAttentionMaps *maps;
    uint8_t *sheet; // (H, W, 3)
    int width, columns;
} Sheet;

static uint8_t *place(const Sheet *s, int image, int column, int y) {
    int64_t row = (int64_t)image * (SR_ATTENTION_SIDE + GAP) + y;
    return s->sheet + (row * s->width + column * (SR_ATTENTION_SIDE + GAP)) * 3;
}

// Draws share (rows, cols), brightest at its maximum.
static void draw_map(const Sheet *s, int image, int column, const float *share) {
    const SrAttentionMaps *m = s->maps;
    double most = 1e-12;
    for (int p = 0; p < m->rows * m->cols; p++)
        most = fmax(most, (double)share[p]);
    for (int i = 0; i < SR_ATTENTION_SIDE * SR_ATTENTION_SIDE; i++) {
        int y = i / SR_ATTENTION_SIDE, x = i % SR_ATTENTION_SIDE;
        int patch = y * m->rows / SR_ATTENTION_SIDE * m->cols + x * m->cols / SR_ATTENTION_SIDE;
        const uint8_t *rgb =
            m->rgb + ((int64_t)image * SR_ATTENTION_SIDE * SR_ATTENTION_SIDE + i) * 3;
        double gray = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2];
        for (int c = 0; c < 3; c++)
            place(s, image, column, y)[x * 3 + c] =
                (uint8_t)(0.35 * gray + 0.65 * heat((double)share[patch] / most, c));
    }
}

static void mean_of_heads(const SrAttentionMaps *m, const float *share, float *mean) {
    int patches = m->rows * m->cols;
    for (int p = 0; p < patches; p++) {
        double sum = 0;
        for (int e = 0; e < m->heads; e++)
            sum += (double)share[e * patches + p];
        mean[p] = (float)(sum / m->heads);
    }
}

// Draws the image, the mean over heads, and then each head.
static void draw_row(const Sheet *s, int image, float *mean) {
    const SrAttentionMaps *m = s->maps;
    int patches = m->rows * m->cols;
    const float *share = m->share + (int64_t)image * m->heads * patches;
    for (int y = 0; y < SR_ATTENTION_SIDE; y++)
        memcpy(place(s, image, 0, y),
               m->rgb + ((int64_t)image * SR_ATTENTION_SIDE + y) * SR_ATTENTION_SIDE * 3,
               SR_ATTENTION_SIDE * 3);
    mean_of_heads(m, share, mean);
    draw_map(s, image, 1, mean);
    for (int e = 0; e < s->columns - 2; e++)
        draw_map(s, image, 2 + e, share + e * patches);
}

static void add_picture(const Sheet *s, int height, SrText *out) {
    SrText jpeg = SR_TEXT_INIT;
    sr_jpeg_encode(s->sheet, height, s->width, QUALITY, &jpeg);
    sr_text_printf(out,
                   "<div class=\"wide\"><div role=\"img\" title=\"maps of attention\" "
                   "style=\"width:%dpx;height:%dpx;background-image:url(data:image/jpeg;base64,",
                   s->width, height);
    sr_html_base64(jpeg.s, jpeg.len, out);
    sr_text_add(out, ")\"></div></div>\n");
    out->failed = out->failed || jpeg.failed;
    sr_text_deinit(&jpeg);
}

SrStatus sr_attention_maps_add(const SrAttentionMaps *m, SrText *out) {
    if (m->n == 0)
        return SR_OK;
    int height = m->n * (SR_ATTENTION_SIDE + GAP) - GAP,
        columns = 2 + SR_MIN(m->heads, HEADS_SHOWN);
    Sheet s = {.maps = m, .columns = columns, .width = columns * (SR_ATTENTION_SIDE + GAP) - GAP};
    float *mean = sr_alloc((size_t)m->rows * (size_t)m->cols * sizeof *mean);
    s.sheet = sr_alloc((size_t)height * (size_t)s.width * 3);
    bool enough = mean && s.sheet;
    if (enough) {
        memset(s.sheet, 255, (size_t)height * (size_t)s.width * 3);
        for (int i = 0; i < m->n; i++)
            draw_row(&s, i, mean);
        sr_text_printf(
            out,
            "<h2>Where the last attention looks</h2>\n<p class=\"pale\">Attention of the class "
            "token to each of %d x %d patches: the image, the mean of %d heads, then %d single "
            "heads. The brightest patch of each map gets the most attention.</p>\n",
            m->rows, m->cols, m->heads, columns - 2);
        add_picture(&s, height, out);
    }
    sr_free(mean);
    sr_free(s.sheet);
    return enough ? SR_OK : out_of_memory();
}
