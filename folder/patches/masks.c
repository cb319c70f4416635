// Finds and reads the masks of images, and numbers their classes.
#include "folder/patches/masks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bar.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "data/image_pool.h"
#include "data/readers/png_levels.h"

enum { PATH_BYTES = 4096, LEVELS = 256 };
#define MOST_BYTES ((size_t)1 << 30) // of all masks
#define FILE_BYTES ((size_t)1 << 28) // of one file

// ---- paths --------------------------------------------------------------------------------------

// Writes FOLDER/<name without its ending>.png.
static bool join(const char *folder, const char *name, char path[PATH_BYTES]) {
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    int n = dot ? (int)(dot - name) : (int)strlen(name);
    return snprintf(path, PATH_BYTES, "%s/%.*s.png", folder, n, name) < PATH_BYTES;
}

// Finds the mask of an image.  path: gets the file that was looked for last.
static bool find(const char *folder, const SrImageSet *images, const char *name,
                 char path[PATH_BYTES]) {
    size_t n = strlen(images->path);
    while (n > 0 && images->path[n - 1] == '/')
        n--;
    bool below = strncmp(name, images->path, n) == 0 && name[n] == '/';
    if (below && join(folder, name + n + strspn(name + n, "/"), path) && sr_file_exists(path))
        return true;
    const char *slash = strrchr(name, '/');
    return join(folder, slash ? slash + 1 : name, path) && sr_file_exists(path);
}

// Looks for all masks before anything is read, so that one message counts what is missing.
static SrStatus find_all(const char *folder, const SrImageSet *images, SrImagePool *pool) {
    char path[PATH_BYTES], missing[PATH_BYTES] = "", image[PATH_BYTES] = "";
    int64_t n = 0;
    const char *name;
    if (!sr_file_is_dir(folder))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such folder; expected masks, a PNG for each image", folder);
    for (int64_t i = 0; i < images->n; i++) {
        sr_image_pool_reset(pool);
        SR_TRY(sr_image_set_name(images, i, pool, &name));
        if (!find(folder, images, name, path) && n++ == 0) {
            snprintf(missing, sizeof missing, "%s", path);
            snprintf(image, sizeof image, "%s", name);
        }
    }
    if (n > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%lld of %lld images have no mask, such as %.1000s: expected %.1000s; give a list "
                "(.txt) of the images that have one",
                (long long)n, (long long)images->n, image, missing);
    return SR_OK;
}

// ---- files --------------------------------------------------------------------------------------

// A failure of the system says nothing about the mask, and stays one.
static SrStatus read_levels(const char *path, SrImagePool *pool, int *h, int *w, uint8_t **out) {
    char *bytes;
    size_t n;
    SrStatus status = sr_file_read(path, FILE_BYTES, &bytes, &n);
    if (status == SR_ERR_IO && (errno == 0 || sr_file_is_own_fault(errno)))
        return SR_ERR_CONFIG;
    SR_TRY(status);
    status = sr_png_levels(bytes, n, pool, h, w, out);
    sr_free(bytes);
    return status == SR_ERR_IO ? sr_fail_prefix(SR_ERR_CONFIG, "%s", path) : status;
}

typedef struct {
    SrMasks *masks;
    const char *folder;
    const SrImageSet *images;
    SrImagePool *pool;
    size_t bytes;      // of all masks so far
    bool seen[LEVELS]; // numbers that occur
} Reading;

static bool is_blank(const uint8_t *level, size_t n) {
    for (size_t p = 0; p < n; p++)
        if (level[p] != SR_CONFUSION_IGNORED)
            return false;
    return true;
}

