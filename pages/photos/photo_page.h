// Pages and contact sheets of photos for verbs that list files of a folder.  A page has thumbnails
// with the path on hover.
//
// Input are the JSON lines that the verbs print with --json.  A file that cannot be opened, such as
// a member of an archive, keeps its place without a picture.
#ifndef SR_PAGES_PHOTOS_PHOTO_PAGE_H
#define SR_PAGES_PHOTOS_PHOTO_PAGE_H

#include "pages/photos/photo_files.h"

// lines: of `similar` for `image`; an empty text is a page of the image alone.
SrStatus sr_photo_page_similar(const SrPhotoFiles *files, const char *image, const SrText *lines);
// lines: groups of `duplicates`, larger ones first.
SrStatus sr_photo_page_duplicates(const SrPhotoFiles *files, const SrText *lines);
// lines: of `predict`.  The page begins with the least certain images.
SrStatus sr_photo_page_predict(const SrPhotoFiles *files, const SrText *lines);
// lines: of `tidy`, by issue, the worst first.  The page shows the worst twelve of each.
SrStatus sr_photo_page_tidy(const SrPhotoFiles *files, const SrText *lines);

// A photo of a list.
typedef struct {
    char *file;
    char *caption; // below the photo
    char *section; // heading above the photos that share it; "": none
} SrPhoto;

// Writes a page of n photos in their order.  intro: a sentence below the title.  left_out: photos
// that the page has no room for; it says so.
SrStatus sr_photo_page_list(const char *file, const char *title, const char *intro,
                            const SrPhoto *photos, int n, int64_t left_out);

#endif
