// Reads the first picture of a GIF: blocks up to the image descriptor, then LZW codes of variable
// length in blocks of at most 255 bytes.
#include "data/readers/gif.h"

#include <string.h>

#include "data/image_pool.h"
#include "data/readers/byte_order.h"

enum { CODES = 4096, NO_INDEX = -1 };

typedef struct {
    int top, left, h, w; // of the picture on the canvas
    bool interlaced;
    const uint8_t *palette; // (colors, 3); NULL: none
    int colors;
    int transparent;      // index; NO_INDEX: none
    const uint8_t *codes; // first byte of the LZW data: the size of its codes
} Frame;

// Skips the blocks of data, and the empty one that ends them.  NULL: the file ends first.
static const uint8_t *skip_blocks(const uint8_t *p, const uint8_t *end) {
    while (p < end && *p) {
        if (end - p < *p + 1)
            return NULL;
        p += *p + 1;
    }
    return p < end ? p + 1 : NULL;
}

// Takes a palette of 2^(size + 1) colours.  NULL: the file ends before.
static const uint8_t *take_palette(const uint8_t *p, const uint8_t *end, int flags, Frame *f) {
    if (!(flags & 0x80))
        return p;
    int colors = 2 << (flags & 7);
    if (end - p < 3 * colors)
        return NULL;
    f->palette = p;
    f->colors = colors;
    return p + 3 * colors;
}

// Reads an extension; the one before a picture may name its transparent colour.
static const uint8_t *take_extension(const uint8_t *p, const uint8_t *end, Frame *f) {
    if (end - p >= 7 && p[1] == 0xF9 && p[2] == 4)
        f->transparent = p[3] & 1 ? p[6] : NO_INDEX;
    return end - p >= 2 ? skip_blocks(p + 2, end) : NULL;
}

static const uint8_t *take_descriptor(const uint8_t *p, const uint8_t *end, Frame *f) {
    if (end - p < 10)
        return NULL;
    f->left = (int)sr_le16(p + 1);
    f->top = (int)sr_le16(p + 3);
    f->w = (int)sr_le16(p + 5);
    f->h = (int)sr_le16(p + 7);
    f->interlaced = p[9] & 0x40;
    p = take_palette(p + 10, end, p[9], f);
    return p && p < end ? p : NULL;
}

// Walks to the first picture.
static SrStatus find_frame(const uint8_t *bytes, size_t n, Frame *f) {
    const uint8_t *p = bytes, *end = bytes + n;
    *f = (Frame){.transparent = NO_INDEX};
    p = n >= 13 ? take_palette(bytes + 13, end, bytes[10], f) : NULL;
    while (p && p < end && *p == '!')
        p = take_extension(p, end, f);
    if (p && p < end && *p == ',')
        f->codes = take_descriptor(p, end, f);
    if (!f->codes)
        SR_FAIL(SR_ERR_IO, "the GIF is damaged or cut off before its first picture");
    return SR_OK;
}

SrStatus sr__gif_probe(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    Frame f;
    SR_TRY(find_frame(bytes, n, &f));
    out->format = SR_IMAGE_GIF;
    out->components = 3;
    SR_TRY(sr__image_check_size(out, sr_le16(bytes + 8), sr_le16(bytes + 6), n,
                                INT64_MAX)); // a canvas may be larger than its picture
    if (f.left + f.w > out->W || f.top + f.h > out->H || f.w < 1 || f.h < 1)
        SR_FAIL(SR_ERR_IO, "the first picture of the GIF lies outside of its canvas");
    return SR_OK;
}

// ---- LZW

// Bits of the codes, over the ends of blocks.
typedef struct {
    const uint8_t *p, *end;
    int block; // bytes left of the present block
    uint32_t bits;
    int n_bits;
} Bits;

// Returns the next code; -1: the data ends.
static int take_code(Bits *b, int size) {
    while (b->n_bits < size) {
        if (b->block == 0) {
            if (b->p >= b->end || *b->p == 0)
                return -1;
            b->block = *b->p++;
        }
        if (b->p >= b->end)
            return -1;
        b->bits |= (uint32_t)*b->p++ << b->n_bits;
        b->n_bits += 8;
        b->block--;
    }
    int code = (int)(b->bits & ((1u << size) - 1));
    b->bits >>= size;
    b->n_bits -= size;
    return code;
}

// A string of indices is the string of `before` and one more index.
typedef struct {
    uint16_t before[CODES];
    uint8_t last[CODES], first[CODES];
    uint16_t length[CODES];
    int n;
} Table;

