// Masks of segments: for each image of a folder a PNG of the same stem whose pixels are classes.
#ifndef SR_FOLDER_PATCHES_MASKS_H
#define SR_FOLDER_PATCHES_MASKS_H

#include "folder/image_set.h"
#include "measure/confusion.h"

typedef struct {
    int h, w;       // of the mask and of its image.  0: the image is left out
    uint8_t *class; // (h, w) index of a class, or SR_CONFUSION_IGNORED; owned
} SrMask;

typedef struct {
    int64_t n;    // images of the set
    SrMask *mask; // (n)
    int classes;
    int value[SR_CONFUSION_CLASSES]; // (classes) number of each class in the files, rising
    int64_t bad;                     // images left out, because they cannot be read
    int64_t blank;                   // images left out, because their masks have no class
} SrMasks;

// Reads FOLDER/hat/3.png, or else FOLDER/3.png, for an image hat/3.jpg of the set.  A pixel of 255
// does not count, and an image whose mask is 255 everywhere is left out.  Free *out with
// sr_masks_deinit, also after a failure.
//
// SR_ERR_CONFIG: a mask is missing, is no PNG of one channel, or has another size than its image;
// all masks have fewer than two classes, or more than SR_CONFUSION_CLASSES.
SrStatus sr_masks_read(const char *folder, const SrImageSet *images, SrMasks *out);
void sr_masks_deinit(SrMasks *masks); // legal for a zeroed struct

#endif
