// The images of a run through its trunk's eyes: a map of test images, neighbours before and after training, what
// prototypes or clusters hold, which classes are taken for which, and the images taken for another class.
//
// It is one piece of HTML, kept in the run folder beside the page that shows it, so that the page can be written again
// without the photos.
#ifndef SR_PAGES_IMAGE_GALLERY_H
#define SR_PAGES_IMAGE_GALLERY_H

#include "pages/gallery_data.h"

#define SR_GALLERY_FILE ".report_images"

typedef struct {
    int images;
    double features_s, seconds; // for features alone; all
    size_t bytes;
} SrGalleryReport;

// trained: parameters have their values, which stay; with heads where they are to be shown.  Writes
// <CHECKPOINT.DIR>/.report_images.
SrStatus sr_image_gallery(const SrConfig *config, SrModel *trained, const SrGalleryOptions *options,
                          SrGalleryReport *out);

// The same of a finished or stopped run: with the weights of its newest checkpoint and its own configuration.
SrStatus sr_image_gallery_again(const char *run, const SrGalleryOptions *options,
                                SrGalleryReport *out);

#endif
