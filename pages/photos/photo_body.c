// Collects photos and the HTML around them.
#include "pages/photos/photo_body.h"

#include <string.h>

#include "base/mem.h"
#include "data/image_pool.h"
#include "pages/html.h"

SrStatus sr_photo_body_new(SrPhotoBody **out) {
    SrPhotoBody *b = *out = sr_calloc(1, sizeof *b);
    SR_TRY_MEMORY(b, "a page of photos");
    return sr_image_pool_new(&b->pool);
}

void sr_photo_body_free(SrPhotoBody *b) {
    if (!b)
        return;
    for (int i = 0; i < b->n; i++)
        sr_thumb_deinit(&b->thumb[i]);
    sr_image_pool_free(b->pool);
    sr_text_deinit(&b->html);
    sr_arena_deinit(&b->arena);
    sr_free(b);
}

void sr_photo_body_section(SrPhotoBody *b, const char *heading) {
    const char *copy = sr_arena_strdup(&b->arena, heading);
    b->html.failed = b->html.failed || !copy;
    if (copy && b->n_sections < SR_PHOTO_SECTIONS_MOST)
        b->section[b->n_sections++] = (SrPhotoSection){copy, b->n};
}

void sr_photo_body_begin(SrPhotoBody *b) { sr_text_add(&b->html, "<div class=\"thumbs\">\n"); }
void sr_photo_body_end(SrPhotoBody *b) { sr_text_add(&b->html, "</div>\n"); }

bool sr_photo_body_add(SrPhotoBody *b, const char *path, const char *caption) {
    const char *slash = strrchr(path, '/');
    int i = b->n;
    if (i == SR_PHOTOS_MOST)
        return false;
    sr_image_pool_reset(b->pool);
    if (sr_thumb_of_file(path, b->pool, &b->thumb[i]) != SR_OK)
        sr_status_clear(); // a photo that cannot be opened has an empty place
    b->use[i] = SR_THUMB_LARGE;
    b->caption[i] = sr_arena_strdup(&b->arena, caption);
    b->name[i] = sr_arena_strdup(&b->arena, slash ? slash + 1 : path);
    b->html.failed = b->html.failed || !b->caption[i] || !b->name[i];
    sr_text_printf(&b->html, "<span><span class=\"t s%d\" role=\"img\" title=\"", i);
    if (*caption)
        sr_html_text(&b->html, "%s: ", caption);
    sr_html_escape(path, &b->html);
    sr_text_add(&b->html, "\"></span><small>");
    sr_html_escape(caption, &b->html);
    sr_text_add(&b->html, "</small></span>\n");
    b->n++;
    return true;
}
