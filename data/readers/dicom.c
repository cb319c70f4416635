// Walks over the elements of a DICOM file up to its pixels.  Every length is checked against the
// file's, sequences are passed over, and their nesting is bounded.
#include "data/readers/dicom.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/number.h"
#include "data/image_form.h"
#include "data/image_pool.h"

enum { MAX_DEPTH = 16, UNDEFINED = -1 };

#define ITEM 0xFFFEE000u
#define ITEM_END 0xFFFEE00Du
#define SEQUENCE_END 0xFFFEE0DDu
#define PIXELS 0x7FE00010u

typedef struct {
    const uint8_t *p, *end;
    bool most_first; // the most significant byte comes first
    bool named;      // elements name the types of their values (explicit VR)
} Reader;

typedef struct {
    uint32_t tag;
    char type[2];      // such as "US"; zeros if elements do not name their types
    const uint8_t *at; // (length) the value
    int64_t length;    // UNDEFINED: items up to a mark of the end
} Element;

typedef struct {
    int rows, columns, channels, allocated, stored, high;
    bool is_signed, planes; // planes: all of red, then all of green and blue
    bool inverted, ybr;
    bool jpeg, has_window;
    double center, width, slope, intercept;
    Reader pixels; // at the pixels
    int64_t pixel_bytes;
    int frames;
} Dicom;

static uint32_t number(const Reader *r, const uint8_t *p, int bytes) {
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | p[r->most_first ? i : bytes - 1 - i];
    return v;
}

static SrStatus cut_off(void) { SR_FAIL(SR_ERR_IO, "the DICOM file is damaged or cut off"); }

// ---- elements

static bool has_long_length(const char type[2]) {
    static const char *const types[] = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                        "SV", "UC", "UN", "UR", "UT", "UV"};
    for (int i = 0; i < SR_COUNT(types); i++)
        if (memcmp(type, types[i], 2) == 0)
            return true;
    return false;
}

// Takes an element; its value is not passed over if the length is undefined.
static SrStatus take_element(Reader *r, Element *e) {
    *e = (Element){.tag = 0};
    if (r->end - r->p < 8)
        return cut_off();
    e->tag = number(r, r->p, 2) << 16 | number(r, r->p + 2, 2);
    r->p += 4;
    uint32_t length;
    bool marks = e->tag >> 16 == 0xFFFE; // items and ends name no type
    if (r->named && !marks) {
        memcpy(e->type, r->p, 2);
        bool is_long = has_long_length(e->type);
        if (is_long && r->end - r->p < 8)
            return cut_off();
        length = is_long ? number(r, r->p + 4, 4) : number(r, r->p + 2, 2);
        r->p += is_long ? 8 : 4;
    } else {
        length = number(r, r->p, 4);
        r->p += 4;
    }
    e->at = r->p;
    e->length = length == UINT32_MAX ? UNDEFINED : (int64_t)length;
    if (e->length > r->end - r->p)
        return cut_off();
    if (e->length > 0)
        r->p += e->length;
    return SR_OK;
}

// Passes over a sequence or an item of undefined length, and what is nested in it.  The depth is
// counted rather than recursed into.
static SrStatus skip_undefined(Reader *r) {
    Element e;
    for (int depth = 1; depth > 0;) {
        SR_TRY(take_element(r, &e));
        if (e.tag == ITEM_END || e.tag == SEQUENCE_END)
            depth--;
        else if (e.length == UNDEFINED && ++depth > MAX_DEPTH)
            SR_FAIL(SR_ERR_IO, "the DICOM file has sequences nested more than %d deep", MAX_DEPTH);
    }
    return SR_OK;
}

static int small_number(const Reader *r, const Element *e) {
    return e->length >= 2 ? (int)number(r, e->at, 2) : 0;
}

static bool text_is(const Element *e, const char *word) {
    size_t n = strlen(word);
    if (e->length < (int64_t)n || memcmp(e->at, word, n) != 0)
        return false;
    for (int64_t i = (int64_t)n; i < e->length; i++)
        if (e->at[i] != ' ' && e->at[i] != 0)
            return false;
    return true;
}

