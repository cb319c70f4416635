// Page of `sslrun linear`: how good the classifier is, compared with what costs nothing, and the
// test photos that it gets wrong.
#ifndef SR_PAGES_PHOTOS_CLASSIFIER_PAGE_H
#define SR_PAGES_PHOTOS_CLASSIFIER_PAGE_H

#include "pages/photos/photo_files.h"
#include "trainer/eval/image_classifier.h"

SrStatus sr_classifier_page(const SrClassifierReport *report, const SrPhotoFiles *files);

#endif
