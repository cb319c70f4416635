// The table of image files' endings.
#include "data/image_kind.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "gen/build.h"

static const SrImageKind kinds[] = {
    {".jpg", true, NULL},
    {".jpeg", true, NULL},
    {".png", true, NULL},
    {".webp", SR_WEBP, "libwebp-dev"},
    {".tif", SR_TIFF, "libtiff-dev"},
    {".tiff", SR_TIFF, "libtiff-dev"},
    {".heic", SR_HEIF, "libheif-dev"},
    {".heif", SR_HEIF, "libheif-dev"},
    {".avif", SR_HEIF, "libheif-dev"},
    {".gif", true, NULL},
    {".bmp", true, NULL},
    {".ppm", true, NULL},
    {".pgm", true, NULL},
    {".dcm", true, NULL},
};

const SrImageKind *sr__image_kind_at(int i) { return i < SR_COUNT(kinds) ? &kinds[i] : NULL; }

const SrImageKind *sr__image_kind_find(const char *name, int *number) {
    size_t len = strlen(name);
    for (int i = 0; i < SR_COUNT(kinds); i++) {
        size_t n = strlen(kinds[i].ending);
        if (len > n && strcasecmp(name + len - n, kinds[i].ending) == 0) {
            *number = i;
            return &kinds[i];
        }
    }
    return NULL;
}

const char *sr__image_kinds_text(char out[SR_IMAGE_ENDINGS_BYTES]) {
    int last = 0, at = 0;
    for (int i = 0; i < SR_COUNT(kinds); i++)
        last = kinds[i].read ? i : last;
    out[0] = 0;
    for (int i = 0; i <= last; i++)
        if (kinds[i].read)
            at += snprintf(out + at, (size_t)(SR_IMAGE_ENDINGS_BYTES - at), "%s%s",
                           at == 0     ? ""
                           : i == last ? " or "
                                       : ", ",
                           kinds[i].ending);
    return out;
}