// Reads the first of several decimal numbers, which are parted by backslashes.
static bool text_number(const Element *e, double *out) {
    char text[32];
    size_t n = 0;
    while (n < sizeof text - 1 && (int64_t)n < e->length && e->at[n] != '\\') {
        text[n] = (char)e->at[n];
        n++;
    }
    text[n] = 0;
    char *end;
    double v = sr_number_parse(text, &end);
    if (end == text || !isfinite(v))
        return false;
    *out = v;
    return true;
}

// ---- the file

static SrStatus set_syntax(const Element *e, Reader *data, Dicom *d) {
    static const struct {
        const char *uid;
        bool named, most_first, jpeg;
    } known[] = {{"1.2.840.10008.1.2", false, false, false},
                 {"1.2.840.10008.1.2.1", true, false, false},
                 {"1.2.840.10008.1.2.2", true, true, false},
                 {"1.2.840.10008.1.2.4.50", true, false, true}};
    for (int i = 0; i < SR_COUNT(known); i++)
        if (text_is(e, known[i].uid)) {
            data->named = known[i].named;
            data->most_first = known[i].most_first;
            d->jpeg = known[i].jpeg;
            return SR_OK;
        }
    SR_FAIL(SR_ERR_IO,
            "the DICOM file has the transfer syntax %.*s, which is not supported; convert it, as "
            "in gdcmconv --raw",
            (int)SR_MIN(e->length, 64), (const char *)e->at);
}

// Reads group 2, which is always little-endian and names its types, and finds the data after it.
static SrStatus read_meta(const uint8_t *bytes, size_t n, Reader *data, Dicom *d) {
    Reader meta = {.p = bytes + 132, .end = bytes + n, .named = true};
    Element e;
    bool known = false;
    while (meta.end - meta.p >= 8 && number(&meta, meta.p, 2) == 2) {
        SR_TRY(take_element(&meta, &e));
        if (e.length == UNDEFINED)
            return cut_off();
        if (e.tag == 0x00020010) {
            SR_TRY(set_syntax(&e, data, d));
            known = true;
        }
    }
    data->p = meta.p;
    data->end = bytes + n;
    return known ? SR_OK : cut_off();
}

static void take_fact(const Reader *r, const Element *e, Dicom *d, bool *other_color) {
    switch (e->tag) {
    case 0x00280002: d->channels = small_number(r, e); break;
    case 0x00280004:
        d->inverted = text_is(e, "MONOCHROME1");
        d->ybr = text_is(e, "YBR_FULL");
        *other_color = !d->inverted && !d->ybr && !text_is(e, "MONOCHROME2") &&
                       !text_is(e, "RGB") && !(d->jpeg && text_is(e, "YBR_FULL_422"));
        break;
    case 0x00280006: d->planes = small_number(r, e) == 1; break;
    case 0x00280008: {
        double frames = 1;
        d->frames = text_number(e, &frames) && frames >= 1 && frames < 1e9 ? (int)frames : 1;
        break;
    }
    case 0x00280010: d->rows = small_number(r, e); break;
    case 0x00280011: d->columns = small_number(r, e); break;
    case 0x00280100: d->allocated = small_number(r, e); break;
    case 0x00280101: d->stored = small_number(r, e); break;
    case 0x00280102: d->high = small_number(r, e); break;
    case 0x00280103: d->is_signed = small_number(r, e) == 1; break;
    case 0x00281050: d->has_window = text_number(e, &d->center); break;
    case 0x00281051:
        if (!text_number(e, &d->width) || d->width < 1)
            d->width = 0;
        break;
    case 0x00281052: text_number(e, &d->intercept); break;
    case 0x00281053: text_number(e, &d->slope); break;
    default: break;
    }
}

static SrStatus check_kind(const Dicom *d, bool other_color) {
    if (other_color)
        SR_FAIL(SR_ERR_IO, "the DICOM file has a palette or another kind of colour, which is not "
                           "supported; MONOCHROME1, MONOCHROME2, RGB and YBR_FULL are");
    bool grey = d->channels == 1, depth = d->allocated == 8 || (grey && d->allocated == 16);
    if ((!grey && d->channels != 3) || !depth || (d->jpeg && d->allocated != 8))
        SR_FAIL(SR_ERR_IO,
                "the DICOM file has %d channels of %d bits, expected 1 of 8 or 16, or 3 of 8",
                d->channels, d->allocated);
    if (d->stored < 1 || d->stored > d->allocated || d->high != d->stored - 1)
        SR_FAIL(SR_ERR_IO,
                "the DICOM file stores %d bits up to bit %d of %d, which is not "
                "supported",
                d->stored, d->high, d->allocated);
    return SR_OK;
}

