// Output of verbs that can write a page or a contact sheet of photos.
#ifndef SR_CLI_ARGS_PHOTO_PAGE_ARGS_H
#define SR_CLI_ARGS_PHOTO_PAGE_ARGS_H

#include "cli/args/args.h"
#include "pages/photos/photo_files.h"

// The flags --page and --sheet of a struct of options with the member `files` (SrPhotoFiles).
#define SR_PHOTO_FLAGS(type)                                                               \
    SR_FLAG_TEXT(type, files.page, "--page", "FILE.html", "write a page with thumbnails"), \
        SR_FLAG_TEXT(type, files.sheet, "--sheet", "FILE.png",                             \
                     "write a contact sheet, one picture")

// True: one of the files is wanted.
bool sr_photo_files_any(const SrPhotoFiles *files);
// Checks the names of the files before anything is computed.
SrStatus sr_photo_files_check(const SrPhotoFiles *files);
// Ends a verb whose lines are in `out`: prints them, or, if files were written without --json, the
// names of the files.  Frees `out` and returns status.
SrStatus sr_photo_files_print(SrStatus status, const SrPhotoFiles *files, bool json, SrText *out);

#endif
