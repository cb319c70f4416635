// Writes a page, and asks for the contact sheet.
#include "pages/photos/photo_files.h"

#include "base/file.h"
#include "pages/html.h"
#include "pages/photos/photo_sheet.h"

static SrStatus write_page(const SrPhotoBody *b, const char *title, const char *file) {
    SrText out = SR_TEXT_INIT;
    sr_html_begin(title, &out);
    sr_text_add(&out, "<h1>");
    sr_html_escape(title, &out);
    sr_text_add(&out, "</h1>\n");
    SrStatus status = sr_thumbs_style(b->thumb, b->use, b->n, &out);
    sr_text_add(&out, b->html.s ? b->html.s : "");
    sr_html_photo_script(&out);
    sr_html_end(&out);
    if (status == SR_OK)
        status = sr_file_write_text(file, &out);
    sr_text_deinit(&out);
    return status;
}

SrStatus sr_photo_files_write(SrPhotoBody *b, const char *title, const SrPhotoFiles *files) {
    if (b->html.failed)
        return sr_out_of_memory("a page of photos");
    if (files->page)
        SR_TRY(write_page(b, title, files->page));
    return files->sheet ? sr_photo_sheet(b, title, files->sheet) : SR_OK;
}