static SrStatus read_facts(const uint8_t *bytes, size_t n, SrImageHeader *out, Dicom *d) {
    Reader r = {.named = true};
    Element e;
    bool other_color = false;
    *d = (Dicom){.channels = 1, .slope = 1, .frames = 1};
    SR_TRY(read_meta(bytes, n, &r, d));
    for (;;) {
        SR_TRY(take_element(&r, &e));
        if (e.tag == PIXELS)
            break;
        if (e.length == UNDEFINED)
            SR_TRY(skip_undefined(&r));
        else
            take_fact(&r, &e, d, &other_color);
    }
    d->pixels = r;
    d->pixels.p = e.at;
    d->pixel_bytes = e.length;
    SR_TRY(check_kind(d, other_color));
    out->format = SR_IMAGE_DICOM;
    out->components = d->channels;
    out->samples = d->channels;
    out->bits = d->jpeg ? 8 : d->stored;
    SR_TRY(sr__image_check_size(out, (uint32_t)d->rows, (uint32_t)d->columns, n,
                                d->jpeg ? 8 * 1024 : 1));
    int64_t frame = (int64_t)d->rows * d->columns * d->channels * (d->allocated / 8);
    if (d->jpeg != (e.length == UNDEFINED) || (!d->jpeg && e.length < frame))
        return cut_off();
    return SR_OK;
}

bool sr__dicom_is(const uint8_t *bytes, size_t n) {
    return n > 132 && memcmp(bytes + 128, "DICM", 4) == 0;
}

SrStatus sr__dicom_probe(const uint8_t *bytes, size_t n, SrImageHeader *out) {
    Dicom d;
    return read_facts(bytes, n, out, &d);
}

// ---- pixels

// Returns the windowed level of one stored value, 0 to 1.
static double windowed(const Dicom *d, double value) {
    double x = value * d->slope + d->intercept, c = d->center - 0.5, w = d->width - 1;
    double y = x <= c - w / 2 ? 0 : x > c + w / 2 ? 1 : (x - c) / w + 0.5;
    y = SR_MIN(SR_MAX(y, 0), 1);
    return d->inverted ? 1 - y : y;
}

static int stored_value(const Dicom *d, const uint8_t *p) {
    uint32_t v = number(&d->pixels, p, d->allocated / 8) & ((1u << d->stored) - 1);
    bool negative = d->is_signed && v >> (d->stored - 1) & 1;
    return negative ? (int)v - (1 << d->stored) : (int)v;
}

// Without a window, the values of this frame span it.
static void find_window(Dicom *d, const uint8_t *p, size_t pixels) {
    int low = INT32_MAX, high = INT32_MIN, step = d->allocated / 8;
    if (d->has_window && d->width >= 1)
        return;
    for (size_t i = 0; i < pixels; i++, p += step) {
        int v = stored_value(d, p);
        low = SR_MIN(low, v);
        high = SR_MAX(high, v);
    }
    double a = low * d->slope + d->intercept, b = high * d->slope + d->intercept;
    d->width = fabs(b - a) + 1;
    d->center = (a + b) / 2 + 0.5;
}

static void decode_grey(Dicom *d, const uint8_t *p, SrImage *out) {
    size_t pixels = (size_t)out->H * (size_t)out->W;
    find_window(d, p, pixels);
    for (size_t i = 0; i < pixels; i++, p += d->allocated / 8)
        memset(out->rgb + 3 * i, (uint8_t)(255 * windowed(d, stored_value(d, p)) + 0.5), 3);
}

static uint8_t clipped(double v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5); }

static void decode_color(const Dicom *d, const uint8_t *p, SrImage *out) {
    size_t pixels = (size_t)out->H * (size_t)out->W;
    for (size_t i = 0; i < pixels; i++) {
        uint8_t *rgb = out->rgb + 3 * i;
        for (size_t c = 0; c < 3; c++)
            rgb[c] = d->planes ? p[c * pixels + i] : p[3 * i + c];
        if (d->ybr) { // PS3.3 C.7.6.3.1.2
            double y = rgb[0], b = rgb[1] - 128, r = rgb[2] - 128;
            rgb[0] = clipped(y + 1.402 * r);
            rgb[1] = clipped(y - 0.344136 * b - 0.714136 * r);
            rgb[2] = clipped(y + 1.772 * b);
        }
    }
}

