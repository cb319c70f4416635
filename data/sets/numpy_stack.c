// numpy_stack: one .npy file of images, mapped into memory, so that a stack may be larger than it.
//
// The shape is (N, H, W), (N, H, W, C) or (N, C, H, W) with 1 or 3 channels.  The elements are
// uint8, uint16 (65535 is white) or float32 (1 is white).  Levels are rounded to 8 bits; NaN is
// black.  Floats beyond 0 .. 1 are refused at opening, as far as samples of the stack show them: a
// stack of other units would lose its detail.
//
// A run of C channels, or of samples that keep all bits (SrPixelForm), gets floats: C is the number
// of channels that the run asks for, levels are divided by 255 or 65535, and floats may have any
// units.
//
// LABEL_PATHS names a .npy of (N) integers.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/text/text.h"
#include "data/dataset.h"
#include "data/image_form.h"
#include "data/image_pool.h"
#include "data/sets/source.h"

enum { MAX_SIDE = 65500, LOOKS = 100000, MAX_CLASSES = 1 << 20 };

typedef enum { BYTES, WORDS, FLOATS } Kind;

typedef struct {
    char *path;
    const void *map;
    size_t map_bytes;
    const uint8_t *items; // (n, H, W, C), or (n, C, H, W) if planes is set; may be unaligned
    int64_t n;
    int H, W, C;
    bool planes;
    int floats; // channels of the floats that `read` gives; 0: RGB of 8 bits
    Kind kind;
    int64_t *labels; // (n) classes; NULL: none
    int n_classes;
} Set;

static int item_bytes(Kind kind) { return kind == BYTES ? 1 : kind == WORDS ? 2 : 4; }

static int64_t image_items(const Set *set) { return (int64_t)set->H * set->W * set->C; }

// ---- the file

static SrStatus set_kind(Set *set, const SrNpyHeader *h) {
    bool little = h->order != '>';
    set->kind = h->kind == 'f' ? FLOATS : h->width == 2 ? WORDS : BYTES;
    bool known =
        (h->kind == 'u' && (h->width == 1 || h->width == 2)) || (h->kind == 'f' && h->width == 4);
    if (!known || !little || h->fortran)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: expected uint8, uint16 or float32, little-endian and in C order; "
                "numpy.ascontiguousarray(x, 'float32') makes such an array",
                set->path);
    return SR_OK;
}

// Tells whether an axis of n can be that of the channels.
static bool is_channels(const Set *set, int64_t n) {
    return set->floats > 0 && set->floats != 3 ? n == set->floats : n == 1 || n == 3;
}

// The shorter one of two axes that are not the channels' of a larger number, for a message.
static long long more_channels(const SrNpyHeader *h) {
    return (long long)(h->rank == 4 ? SR_MIN(h->d[1], h->d[3]) : 1);
}

// Tells channels from sides: the number of channels at the end, else after N.
static SrStatus set_shape(Set *set, const SrNpyHeader *h) {
    bool last = h->rank == 4 && is_channels(set, h->d[3]);
    bool first = h->rank == 4 && !last && is_channels(set, h->d[1]);
    bool flat = h->rank == 3 && is_channels(set, 1);
    if (!flat && !last && !first && set->floats > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: expected images (N, H, W, %d) or (N, %d, H, W) for DATA.CHANNELS %d; set "
                "DATA.CHANNELS to the number of channels (%lld?)",
                set->path, set->floats, set->floats, set->floats, more_channels(h));
    if (!flat && !last && !first)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: expected images (N, H, W), or (N, H, W, C) or (N, C, H, W) with 1 or 3 "
                "channels; x[..., :3] takes three of more, and DATA.CHANNELS=%lld all of them",
                set->path, more_channels(h));
    int64_t height = h->d[first ? 2 : 1], width = h->d[first ? 3 : 2];
    if (height < 1 || width < 1 || height > MAX_SIDE || width > MAX_SIDE ||
        height * width > SR_IMAGE_MAX_PIXELS || h->d[0] < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds %lld images of %lld x %lld pixels, expected 1 to %d per "
                "side",
                set->path, (long long)h->d[0], (long long)width, (long long)height, MAX_SIDE);
    set->n = h->d[0];
    set->H = (int)height;
    set->W = (int)width;
    set->C = h->rank == 3 ? 1 : (int)h->d[last ? 3 : 1];
    set->planes = first && set->C > 1;
    return SR_OK;
}

// Maps the file.  *end: where its numbers begin.
static SrStatus map_stack(Set *set, SrNpyHeader *h, size_t *end) {
    SR_TRY(sr_file_map(set->path, &set->map, &set->map_bytes));
    *end = set->map_bytes > SR_NPY_PRELUDE ? sr_npy_header_end(set->map) : 0;
    if (*end == 0 || *end > set->map_bytes)
        SR_FAIL(SR_ERR_CONFIG, "%s is no .npy file, or its header is cut off", set->path);
    return sr_npy_header_read(set->map, *end, set->path, h);
}

