// Changes of brightness, contrast, saturation and hue.
#ifndef SR_DATA_PIXELS_PIXEL_COLOR_H
#define SR_DATA_PIXELS_PIXEL_COLOR_H

#include "data/pixels/pixel.h"

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

#endif