// Gathers the JPEG of the first frame: of one frame all fragments, of several the first fragment.
static SrStatus find_jpeg(const Dicom *d, SrImagePool *pool, const uint8_t **jpeg, size_t *n) {
    Reader r = d->pixels;
    Element e;
    size_t room = (size_t)(r.end - r.p);
    uint8_t *all = sr_image_pool_take(pool, room + 1);
    SR_TRY_MEMORY(all, "a DICOM file");
    *jpeg = all;
    *n = 0;
    SR_TRY(take_element(&r, &e)); // the table of offsets
    if (e.tag != ITEM || e.length == UNDEFINED)
        return cut_off();
    for (int i = 0; i == 0 || d->frames == 1; i++) {
        SR_TRY(take_element(&r, &e));
        if (e.tag == SEQUENCE_END)
            break;
        if (e.tag != ITEM || e.length == UNDEFINED)
            return cut_off();
        memcpy(all + *n, e.at, (size_t)e.length);
        *n += (size_t)e.length;
    }
    if (*n < 2 || all[0] != 0xFF || all[1] != 0xD8)
        SR_FAIL(SR_ERR_IO, "the pixels of the DICOM file are no JPEG");
    return SR_OK;
}

// A grey JPEG holds stored values, which the window maps to levels.
static SrStatus decode_jpeg(Dicom *d, SrJpegDecode decode, SrImagePool *pool, SrImage *out) {
    const uint8_t *jpeg = NULL;
    size_t n = 0, pixels = (size_t)out->H * (size_t)out->W;
    SrImage image;
    SR_TRY(find_jpeg(d, pool, &jpeg, &n));
    SR_TRY(decode(jpeg, n, pool, &image));
    if (image.H != out->H || image.W != out->W)
        SR_FAIL(SR_ERR_IO, "the JPEG in the DICOM file has another size than its header");
    for (size_t i = 0; i < pixels && d->channels == 1; i++)
        image.rgb[i] = image.rgb[3 * i]; // values one after the other, as in raw pixels
    if (d->channels == 1)
        decode_grey(d, image.rgb, out);
    else
        memcpy(out->rgb, image.rgb, 3 * pixels);
    return SR_OK;
}

SrStatus sr__dicom_decode(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                          SrJpegDecode jpeg, SrImagePool *pool, SrImage *out) {
    SrImageHeader header = *probe;
    Dicom d;
    SR_TRY(read_facts(bytes, n, &header, &d));
    SR_TRY(sr_image_new(pool, header.H, header.W, out));
    if (d.jpeg)
        return decode_jpeg(&d, jpeg, pool, out);
    if (d.channels == 1)
        decode_grey(&d, d.pixels.p, out);
    else
        decode_color(&d, d.pixels.p, out);
    return SR_OK;
}

// Colours and JPEG have 8 bits.
SrStatus sr__dicom_decode_floats(const SrImageHeader *probe, const uint8_t *bytes, size_t n,
                                 SrJpegDecode jpeg, int channels, SrImagePool *pool, SrImage *out) {
    SrImageHeader header = *probe;
    SrPixelChannels grey = {1, false};
    Dicom d;
    SR_TRY(read_facts(bytes, n, &header, &d));
    if (d.jpeg || d.channels != 1) {
        SR_TRY(sr__dicom_decode(probe, bytes, n, jpeg, pool, out));
        return sr_image_to_floats(out, channels, pool);
    }
    SR_TRY(sr__channels_check(grey, channels));
    SR_TRY(sr_image_new_floats(pool, header.H, header.W, channels, out));
    size_t pixels = (size_t)out->H * (size_t)out->W;
    const uint8_t *p = d.pixels.p;
    find_window(&d, p, pixels);
    for (size_t i = 0; i < pixels; i++, p += d.allocated / 8) {
        float level = (float)windowed(&d, stored_value(&d, p));
        sr__channels_fit(&level, grey, 1, channels, out->f + i * (size_t)channels);
    }
    return SR_OK;
}