static SrStatus open_stack(Set *set) {
    SrNpyHeader h;
    size_t end;
    SR_TRY(map_stack(set, &h, &end));
    SR_TRY(set_kind(set, &h));
    SR_TRY(set_shape(set, &h));
    int64_t per_image = image_items(set) * item_bytes(set->kind);
    if ((int64_t)(set->map_bytes - end) / per_image < set->n)
        SR_FAIL(SR_ERR_CONFIG, "%s is cut off: its header says %lld images of %lld bytes",
                set->path, (long long)set->n, (long long)per_image);
    set->items = (const uint8_t *)set->map + end;
    return SR_OK;
}

static float float_at(const Set *set, int64_t i) {
    float v;
    memcpy(&v, set->items + 4 * i, 4);
    return v;
}

// Looks at numbers in even steps.
static SrStatus check_range(const Set *set) {
    int64_t n = set->n * image_items(set), step = SR_MAX(n / LOOKS, 1);
    if (set->kind != FLOATS || set->floats > 0)
        return SR_OK;
    for (int64_t i = 0; i < n; i += step)
        if (float_at(set, i) < -1e-3F || float_at(set, i) > 1.001F)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s holds the value %g, expected 0 to 1; (x - x.min()) / (x.max() - x.min()) "
                    "brings the numbers there",
                    set->path, (double)float_at(set, i));
    return SR_OK;
}

// ---- labels

static SrStatus take_labels(Set *set, const SrNpy *npy, const char *path) {
    if (npy->rank != 1 || sr_npy_has_strings(npy) || npy->n != set->n)
        SR_FAIL(SR_ERR_CONFIG, "%s: expected %lld whole numbers, a class for each image", path,
                (long long)set->n);
    set->labels = sr_alloc((size_t)set->n * sizeof *set->labels);
    SR_TRY_MEMORY(set->labels, "%lld labels", (long long)set->n);
    for (int64_t i = 0; i < set->n; i++) {
        int64_t label = sr_npy_is_whole(npy, i) ? sr_npy_integer(npy, i) : -2;
        if (label < -1 || label >= MAX_CLASSES)
            SR_FAIL(SR_ERR_CONFIG,
                    "%s: the label of image %lld is no class: expected a whole number, -1 (none) "
                    "to %d",
                    path, (long long)i, MAX_CLASSES - 1);
        set->labels[i] = label;
        set->n_classes = SR_MAX(set->n_classes, (int)label + 1);
    }
    return SR_OK;
}

static SrStatus open_labels(Set *set, const char *path) {
    SrNpy npy;
    SR_TRY(sr_npy_open(path, &npy));
    SrStatus status = take_labels(set, &npy, path);
    sr_npy_close(&npy);
    return status;
}

// ---- the set

static void set_close(void *opened) {
    Set *set = opened;
    if (set->map)
        sr_file_unmap(set->map, set->map_bytes);
    sr_free(set->labels);
    sr_free(set->path);
}

static SrStatus set_open(const SrDatasetConfig *config, void *opened) {
    Set *set = opened;
    SR_TRY(sr__source_check_path(config));
    set->floats = config->channels;
    set->path = sr_strdup(config->data_path);
    SR_TRY_MEMORY(set->path, "%s", config->data_path);
    SrStatus status = open_stack(set);
    if (status == SR_OK)
        status = check_range(set);
    if (status != SR_OK)
        return sr_fail_prefix(status, "DATA.%s.DATA_PATHS", config->split);
    if (!config->label_path || !*config->label_path)
        return SR_OK;
    status = open_labels(set, config->label_path);
    return status == SR_OK ? SR_OK : sr_fail_prefix(status, "DATA.%s.LABEL_PATHS", config->split);
}

static int64_t set_length(const void *opened) { return ((const Set *)opened)->n; }

static uint8_t level_at(const Set *set, int64_t i) {
    uint16_t word;
    if (set->kind == BYTES)
        return set->items[i];
    if (set->kind == WORDS) {
        memcpy(&word, set->items + 2 * i, 2);
        return (uint8_t)((word * 255u + 32767u) / 65535u);
    }
    float v = float_at(set, i);
    return (uint8_t)(v > 0 ? SR_MIN(v, 1.0F) * 255 + 0.5F : 0); // NaN is not above 0
}

