// RandomErasing's two halves, so that recorded draws can be replayed.
#ifndef SR_DATA_AUGMENT_ERASING_H
#define SR_DATA_AUGMENT_ERASING_H

#include "data/pixels/pixel.h"

// torchvision's RandomErasing.get_params: up to 10 x (area, aspect), then top, left.  False: no box
// that is smaller than the image both ways was found.
bool sr__erasing_draw(SrRng *rng, int H, int W, const double scale[2], const double ratio[2],
                      SrBox *box);
// The box of a float image (H, W, 3): `level` a channel, or standard normal numbers of `noise`.
void sr__erasing_apply(SrImage *image, SrBox box, const double level[3], SrRng *noise);

#endif
