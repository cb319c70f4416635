// Draws maps of patches as pictures.
#include "pages/photos/segment_pictures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "data/pixels/pixel.h"
#include "data/pixels/pixel_resample.h"
#include "measure/patches/patch_maps.h"
#include "pages/html.h"

enum { LABELS = 256 };
#define TINT 0.6 // share of a segment's colour in a pixel; the rest is the image

static SrStatus out_of_memory(void) { return sr_out_of_memory("pictures"); }

SrStatus sr_segment_pictures_init(SrSegmentPictures *p) {
    SR_TRY(sr_image_pool_new(&p->pool));
    return p->folder ? sr_file_mkdirs(p->folder) : SR_OK;
}

void sr_segment_pictures_deinit(SrSegmentPictures *p) {
    sr_strips_deinit(&p->strips);
    sr_image_pool_free(p->pool);
    p->pool = NULL;
}

// ---- colours ------------------------------------------------------------------------------------

void sr_segment_paint(const SrImage *image, const uint8_t *label, int n, SrImage *out) {
    uint32_t color[LABELS];
    char text[8];
    for (int i = 0; i < n; i++)
        color[i] = (uint32_t)strtoul(sr_html_color(i, n, text) + 1, NULL, 16);
    for (int64_t i = 0; i < (int64_t)image->H * image->W * 3; i++) {
        int k = label[i / 3];
        double own = image->rgb[i];
        double tint = k < n ? (double)(color[k] >> (16 - 8 * (i % 3)) & 255) : own;
        out->rgb[i] = (uint8_t)lrint(own + (tint - own) * TINT);
    }
}

void sr_segment_key(const char *const *name, int n, SrText *out) {
    sr_text_add(out, "<p class=\"key\">");
    for (int i = 0; i < n; i++) {
        char color[8];
        sr_text_printf(out, "<span><i style=\"background:%s\"></i>", sr_html_color(i, n, color));
        sr_html_escape(name[i], out);
        sr_text_add(out, "</span>\n");
    }
    sr_text_add(out, "</p>\n");
}

// ---- pictures -----------------------------------------------------------------------------------

// Decodes an image and bounds its size.  Also finds its name.  original: gets the image as it is;
// NULL: not wanted.
static SrStatus open_image(SrSegmentPictures *p, int64_t image, SrImage *out, SrImage *original) {
    SrImage whole;
    sr_image_pool_reset(p->pool);
    SR_TRY(sr_image_set_name(p->images, image, p->pool, &p->name));
    SR_TRY(sr_image_set_decode(p->images, image, p->pool, &whole));
    double zoom = (double)SR_SEGMENT_PICTURE_MOST / SR_MAX(whole.H, whole.W);
    *out = whole;
    if (original)
        *original = whole;
    if (zoom >= 1)
        return SR_OK;
    int h = SR_MAX((int)lrint(whole.H * zoom), 1), w = SR_MAX((int)lrint(whole.W * zoom), 1);
    return sr_pixel_resize(&whole, (SrBox){0, 0, whole.H, whole.W}, h, w, SR_FILTER_BILINEAR,
                           p->pool, out);
}

static SrStatus write_picture(const SrSegmentPictures *p, int64_t image, const SrImage *picture,
                              char *path) {
    SrText png = SR_TEXT_INIT;
    *path = '\0';
    if (!p->folder)
        return SR_OK;
    sr_image_set_picture_path(p->folder, p->name, image, path);
    sr_png_encode(picture->rgb, picture->H, picture->W, &png);
    SrStatus status = sr_file_write_text(path, &png);
    sr_text_deinit(&png);
    return status;
}

static SrStatus keep(SrSegmentPictures *p, int64_t image, const SrImage panel[2],
                     const char *caption, char *path) {
    SR_TRY(write_picture(p, image, &panel[1], path));
    return p->strips_wanted ? sr_strips_add(&p->strips, panel, 2, p->name, caption, p->pool)
                            : SR_OK;
}

SrStatus sr_segment_draw_colors(SrSegmentPictures *p, int64_t image, const float *map, char *path) {
    SrImage panel[2];
    SR_TRY(open_image(p, image, &panel[0], NULL));
    int h = panel[0].H, w = panel[0].W;
    SR_TRY(sr_image_new(p->pool, h, w, &panel[1]));
    size_t n = (size_t)h * (size_t)w * 3;
    float *color = sr_image_pool_take(p->pool, n * sizeof *color);
    if (!color)
        return out_of_memory();
    sr_patch_resize(map, p->rows, p->columns, 3, h, w, color);
    for (size_t i = 0; i < n; i++)
        panel[1].rgb[i] = (uint8_t)lrintf(255 * color[i]);
    return keep(p, image, panel, "", path);
}

SrStatus sr_segment_draw_scores(SrSegmentPictures *p, int64_t image, const float *score, int k,
                                const char *caption, char *path) {
    SrImage panel[2];
    SR_TRY(open_image(p, image, &panel[0], NULL));
    int h = panel[0].H, w = panel[0].W;
    SR_TRY(sr_image_new(p->pool, h, w, &panel[1]));
    uint8_t *label = sr_image_pool_take(p->pool, (size_t)h * (size_t)w);
    if (!label)
        return out_of_memory();
    sr_patch_argmax(score, p->rows, p->columns, k, h, w, label);
    sr_segment_paint(&panel[0], label, k, &panel[1]);
    return keep(p, image, panel, caption, path);
}

// Resizes by taking the nearest pixel of each block.
static void shrink_labels(const uint8_t *label, int h, int w, const SrImage *to, uint8_t *out) {
    for (int64_t i = 0; i < (int64_t)to->H * to->W; i++) {
        int y = (int)((i / to->W) * h / to->H), x = (int)((i % to->W) * w / to->W);
        out[i] = label[(int64_t)y * w + x];
    }
}

SrStatus sr_segment_draw_prediction(SrSegmentPictures *p, int64_t image, const uint8_t *truth,
                                    const uint8_t *predicted, int n) {
    SrImage panel[3], whole;
    char path[SR_PICTURE_PATH_BYTES];
    SR_TRY(open_image(p, image, &panel[0], &whole));
    const uint8_t *label[] = {truth, predicted};
    uint8_t *small = sr_image_pool_take(p->pool, (size_t)panel[0].H * (size_t)panel[0].W);
    if (!small)
        return out_of_memory();
    for (int i = 0; i < 2; i++) {
        SR_TRY(sr_image_new(p->pool, panel[0].H, panel[0].W, &panel[i + 1]));
        shrink_labels(label[i], whole.H, whole.W, &panel[0], small);
        sr_segment_paint(&panel[0], small, n, &panel[i + 1]);
    }
    SR_TRY(write_picture(p, image, &panel[2], path));
    return p->strips_wanted ? sr_strips_add(&p->strips, panel, 3, p->name, "", p->pool) : SR_OK;
}
