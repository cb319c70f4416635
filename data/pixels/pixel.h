// The pixel arithmetic of PIL and torchvision, with every parameter explicit: nothing here draws a
// random number.
//
// Images are uint8 RGB (H, W, 3) in memory of an image pool.  Functions that take an SrImage *
// alone work in place; those with a pool may point it at new memory.  Each equals PIL 9.4 to the
// grey level (golden cases tf_*).
#ifndef SR_DATA_PIXELS_PIXEL_H
#define SR_DATA_PIXELS_PIXEL_H

#include "data/data.h"

// torchvision's and PIL's numbers.
typedef enum {
    SR_FILTER_NEAREST,
    SR_FILTER_LANCZOS,
    SR_FILTER_BILINEAR,
    SR_FILTER_BICUBIC,
    SR_FILTER_BOX,
    SR_FILTER_HAMMING
} SrFilter;
// For option tables: a name or PIL's number; the index modulo 6 is the filter.
// Choices of an option: each filter by its name, then by PIL's number.  Choice % SR_FILTERS is the SrFilter.
#define SR_FILTERS 6
#define SR_FILTER_CHOICES "nearest|lanczos|bilinear|bicubic|box|hamming|0|1|2|3|4|5"

typedef struct {
    int top, left, h, w;
} SrBox;

typedef struct {
    double top, left, h, w;
} SrArea;

// ---- geometry ----
// The box of src, cut out and then resized to h x w with antialiasing: the filter never sees beyond
// the box.  The box lies inside src.
SrStatus sr_pixel_resize(const SrImage *src, SrBox box, int h, int w, SrFilter filter,
                         SrImagePool *pool, SrImage *out);
// The same for a box that may begin and end between pixels.
typedef struct {
    int h, w;
    SrFilter filter;
    bool flip; // mirrored on the way
    bool fast; // weights of 16 bits instead of 22 where none is negative: now and then a level off
} SrResample;
SrStatus sr_pixel_resample(const SrImage *src, SrArea area, SrResample how, SrImagePool *pool,
                           SrImage *out);
// The box of src; what lies outside src is black.
SrStatus sr_pixel_crop(const SrImage *src, SrBox box, SrImagePool *pool, SrImage *out);
SrStatus sr_pixel_copy(const SrImage *src, SrImagePool *pool, SrImage *out);
void sr_pixel_flip(SrImage *image); // left to right
// Counter-clockwise by `degrees` about the centre, nearest neighbour, same size, black outside.
SrStatus sr_pixel_rotate(SrImage *image, double degrees, SrImagePool *pool);
// Output to input, as PIL's AFFINE: x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5]; bilinear
// or bicubic; what comes from outside has level `fill`.
SrStatus sr_pixel_affine(SrImage *image, const double m[6], SrFilter filter, int fill,
                         SrImagePool *pool);
SrStatus sr_pixel_rotate_filtered(SrImage *image, double degrees, SrFilter filter, int fill,
                                  SrImagePool *pool);
// torchvision's RandomResizedCrop.get_params; draws from rng: up to 10 x (area, aspect), then top,
// left.
SrBox sr_pixel_draw_box(SrRng *rng, int H, int W, const double scale[2], const double ratio[2]);
// Size after torchvision's Resize(size): the shorter side becomes `size`.
void sr_pixel_fit_shorter(int H, int W, int size, int *h, int *w);
// The centred box of h x w; partly outside when the image is smaller.
SrBox sr_pixel_center_box(int H, int W, int h, int w);

// ---- colour ----
typedef enum {
    SR_COLOR_BRIGHTNESS,
    SR_COLOR_CONTRAST,
    SR_COLOR_SATURATION,
    SR_COLOR_HUE,
    SR_COLOR_GRAY
} SrColorKind;
typedef struct {
    SrColorKind kind;
    double factor; // as the functions below take it; none for grey
} SrColorStep;
#define SR_COLOR_STEPS_MAX 8
// n <= SR_COLOR_STEPS_MAX steps, one hue at most, in order, in as few walks as can be.  The same as
// one after the other:
void sr_pixel_color(SrImage *image, const SrColorStep *steps, int n);
void sr_pixel_brightness(SrImage *image, double factor); // blend with black
void sr_pixel_contrast(SrImage *image, double factor);   // blend with the mean grey level
void sr_pixel_saturation(SrImage *image, double factor); // blend with its own grey image
void sr_pixel_hue(SrImage *image, double shift); // in turns, -0.5 .. 0.5, through PIL's 8-bit HSV
void sr_pixel_grayscale(SrImage *image);         // ITU-R 601 luma in all three channels

// ---- photometric ----
// PIL's GaussianBlur(radius): three extended box blurs each way (Gwosdek et al., SSVM 2011).
SrStatus sr_pixel_blur(SrImage *image, double radius, SrImagePool *pool);
void sr_pixel_solarize(SrImage *image, int threshold); // inverts levels >= threshold
void sr_pixel_posterize(SrImage *image, int bits);     // keeps the upper `bits` of 8
void sr_pixel_autocontrast(SrImage *image);            // each channel stretched to 0 .. 255
void sr_pixel_equalize(SrImage *image);                // each channel's histogram made even
void sr_pixel_invert(SrImage *image);
void sr_pixel_solarize_add(SrImage *image, int add); // levels below 128 grow, to 255 at most
SrStatus sr_pixel_sharpness(SrImage *image, double factor, SrImagePool *pool);

// OpenCV's 8-bit BGR2LAB (fixed point, sRGB, D65) to three floats a pixel: L - 50 in -50 .. 50, then a
// and b in -128 .. 127; rgb becomes NULL, f is (H, W, 3).
SrStatus sr_pixel_to_lab(SrImage *image, SrImagePool *pool);

// ---- to floats ----
SrStatus sr_pixel_to_tensor(SrImage *image, SrImagePool *pool); // / 255; rgb becomes NULL
// Both in one walk, a product and a sum a level (1e-7 from the divisions); out (H, W, 3).
void sr_pixel_to_normalized(SrImage *image, const double mean[3], const double std[3], float *out);
void sr_pixel_normalize(SrImage *image, const double mean[3], const double std[3]);

#endif