static float sample_at(const Set *set, int64_t i) {
    uint16_t word;
    if (set->kind == BYTES)
        return (float)set->items[i] / 255.0f;
    if (set->kind == FLOATS) {
        float v = float_at(set, i);
        return isfinite(v) ? v : 0;
    }
    memcpy(&word, set->items + 2 * i, 2);
    return (float)word / 65535.0f;
}

// A grey level is copied to all channels that the run asks for.
static SrStatus read_floats(const Set *set, int64_t i, SrImagePool *pool, SrImage *out) {
    int64_t pixels = (int64_t)set->H * set->W, first = i * image_items(set);
    int C = set->floats;
    SR_TRY(sr_image_new_floats(pool, set->H, set->W, C, out));
    for (int64_t k = 0; k < pixels; k++)
        for (int c = 0; c < C; c++) {
            int from = set->C == 1 ? 0 : c;
            out->f[k * C + c] =
                sample_at(set, first + (set->planes ? from * pixels + k : k * set->C + from));
        }
    return SR_OK;
}

static SrStatus set_read(const void *opened, int64_t i, SrImagePool *pool, SrSample *out) {
    const Set *set = opened;
    int64_t pixels = (int64_t)set->H * set->W, first = i * image_items(set);
    *out = (SrSample){.path = set->path};
    if (set->floats > 0)
        return read_floats(set, i, pool, &out->image);
    SR_TRY(sr_image_new(pool, set->H, set->W, &out->image));
    uint8_t *rgb = out->image.rgb;
    if (set->C == 1)
        for (int64_t k = 0; k < pixels; k++, rgb += 3)
            rgb[0] = rgb[1] = rgb[2] = level_at(set, first + k);
    else if (set->planes)
        for (int c = 0; c < 3; c++)
            for (int64_t k = 0; k < pixels; k++)
                rgb[3 * k + c] = level_at(set, first + c * pixels + k);
    else if (set->kind == BYTES)
        memcpy(rgb, set->items + first, (size_t)(3 * pixels));
    else
        for (int64_t k = 0; k < 3 * pixels; k++)
            rgb[k] = level_at(set, first + k);
    return SR_OK;
}

static int64_t set_label(const void *opened, int64_t i) {
    const Set *set = opened;
    return set->labels ? set->labels[i] : -1;
}

static int set_classes(const void *opened) { return ((const Set *)opened)->n_classes; }

static SrStatus samples(const char *path, int *channels, int *bits) {
    Set set = {.path = sr_strdup(path)};
    SrNpyHeader h = {.rank = 0};
    size_t end;
    SrStatus status = set.path ? map_stack(&set, &h, &end) : sr_out_of_memory("%s", path);
    bool last = h.rank == 4 && is_channels(&set, h.d[3]);
    bool first = h.rank == 4 && is_channels(&set, h.d[1]);
    *channels = (int)SR_MIN(last ? h.d[3] : first ? h.d[1] : more_channels(&h), INT_MAX);
    *bits = 8 * h.width;
    set_close(&set);
    return status;
}

static bool accepts(const char *path, const char *split) {
    return strcmp(split, "TRAIN") == 0 && sr__source_is_stack(path);
}

// Headers of three grey images of 4 x 5 bytes, of two images of 3 x 4 x 5 floats, of three labels.
#define GREY                                                         \
    "\x93NUMPY\1\0\166\0"                                            \
    "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4, 5), }" \
    "                                                       \n"
#define COLOR                                                           \
    "\x93NUMPY\1\0\166\0"                                               \
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 4, 5), }" \
    "                                                    \n"
#define LABELS                                                  \
    "\x93NUMPY\1\0\166\0"                                       \
    "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }" \
    "                                                            \n"
static const SrDatasetExample examples[] = {
    {.files = {{.path = "grey.npy", SR_EXAMPLE_TEXT(GREY), .zeros = 60},
               {.path = "labels.npy", SR_EXAMPLE_TEXT(LABELS "\1\0\6")}},
     .config = {.data_path = "grey.npy", .label_path = "labels.npy"},
     .images = 3,
     .classes = 7},
    {.files = {{.path = "color.npy", SR_EXAMPLE_TEXT(COLOR), .zeros = 480}},
     .config = {.data_path = "color.npy"},
     .images = 2},
};

const SrDataset sr_dataset_numpy_stack = {
    .name = "numpy_stack",
    .help = "A .npy file of images, (N, H, W), (N, H, W, C) or (N, C, H, W) of uint8, uint16 or "
            "float32, mapped into memory.",
    .reads_label_path = true,
    .set_bytes = sizeof(Set),
    .open = set_open,
    .close = set_close,
    .length = set_length,
    .read = set_read,
    .label = set_label,
    .classes = set_classes,
    .samples = samples,
    .accepts = accepts,
    .examples = examples,
    .n_examples = SR_COUNT(examples),
};
