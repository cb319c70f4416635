// Reads and obeys the orientation of EXIF.  Only the first directory is read: later ones describe
// thumbnails.
#include "data/readers/exif.h"

#include <string.h>

#include "data/image_form.h"
#include "data/image_pool.h"

static uint32_t number_at(const uint8_t *p, int bytes, bool big) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | p[big ? i : bytes - 1 - i];
    return v;
}

int sr__exif_orientation(const uint8_t *p, size_t n) {
    if (n >= 6 && memcmp(p, "Exif\0\0", 6) == 0) {
        p += 6;
        n -= 6;
    }
    if (n < 10 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))
        return 1;
    bool big = p[0] == 'M';
    size_t at = number_at(p + 4, 4, big);
    if (at > n - 2)
        return 1;
    uint32_t entries = number_at(p + at, 2, big);
    for (at += 2; entries > 0 && at + 12 <= n; at += 12, entries--)
        if (number_at(p + at, 2, big) == 0x0112) {
            uint32_t v = number_at(p + at + 8, 2, big);
            return v >= 1 && v <= 8 ? (int)v : 1;
        }
    return 1;
}

// Copies the pixels so that row y and column x of the result come from where the orientation says.
// flip_y and flip_x count from the other end of the source; swap: columns become rows.
static void copy_turned(const SrImage *from, SrImage *to, bool swap, bool flip_y, bool flip_x) {
    size_t bytes = sr_image_pixel_bytes(from);
    const uint8_t *in = sr_image_pixels(from);
    uint8_t *out = sr_image_pixels(to);
    for (int y = 0; y < to->H; y++) {
        for (int x = 0; x < to->W; x++, out += bytes) {
            int row = swap ? x : y, column = swap ? y : x;
            row = flip_y ? from->H - 1 - row : row;
            column = flip_x ? from->W - 1 - column : column;
            memcpy(out, in + ((size_t)row * (size_t)from->W + (size_t)column) * bytes, bytes);
        }
    }
}

SrStatus sr__exif_turn(SrImage *image, int orientation, SrImagePool *pool) {
    static const struct {
        bool swap, flip_y, flip_x;
    } turns[9] = {[2] = {0, 0, 1}, [3] = {0, 1, 1}, [4] = {0, 1, 0}, [5] = {1, 0, 0},
                  [6] = {1, 1, 0}, [7] = {1, 1, 1}, [8] = {1, 0, 1}};
    SrImage turned;
    if (orientation < 2 || orientation > 8)
        return SR_OK;
    bool swap = turns[orientation].swap;
    int h = swap ? image->W : image->H, w = swap ? image->H : image->W;
    SR_TRY(sr_image_new_like(image, h, w, pool, &turned));
    copy_turned(image, &turned, swap, turns[orientation].flip_y, turns[orientation].flip_x);
    *image = turned;
    return SR_OK;
}
