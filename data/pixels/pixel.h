// Pixel arithmetic of PIL and torchvision with explicit parameters.  Only sr_pixel_draw_box draws
// random numbers.
//
// Images are uint8 RGB (H, W, 3) in memory of an image pool; the geometry and the blur also take
// floats of any number of channels (data/pixels/pixel_wide.h).  A function with an SrImage * alone
// works in place; one with a pool may point the image at new memory.  Results equal those of PIL
// 9.4 to the grey level (golden cases tf_*).
#ifndef SR_DATA_PIXELS_PIXEL_H
#define SR_DATA_PIXELS_PIXEL_H

#include "data/data.h"

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

// ---- geometry ----
// Cuts out a box of src and resizes it to h x w with antialiasing.  The box must lie inside src,
// and the filter does not look beyond the box.
SrStatus sr_pixel_resize(const SrImage *src, SrBox box, int h, int w, SrFilter filter,
                         SrImagePool *pool, SrImage *out);
// How to resample an area.
typedef struct {
    int h, w; // size of the result in pixels
    SrFilter filter;
    bool flip; // mirror left to right
    bool fast; // use weights of 16 bits, not 22, if none is negative: some levels differ by one
} SrResample;
// Resizes an area of src, which may begin and end between pixels.
SrStatus sr_pixel_resample(const SrImage *src, SrArea area, SrResample how, SrImagePool *pool,
                           SrImage *out);
// Cuts out a box of src; parts outside src are black.
SrStatus sr_pixel_crop(const SrImage *src, SrBox box, SrImagePool *pool, SrImage *out);
SrStatus sr_pixel_copy(const SrImage *src, SrImagePool *pool, SrImage *out);
void sr_pixel_flip(SrImage *image); // left to right
// Rotates counter-clockwise by `degrees` about the centre by nearest neighbour.  The size stays,
// and pixels from outside are black.
SrStatus sr_pixel_rotate(SrImage *image, double degrees, SrImagePool *pool);
// Applies PIL's AFFINE, where m maps output to input: x' = m[0] x + m[1] y + m[2] and y' = m[3] x +
// m[4] y + m[5].  The filter is bilinear or bicubic; pixels from outside have level `fill`.
SrStatus sr_pixel_affine(SrImage *image, const double m[6], SrFilter filter, int fill,
                         SrImagePool *pool);
SrStatus sr_pixel_rotate_filtered(SrImage *image, double degrees, SrFilter filter, int fill,
                                  SrImagePool *pool);
// Draws a box as torchvision's RandomResizedCrop.get_params does: up to 10 times (area, aspect),
// then top and left.
SrBox sr_pixel_draw_box(SrRng *rng, int H, int W, const double scale[2], const double ratio[2]);
// Gives the size after torchvision's Resize(size): the shorter side becomes `size`.
void sr_pixel_fit_shorter(int H, int W, int size, int *h, int *w);
// Returns the centred box of h x w, which lies partly outside if the image is smaller.
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
    double factor; // factor or shift of the functions below; unused for grey
} SrColorStep;
#define SR_COLOR_STEPS_MAX 8
// Does n <= SR_COLOR_STEPS_MAX steps in order, at most one of them hue, in few walks over the
// image. The result equals that of the functions below, called one by one.
void sr_pixel_color(SrImage *image, const SrColorStep *steps, int n);
void sr_pixel_brightness(SrImage *image, double factor); // blend with black
void sr_pixel_contrast(SrImage *image, double factor);   // blend with the mean grey level
void sr_pixel_saturation(SrImage *image, double factor); // blend with its own grey image
void sr_pixel_hue(SrImage *image, double shift);         // -0.5 .. 0.5 turns, through 8-bit HSV
void sr_pixel_grayscale(SrImage *image);                 // ITU-R 601 luma in all three channels

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

// Converts by OpenCV's 8-bit BGR2LAB (fixed point, sRGB, D65) to three floats per pixel: L - 50 in
// -50 .. 50, then a and b in -128 .. 127.  rgb becomes NULL, and f is (H, W, 3).
SrStatus sr_pixel_to_lab(SrImage *image, SrImagePool *pool);

// ---- to floats ----
// / 255; rgb becomes NULL.  Floats stay as they are.
SrStatus sr_pixel_to_tensor(SrImage *image, SrImagePool *pool);
// Does sr_pixel_to_tensor and sr_pixel_normalize in one walk into out (H, W, C).  For bytes a
// product and a sum replace the divisions, which changes results by about 1e-7.
void sr_pixel_to_normalized(SrImage *image, const double *mean, const double *std, float *out);
// mean, std: (C) one value for each channel.
void sr_pixel_normalize(SrImage *image, const double *mean, const double *std);

#endif
