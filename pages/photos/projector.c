// Writes the contact sheet and the files of the embedding projector for TensorBoard.
#include "pages/photos/projector.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "pages/photos/contact_sheet.h"
#include "trainer/run/meters/tensorboard.h"

enum { THUMB = 48 }; // side of a picture in the sprite, pixels

static SrStatus path_of(const SrConfig *config, const char *name, char out[4096]) {
    char dir[4096];
    SR_TRY(sr_file_join(dir, sizeof dir, config->checkpoint.dir, SR_TENSORBOARD_DIR));
    SR_TRY(sr_file_mkdirs(dir));
    return sr_file_join(out, 4096, dir, name);
}

// Writes a separate run in TensorBoard's list, because a process writes one file per folder.
SrStatus sr_projector_augmentations(const SrConfig *config) {
    char dir[4096];
    SrText png = SR_TEXT_INIT;
    SrSheetReport report;
    SrSheetOptions options = {.images = 8};
    SrEventFile events = {.f = NULL};
    SrStatus status;
    if (!config->tensorboard.on)
        return SR_OK;
    SR_TRY(path_of(config, "augmentations", dir));
    SR_TRY_GOTO(sr_contact_sheet(config, &options, &png, &report));
    SR_TRY_GOTO(sr_event_file_open(&events, dir));
    sr_event_image(&events, 0, "Training/Augmentations", report.h, report.w, &png);
done:
    sr_event_file_close(&events);
    sr_text_deinit(&png);
    return status;
}

static SrStatus write(const SrConfig *config, const char *name, SrText *text) {
    char path[4096];
    SrStatus status = path_of(config, name, path);
    if (status == SR_OK)
        status = sr_file_write_text(path, text);
    sr_text_deinit(text);
    return status;
}

// Appends a field without tabs and line ends, which would end it.
static void add_field(const char *s, SrText *out) {
    for (; *s; s++)
        sr_text_addn(out, *s == '\t' || *s == '\n' || *s == '\r' ? " " : s, 1);
}

static SrStatus write_tables(const SrConfig *config, const SrGalleryData *d) {
    SrText tensors = SR_TEXT_INIT, names = SR_TEXT_INIT;
    char buffer[24];
    sr_text_add(&names, "class\tfile\n"); // files with two columns need a header
    for (int i = 0; i < d->n; i++) {
        for (int c = 0; c < d->after.d; c++)
            sr_text_printf(&tensors, "%s%.6g", c ? "\t" : "",
                           (double)d->after.x[(int64_t)i * d->after.d + c]);
        sr_text_add(&tensors, "\n");
        add_field(sr_gallery_class(d, d->classes > 0 ? d->after.label[i] : -1, buffer), &names);
        sr_text_add(&names, "\t");
        add_field(i < d->files.n ? sr__string_list_get(&d->files, i) : "", &names);
        sr_text_add(&names, "\n");
    }
    SrStatus status = write(config, "tensors.tsv", &tensors);
    SrStatus second = write(config, "metadata.tsv", &names);
    return status == SR_OK ? second : status;
}

// Draws the thumbnails row by row, in the smallest square that holds them.
static SrStatus draw_sprite(const SrGalleryData *d, int columns, uint8_t *all) {
    SrImagePool *pool = NULL;
    uint8_t tile[THUMB * THUMB * 3];
    int64_t side = (int64_t)columns * THUMB;
    SrStatus status = sr_image_pool_new(&pool);
    for (int i = 0; i < d->n && status == SR_OK; i++) {
        status = sr_thumb_scale(&d->thumbs[i], THUMB, pool, tile);
        for (int y = 0; y < THUMB; y++)
            memcpy(all + ((i / columns * THUMB + y) * side + i % columns * THUMB) * 3,
                   tile + y * THUMB * 3, THUMB * 3);
    }
    sr_image_pool_free(pool);
    return status;
}

static SrStatus write_sprite(const SrConfig *config, const SrGalleryData *d) {
    int columns = 1;
    SrText png = SR_TEXT_INIT;
    while (columns * columns < d->n)
        columns++;
    int side = columns * THUMB;
    uint8_t *all = sr_calloc((size_t)side, (size_t)side * 3);
    SR_TRY_MEMORY(all, "the sprite");
    SrStatus status = draw_sprite(d, columns, all);
    if (status == SR_OK)
        sr_png_encode(all, side, side, &png);
    sr_free(all);
    SR_TRY(status);
    return write(config, "sprite.png", &png);
}

SrStatus sr_projector_features(const SrConfig *config, const SrGalleryData *d) {
    SrText text = SR_TEXT_INIT;
    if (!config->tensorboard.on)
        return SR_OK;
    SR_TRY(write_tables(config, d));
    SR_TRY(write_sprite(config, d));
    sr_text_printf(&text,
                   "embeddings {\n  tensor_name: \"features:%s\"\n  tensor_path: \"tensors.tsv\"\n"
                   "  metadata_path: \"metadata.tsv\"\n  sprite {\n    image_path: \"sprite.png\"\n"
                   "    single_image_dim: %d\n    single_image_dim: %d\n  }\n}\n",
                   d->layer, THUMB, THUMB);
    return write(config, "projector_config.pbtxt", &text);
}
