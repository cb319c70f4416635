// Gallery of a run: how its trunk sees test images.  Shows a map of images, neighbours before and
// after training, members of prototypes or clusters, confusions of classes, and misclassified
// images.
//
// The gallery is a piece of HTML in the run folder, next to the page that shows it.  The page can
// thus be written once more without the photos.
#ifndef SR_PAGES_PHOTOS_IMAGE_GALLERY_H
#define SR_PAGES_PHOTOS_IMAGE_GALLERY_H

#include "pages/photos/gallery_data.h"

#define SR_GALLERY_FILE ".report_images"

typedef struct {
    int images;                 // number of images shown
    double features_s, seconds; // seconds for features alone, and for everything
    size_t bytes;               // size of the HTML
} SrGalleryReport;

// Writes <CHECKPOINT.DIR>/.report_images.  trained: a model with its trained parameters, which do
// not change.  Prototypes are shown only if it has heads.
SrStatus sr_image_gallery(const SrConfig *config, SrModel *trained, const SrGalleryOptions *options,
                          SrGalleryReport *out);

// Writes the gallery of a finished or stopped run, from its newest checkpoint and its
// configuration.
SrStatus sr_image_gallery_again(const char *run, const SrGalleryOptions *options,
                                SrGalleryReport *out);

#endif
