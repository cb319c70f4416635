// Parts of the gallery below its map: neighbours before and after training, groups, confusions.
#ifndef SR_PAGES_PHOTOS_GALLERY_PARTS_H
#define SR_PAGES_PHOTOS_GALLERY_PARTS_H

#include "pages/photos/gallery_data.h"

// The gallery while it is written.
typedef struct {
    const SrGalleryData *d;
    SrThumbUse *use; // (n) what each thumbnail is needed for so far
} SrGallery;

// Appends the words on an image, as an attribute holds them: its class, the class that kNN
// predicts if that is another, its file.
void sr_gallery_title(const SrGalleryData *data, int i, SrText *out);
// Appends one thumbnail and notes its use.  more: further classes of the element, each with a
// blank before it.
void sr_gallery_thumb(const SrGallery *gallery, int i, const char *more, SrText *out);

SrStatus sr_gallery_neighbours(const SrGallery *gallery, SrText *out);
SrStatus sr_gallery_groups(const SrGallery *gallery, SrText *out);
SrStatus sr_gallery_classes(const SrGallery *gallery, SrText *out); // nothing without labels

#endif
