// Types and rules of this folder, the pixel arithmetic of PIL and torchvision with explicit
// parameters.  Only sr_pixel_draw_box draws random numbers.
//
// Images are uint8 RGB (H, W, 3) in memory of an image pool; the geometry and the blur also take
// floats of any number of channels (data/pixels/pixel_wide.h).  A function with an SrImage * alone
// works in place; one with a pool may point the image at new memory.  Results equal those of PIL
// 9.4 to the grey level (golden cases tf_*).
#ifndef SR_DATA_PIXELS_PIXEL_H
#define SR_DATA_PIXELS_PIXEL_H

#include "data/image_pool.h"

// Filters, with the numbers of PIL and torchvision.
typedef enum {
    SR_FILTER_NEAREST,
    SR_FILTER_LANCZOS,
    SR_FILTER_BILINEAR,
    SR_FILTER_BICUBIC,
    SR_FILTER_BOX,
    SR_FILTER_HAMMING
} SrFilter;
// Choices for option tables: each filter by name, then by PIL's number.  The index of a choice
// modulo SR_FILTERS is the SrFilter.
#define SR_FILTERS 6
#define SR_FILTER_CHOICES "nearest|lanczos|bilinear|bicubic|box|hamming|0|1|2|3|4|5"

typedef struct {
    int top, left, h, w;
} SrBox;

typedef struct {
    double top, left, h, w;
} SrArea;

// How to resample an area.
typedef struct {
    int h, w; // size of the result in pixels
    SrFilter filter;
    bool flip; // mirror left to right
    bool fast; // use weights of 16 bits, not 22, if none is negative: some levels differ by one
} SrResample;

#endif
