// Compares two small grey pictures: is one a copy of the other, perhaps a part of it?
#ifndef SR_FOLDER_PICTURE_MATCH_H
#define SR_FOLDER_PICTURE_MATCH_H

#include <stdbool.h>

// Side of the pictures that an index of the model "thumbnail" holds (folder/embedder.h).
enum { SR_PICTURE_SIDE = 32 };

// Returns the largest normalised cross-correlation of the pictures, -1 to 1, over places and sizes:
// `a` whole or a part of it down to 22/32 of each side against the whole of `b`, and the reverse.
// Brightness and contrast do not count.  0: a picture without detail.  a, b: (32, 32) rows of
// an index.  mirrored: `b` is mirrored first.  Thread-safe.
float sr_picture_match(const float *a, const float *b, bool mirrored);

#endif