static SrStatus read_mask(Reading *r, int64_t i) {
    char path[PATH_BYTES];
    const char *name;
    uint8_t *level;
    SrImage image;
    SrMask *mask = &r->masks->mask[i];
    int h, w;
    sr_image_pool_reset(r->pool);
    SR_TRY(sr_image_set_name(r->images, i, r->pool, &name));
    SrStatus status = sr_image_set_decode(r->images, i, r->pool, &image);
    if (status == SR_ERR_IO) {
        r->masks->bad++;
        return SR_OK;
    }
    SR_TRY(status);
    find(r->folder, r->images, name, path);
    SR_TRY(read_levels(path, r->pool, &h, &w, &level));
    if (h != image.H || w != image.W)
        SR_FAIL(SR_ERR_CONFIG,
                "%s has %d x %d pixels, but its image %s has %d x %d (height x width): masks need "
                "the size of their images",
                path, h, w, name, image.H, image.W);
    size_t n = (size_t)h * (size_t)w;
    if (is_blank(level, n)) {
        r->masks->blank++;
        return SR_OK;
    }
    r->bytes += n;
    if (r->bytes > MOST_BYTES)
        SR_FAIL(SR_ERR_CONFIG, "%s: the masks take more than %.1f GB; give a list of fewer images",
                r->folder, (double)MOST_BYTES / 1e9);
    *mask = (SrMask){h, w, sr_alloc(n)};
    SR_TRY_MEMORY(mask->class, "masks");
    memcpy(mask->class, level, n);
    for (size_t p = 0; p < n; p++)
        r->seen[level[p]] = true;
    return SR_OK;
}

// Numbers the classes in the order of their values, and checks that they look like classes.
static SrStatus number_classes(Reading *r) {
    SrMasks *m = r->masks;
    uint8_t index[LEVELS];
    int n = 0;
    for (int v = 0; v < SR_CONFUSION_IGNORED; v++)
        n += r->seen[v];
    if (n > SR_CONFUSION_CLASSES)
        SR_FAIL(SR_ERR_CONFIG,
                "the masks in %s have %d different numbers, and %d classes are the most: they look "
                "like pictures, not like masks whose pixels are classes",
                r->folder, n, SR_CONFUSION_CLASSES);
    if (n < 2)
        SR_FAIL(SR_ERR_CONFIG,
                "the masks in %s have %d class%s next to 255, which means ignored; at least 2 are "
                "needed (write 1 for an object, not 255)",
                r->folder, n, n == 1 ? "" : "es");
    for (int v = 0; v < LEVELS; v++) {
        bool class = r->seen[v] && v != SR_CONFUSION_IGNORED;
        index[v] = class ? (uint8_t)m->classes : SR_CONFUSION_IGNORED;
        if (class)
            m->value[m->classes++] = v;
    }
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t p = 0; p < (int64_t)m->mask[i].h * m->mask[i].w; p++)
            m->mask[i].class[p] = index[m->mask[i].class[p]];
    return SR_OK;
}

static SrStatus read_all(Reading *r) {
    SrStatus status = SR_OK;
    SrBar bar;
    sr_bar_begin(&bar, "masks", r->masks->n);
    for (int64_t i = 0; status == SR_OK && i < r->masks->n; i++) {
        sr_bar_at(&bar, i);
        status = read_mask(r, i);
    }
    sr_bar_end(&bar);
    bool any = r->masks->bad < r->masks->n; // without any, the caller says that none can be read
    return status == SR_OK && any ? number_classes(r) : status;
}

SrStatus sr_masks_read(const char *folder, const SrImageSet *images, SrMasks *out) {
    Reading r = {.masks = out, .folder = folder, .images = images};
    *out = (SrMasks){.n = images->n, .mask = sr_calloc((size_t)images->n, sizeof *out->mask)};
    SR_TRY_MEMORY(out->mask, "masks");
    SR_TRY(sr_image_pool_new(&r.pool));
    SrStatus status = find_all(folder, images, r.pool);
    if (status == SR_OK)
        status = read_all(&r);
    sr_image_pool_free(r.pool);
    return status;
}

void sr_masks_deinit(SrMasks *m) {
    for (int64_t i = 0; m->mask && i < m->n; i++)
        sr_free(m->mask[i].class);
    sr_free(m->mask);
    *m = (SrMasks){.n = 0};
}
