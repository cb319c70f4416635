// Prints lines, or the names of the files that hold the photos.
#include "cli/args/photo_page_args.h"

bool sr_photo_files_any(const SrPhotoFiles *f) { return f->page || f->sheet; }

SrStatus sr_photo_files_check(const SrPhotoFiles *f) {
    if (f->sheet && !sr_text_ends(f->sheet, ".png"))
        SR_FAIL(SR_ERR_CONFIG, "--sheet %s: the name should end in .png", f->sheet);
    return SR_OK;
}

SrStatus sr_photo_files_print(SrStatus status, const SrPhotoFiles *f, bool json, SrText *out) {
    if (status == SR_OK && sr_photo_files_any(f) && !json) {
        sr_text_deinit(out);
        if (f->page)
            sr_text_printf(out, "%s\n", f->page);
        if (f->sheet)
            sr_text_printf(out, "%s\n", f->sheet);
    }
    if (status == SR_OK)
        return sr_args_print(out);
    sr_text_deinit(out);
    return status;
}