static void table_reset(Table *t, int size) {
    t->n = (1 << size) + 2;
    for (int i = 0; i < 1 << size; i++) {
        t->last[i] = t->first[i] = (uint8_t)i;
        t->length[i] = 1;
    }
}

static void table_add(Table *t, int before, uint8_t last) {
    if (t->n >= CODES)
        return;
    t->before[t->n] = (uint16_t)before;
    t->last[t->n] = last;
    t->first[t->n] = t->first[before];
    t->length[t->n] = (uint16_t)(t->length[before] + 1);
    t->n++;
}

// Writes the string of a code to out, which has room for `room` indices; returns its length.
static size_t write_string(const Table *t, int code, uint8_t *out, size_t room) {
    size_t length = t->length[code];
    for (size_t k = length; k-- > 0; code = t->before[code])
        if (k < room)
            out[k] = t->last[code];
    return length < room ? length : room;
}

// Decodes up to n indices and returns how many there were.
static size_t decode_indices(const Frame *f, const uint8_t *end, Table *t, uint8_t *out, size_t n) {
    int least = *f->codes;
    Bits bits = {.p = f->codes + 1, .end = end};
    if (least < 1 || least > 11) // 8 is enough for all colours, but files of 11 exist
        return 0;
    const int clear = 1 << least, stop = clear + 1;
    int size = least + 1, before = -1;
    size_t at = 0;
    table_reset(t, least);
    for (int code; at < n && (code = take_code(&bits, size)) >= 0 && code != stop;) {
        if (code == clear) {
            table_reset(t, least);
            size = least + 1;
            before = -1;
            continue;
        }
        if (code > t->n || (code == t->n && before < 0) || (before < 0 && code > clear))
            break; // no string has this code
        if (before >= 0)
            table_add(t, before, code == t->n ? t->first[before] : t->first[code]);
        SR_ASSERT(code < t->n); // a full table has a string for each code of 12 bits
        at += write_string(t, code, out + at, n - at);
        before = code;
        if (t->n >= 1 << size && size < 12)
            size++;
    }
    return at;
}

// ---- pixels

// Row of the picture that stands at place k of an interlaced file: every eighth, then the rows
// between.
static int interlaced_row(int k, int h) {
    static const struct { int first, step; } passes[] = {{0, 8}, {4, 8}, {2, 4}};
    for (int i = 0; i < SR_COUNT(passes); i++) {
        int rows = passes[i].first < h ? (h - passes[i].first - 1) / passes[i].step + 1 : 0;
        if (k < rows)
            return passes[i].first + k * passes[i].step;
        k -= rows;
    }
    return 2 * k + 1;
}

// Without a palette the indices are grey levels.
static void set_color(const Frame *f, int index, uint8_t *rgb) {
    for (int c = 0; c < 3; c++)
        rgb[c] = !f->palette ? (uint8_t)index : index < f->colors ? f->palette[3 * index + c] : 0;
}

SrStatus sr__gif_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                        SrImagePool *pool, SrImage *out) {
    Frame f;
    SR_TRY(find_frame(bytes, n, &f));
    SR_TRY(sr_image_new(pool, probe->H, probe->W, out));
    size_t mark = sr_image_pool_mark(pool), pixels = (size_t)f.h * (size_t)f.w;
    uint8_t *index = sr_image_pool_take(pool, pixels);
    Table *table = sr_image_pool_take(pool, sizeof *table);
    SR_TRY_MEMORY(index && table, "an image of %d x %d", probe->W, probe->H);
    size_t got = decode_indices(&f, bytes + n, table, index, pixels);
    if (got == pixels) {
        for (int i = 0; i < out->H * out->W; i++)
            set_color(&f, f.transparent == NO_INDEX ? 0 : f.transparent, out->rgb + 3 * (size_t)i);
        for (int y = 0; y < f.h; y++) {
            int row = f.top + (f.interlaced ? interlaced_row(y, f.h) : y);
            uint8_t *to = out->rgb + ((size_t)row * (size_t)out->W + (size_t)f.left) * 3;
            for (int x = 0; x < f.w; x++)
                set_color(&f, index[(size_t)y * (size_t)f.w + (size_t)x], to + 3 * (size_t)x);
        }
    }
    sr_image_pool_rewind(pool, mark);
    if (got < pixels)
        SR_FAIL(SR_ERR_IO, "damaged GIF (%zu of %zu pixels)", got, pixels);
    return SR_OK;
}
