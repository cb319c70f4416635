// Prints lines or the name of a page.
#include "cli/photo_page_args.h"

SrStatus sr_photo_page_print(SrStatus status, const char *page, bool json, SrText *out) {
    if (status == SR_OK && page && !json) {
        sr_text_deinit(out);
        sr_text_printf(out, "%s\n", page);
    }
    if (status == SR_OK)
        return sr_args_print(out);
    sr_text_deinit(out);
    return status;
}
