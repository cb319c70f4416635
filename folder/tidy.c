// Measures all files, compares them, and lists findings.
#include "folder/tidy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bar.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/text/text.h"
#include "data/image_pool.h"

enum { CHUNK = 64, PARTS = SR_TIDY_NEAR_BITS + 1, REASON_BYTES = 512 };

// Bounds of CleanVision where it has them.
#define DARK 0.32            // one pixel in a hundred is brighter
#define BRIGHT 0.95          // a twentieth of the pixels is darker
#define LEAST_BITS 3.0       // entropy of grey levels
#define LEAST_SHARPNESS 34.0 // 1 - exp(-0.01 v) below 0.29
#define LEAST_ASPECT 0.35
#define ODD_SIZES 10.0 // widths of the middle half away from it
#define LEAST_FOR_SIZES 20

static const struct {
    const char *name, *help, *unit;
} issues[SR_TIDY_ISSUES] = {
    {"unreadable", "The file is damaged, or its end is missing.", ""},
    {"wrong-extension", "The name says another format than the content.", ""},
    {"same-file", "Byte by byte a copy of an earlier file.", ""},
    {"same-pixels", "The pixels of an earlier file in other bytes.", ""},
    {"near-copy", "Nearly the picture of an earlier file.", "bits that differ"},
    {"blurry", "The picture has no fine detail.", "variance of the Laplacian"},
    {"dark", "Nearly all pixels are dark.", "brightness of the brightest"},
    {"bright", "Nearly all pixels are white.", "brightness of the darkest"},
    {"low-information", "The picture has few grey levels.", "bits of entropy"},
    {"odd-size", "Much smaller or larger than the other pictures.", "pixels per side"},
    {"odd-aspect", "One side is more than three times the other.", "short side / long side"},
    {"grey-as-colour", "The picture has no colour and is stored in three channels.", ""},
    {"rotated", "EXIF turns it: sslrun does so, and programs that ignore EXIF see it lying.",
     "EXIF orientation"},
};

const char *sr_tidy_name(SrTidyIssue issue) { return issues[issue].name; }
const char *sr_tidy_help(SrTidyIssue issue) { return issues[issue].help; }
const char *sr_tidy_unit(SrTidyIssue issue) { return issues[issue].unit; }

SrStatus sr_tidy_find_issue(const char *name, SrTidyIssue *out) {
    const char *names[SR_TIDY_ISSUES];
    for (int i = 0; i < SR_TIDY_ISSUES; i++) {
        names[i] = issues[i].name;
        *out = (SrTidyIssue)i;
        if (strcmp(name, names[i]) == 0)
            return SR_OK;
    }
    int near = sr_text_nearest(name, names, SR_TIDY_ISSUES);
    SR_FAIL(SR_ERR_CONFIG, "'%s' is no issue that tidy knows; did you mean '%s'?", name,
            names[SR_MAX(near, 0)]);
}

// ---- looking ------------------------------------------------------------------------------------

typedef struct {
    const SrImageSet *set;
    SrTidy *t;
    SrStatus *status; // (n)
    int64_t first, cap;
    SrImagePool **pool; // (threads)
    char reason[CHUNK][REASON_BYTES];
} Look;

static void look_at(void *arg, int64_t k, int thread) {
    Look *l = arg;
    int64_t i = l->first + k;
    SrImagePool *pool = l->pool[thread];
    SrSample sample = {.path = ""};
    sr_image_pool_reset(pool);
    SrStatus status = l->set->source->read(l->set->set, i, pool, &sample);
    if (status == SR_OK && !sample.encoded)
        status = sr_fail(SR_ERR_CONFIG, "the images of this data set are no files");
    if (status == SR_OK)
        status = sr_picture_facts(sample.encoded, sample.encoded_bytes, pool, &l->t->facts[i]);
    l->status[i] = status;
    snprintf(l->reason[k], REASON_BYTES, "%s", status == SR_OK ? "" : sr_status_message());
}

static SrStatus add_finding(Look *l, SrTidyIssue issue, int64_t file, int64_t other, double value) {
    SrTidy *t = l->t;
    if (t->n_findings == l->cap) {
        int64_t cap = SR_MAX(2 * l->cap, 256);
        SrTidyFinding *more = sr_realloc(t->finding, (size_t)cap * sizeof *more);
        SR_TRY_MEMORY(more, "%lld findings", (long long)cap);
        t->finding = more;
        l->cap = cap;
    }
    t->finding[t->n_findings++] = (SrTidyFinding){issue, file, other, value};
    t->count[issue]++;
    return SR_OK;
}

static SrStatus take_chunk(Look *l, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        SrStatus status = l->status[l->first + k];
        if (status != SR_OK && status != SR_ERR_IO)
            SR_FAIL(status, "%s", l->reason[k]);
        if (status == SR_OK)
            continue;
        SR_TRY(add_finding(l, SR_TIDY_UNREADABLE, l->first + k, -1, 0));
        SR_TRY(sr__string_list_add(&l->t->reasons, l->reason[k], strlen(l->reason[k])));
    }
    return SR_OK;
}

static SrStatus look_at_all(Look *l) {
    SrBar bar;
    SrStatus status = SR_OK;
    sr_bar_begin(&bar, "reading pictures", l->t->n);
    for (l->first = 0; status == SR_OK && l->first < l->t->n; l->first += CHUNK) {
        int64_t n = SR_MIN(l->t->n - l->first, CHUNK);
        sr_parallel_for(n, look_at, l);
        status = take_chunk(l, n);
        sr_bar_at(&bar, l->first + n);
        if (status == SR_OK)
            status = sr_stop_check();
    }
    sr_bar_end(&bar);
    return status;
}

// ---- copies -------------------------------------------------------------------------------------

typedef struct {
    uint64_t hash;
    int64_t file;
} Hashed;

static int by_hash(const void *a, const void *b) {
    const Hashed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

// FNV's collisions can be made on purpose: bytes are compared before files are called the same.
static bool same_bytes(const Look *l, int64_t a, int64_t b) {
    SrSample x = {.path = ""}, y = {.path = ""};
    sr_image_pool_reset(l->pool[0]);
    return l->set->source->read(l->set->set, a, l->pool[0], &x) == SR_OK &&
           l->set->source->read(l->set->set, b, l->pool[0], &y) == SR_OK &&
           x.encoded_bytes == y.encoded_bytes && memcmp(x.encoded, y.encoded, x.encoded_bytes) == 0;
}

// Marks all but the first file of each hash.  copy: (n) 1 for files that are copies already.
static SrStatus find_equal(Look *l, SrTidyIssue issue, Hashed *h, uint8_t *copy) {
    int64_t m = 0;
    for (int64_t i = 0; i < l->t->n; i++)
        if (l->status[i] == SR_OK && !copy[i])
            h[m++] = (Hashed){issue == SR_TIDY_SAME_FILE ? l->t->facts[i].file_hash
                                                         : l->t->facts[i].pixel_hash,
                              i};
    qsort(h, (size_t)m, sizeof *h, by_hash);
    for (int64_t i = 1, first = 0; i < m; i++) {
        if (h[i].hash != h[first].hash) {
            first = i;
            continue;
        }
        if (issue == SR_TIDY_SAME_FILE && !same_bytes(l, h[first].file, h[i].file))
            continue;
        copy[h[i].file] = 1;
        SR_TRY(add_finding(l, issue, h[i].file, h[first].file, 0));
    }
    return SR_OK;
}

static int bits_between(uint64_t a, uint64_t b) {
    int n = 0;
    for (uint64_t x = a ^ b; x; x &= x - 1)
        n++;
    return n;
}

static uint64_t part_of(uint64_t hash, int part) {
    enum { BITS = (64 + PARTS - 1) / PARTS };
    return hash >> (part * BITS) & ((UINT64_C(1) << BITS) - 1);
}

// Two hashes that differ in 4 bits are equal in one of 5 parts: files are sorted by each part, and
// those that share it are compared.  nearest: (n) earlier file, or -1; bits: (n).
static void compare_part(const Look *l, Hashed *h, int64_t m, int part, int64_t *nearest,
                         uint8_t *bits) {
    const SrPictureFacts *f = l->t->facts;
    for (int64_t i = 0; i < m; i++)
        h[i].hash = part_of(f[h[i].file].shape_hash, part);
    qsort(h, (size_t)m, sizeof *h, by_hash);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = i - 1; j >= 0 && h[j].hash == h[i].hash; j--) {
            int64_t a = h[j].file, b = h[i].file;
            int n = bits_between(f[a].shape_hash, f[b].shape_hash);
            if (n < bits[b] || (n == bits[b] && nearest[b] > a)) {
                bits[b] = (uint8_t)n;
                nearest[b] = a;
            }
        }
}

// Files of one hash are copies of the first of them, which alone is compared further: frames of one
// camera would otherwise be compared each with each.  Returns the number of hashes, whose first
// files stay in h.
static int64_t join_hashes(const Look *l, Hashed *h, int64_t m, int64_t *nearest, uint8_t *bits) {
    int64_t kept = 0;
    for (int64_t i = 0; i < m; i++)
        h[i].hash = l->t->facts[h[i].file].shape_hash;
    qsort(h, (size_t)m, sizeof *h, by_hash);
    for (int64_t i = 0; i < m; i++) {
        if (kept == 0 || h[i].hash != h[kept - 1].hash) {
            h[kept++] = h[i];
            continue;
        }
        nearest[h[i].file] = h[kept - 1].file;
        bits[h[i].file] = 0;
    }
    return kept;
}

// Pictures without detail have hashes of noise.
static SrStatus find_near(Look *l, Hashed *h, const uint8_t *copy) {
    int64_t m = 0, n = l->t->n;
    int64_t *nearest = sr_alloc((size_t)n * sizeof *nearest);
    uint8_t *bits = sr_alloc((size_t)n);
    SrStatus status = nearest && bits ? SR_OK : sr_out_of_memory("hashes");
    for (int64_t i = 0; status == SR_OK && i < n; i++) {
        nearest[i] = -1;
        bits[i] = SR_TIDY_NEAR_BITS + 1;
        if (l->status[i] == SR_OK && !copy[i] && (double)l->t->facts[i].entropy >= LEAST_BITS)
            h[m++].file = i;
    }
    if (status == SR_OK)
        m = join_hashes(l, h, m, nearest, bits);
    for (int part = 0; status == SR_OK && part < PARTS; part++)
        compare_part(l, h, m, part, nearest, bits);
    for (int64_t i = 0; status == SR_OK && i < n; i++)
        if (nearest[i] >= 0)
            status = add_finding(l, SR_TIDY_NEAR_COPY, i, nearest[i], bits[i]);
    sr_free(nearest);
    sr_free(bits);
    return status;
}

static SrStatus find_copies(Look *l) {
    Hashed *h = sr_alloc((size_t)l->t->n * sizeof *h);
    uint8_t *copy = sr_calloc((size_t)l->t->n, 1);
    SrStatus status;
    SR_TRY_GOTO(h && copy ? SR_OK : sr_out_of_memory("hashes"));
    SR_TRY_GOTO(find_equal(l, SR_TIDY_SAME_FILE, h, copy));
    SR_TRY_GOTO(find_equal(l, SR_TIDY_SAME_PIXELS, h, copy));
    SR_TRY_GOTO(find_near(l, h, copy));
done:
    sr_free(h);
    sr_free(copy);
    return status;
}

// ---- single pictures ----------------------------------------------------------------------------

static bool wrong_extension(SrImageFormat format, const char *name) {
    static const char *const endings[SR_IMAGE_FORMATS][3] = {
        [SR_IMAGE_PNG] = {".png"},           [SR_IMAGE_JPEG] = {".jpg", ".jpeg"},
        [SR_IMAGE_WEBP] = {".webp"},         [SR_IMAGE_PNM] = {".ppm", ".pgm"},
        [SR_IMAGE_BMP] = {".bmp"},           [SR_IMAGE_GIF] = {".gif"},
        [SR_IMAGE_TIFF] = {".tif", ".tiff"}, [SR_IMAGE_HEIF] = {".heic", ".heif", ".avif"},
        [SR_IMAGE_DICOM] = {".dcm"}};
    const char *dot = strrchr(name, '.');
    if (!dot || strchr(dot, '#')) // a page of a TIFF
        return false;
    for (int i = 0; i < 3 && endings[format][i]; i++)
        if (strcasecmp(dot, endings[format][i]) == 0)
            return false;
    return true;
}

static double side_of(const SrPictureFacts *f) { return sqrt((double)f->H * f->W); }

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// Bounds of the sides: the quartiles and ten times their distance on either side, at least a
// quarter of the median.
static SrStatus find_sizes(const Look *l, double *low, double *high) {
    double *side = sr_alloc((size_t)l->t->n * sizeof *side);
    int64_t m = 0;
    SR_TRY_MEMORY(side, "sizes");
    for (int64_t i = 0; i < l->t->n; i++)
        if (l->status[i] == SR_OK)
            side[m++] = side_of(&l->t->facts[i]);
    qsort(side, (size_t)m, sizeof *side, ascending);
    *low = 0;
    *high = INFINITY;
    if (m >= LEAST_FOR_SIZES) {
        double width = SR_MAX(side[3 * m / 4] - side[m / 4], side[m / 2] / 40);
        *low = SR_MIN(side[m / 4] - ODD_SIZES * width / 2, side[m / 4] / 4);
        *low = SR_MAX(*low, side[m / 2] / 8);
        *high = side[3 * m / 4] + ODD_SIZES * width;
    }
    sr_free(side);
    return SR_OK;
}

static SrStatus judge(Look *l, int64_t i, const char *name, double low, double high) {
    const SrPictureFacts *f = &l->t->facts[i];
    double aspect = (double)SR_MIN(f->H, f->W) / SR_MAX(f->H, f->W), side = side_of(f);
    bool flat = (double)f->entropy < LEAST_BITS;
    const struct {
        SrTidyIssue issue;
        bool found;
        double value;
    } checks[] = {
        {SR_TIDY_EXTENSION, wrong_extension(f->format, name), 0},
        {SR_TIDY_BLURRY, !flat && (double)f->sharpness < LEAST_SHARPNESS, (double)f->sharpness},
        {SR_TIDY_DARK, (double)f->high < DARK, (double)f->high},
        {SR_TIDY_BRIGHT, (double)f->low > BRIGHT, (double)f->low},
        {SR_TIDY_LOW_INFORMATION, flat, (double)f->entropy},
        {SR_TIDY_ODD_SIZE, side < low || side > high, side},
        {SR_TIDY_ODD_ASPECT, aspect < LEAST_ASPECT, aspect},
        {SR_TIDY_GREY, f->grey && !f->stored_grey, 0},
        {SR_TIDY_ROTATED, f->orientation != 1, f->orientation},
    };
    for (int k = 0; k < SR_COUNT(checks); k++)
        if (checks[k].found)
            SR_TRY(add_finding(l, checks[k].issue, i, -1, checks[k].value));
    return SR_OK;
}

static SrStatus judge_all(Look *l) {
    double low = 0, high = INFINITY;
    SR_TRY(find_sizes(l, &low, &high));
    for (int64_t i = 0; i < l->t->n; i++) {
        const char *name;
        if (l->status[i] != SR_OK)
            continue;
        sr_image_pool_reset(l->pool[0]);
        SR_TRY(sr_image_set_name(l->set, i, l->pool[0], &name));
        SR_TRY(judge(l, i, name, low, high));
    }
    return SR_OK;
}

// ---- the whole ----------------------------------------------------------------------------------

// The least value is the worst, but for brightness and sizes.
static int worst_first(const void *a, const void *b) {
    const SrTidyFinding *x = a, *y = b;
    double sign = x->issue == SR_TIDY_BRIGHT || x->issue == SR_TIDY_ODD_SIZE ? -1 : 1;
    if (x->issue != y->issue)
        return x->issue < y->issue ? -1 : 1;
    if (x->value != y->value)
        return sign * x->value < sign * y->value ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static SrStatus tidy(Look *l) {
    int threads = sr_parallel_threads();
    l->pool = sr_calloc((size_t)threads, sizeof *l->pool);
    l->status = sr_calloc((size_t)l->t->n, sizeof *l->status);
    l->t->facts = sr_calloc((size_t)l->t->n, sizeof *l->t->facts);
    SrStatus status = l->pool && l->status && l->t->facts
                          ? SR_OK
                          : sr_out_of_memory("%lld files", (long long)l->t->n);
    for (int i = 0; status == SR_OK && i < threads; i++)
        status = sr_image_pool_new(&l->pool[i]);
    if (status == SR_OK)
        status = look_at_all(l);
    if (status == SR_OK)
        status = find_copies(l);
    if (status == SR_OK)
        status = judge_all(l);
    for (int i = 0; l->pool && i < threads; i++)
        sr_image_pool_free(l->pool[i]);
    sr_free(l->pool);
    sr_free(l->status);
    return status;
}

SrStatus sr_tidy(const SrImageSet *images, SrTidy *out) {
    *out = (SrTidy){.n = images->n};
    double began = sr_clock();
    Look *l = sr_calloc(1, sizeof *l);
    SR_TRY_MEMORY(l, "a folder");
    l->set = images;
    l->t = out;
    SrStatus status = tidy(l);
    sr_free(l);
    if (status != SR_OK) {
        sr_tidy_deinit(out);
        return status;
    }
    if (out->n_findings > 0)
        qsort(out->finding, (size_t)out->n_findings, sizeof *out->finding, worst_first);
    out->seconds = sr_clock() - began;
    return SR_OK;
}

void sr_tidy_deinit(SrTidy *t) {
    sr_free(t->finding);
    sr_free(t->facts);
    sr__string_list_deinit(&t->reasons);
    *t = (SrTidy){.n = 0};
}

void sr_tidy_drop(const SrTidy *t, const bool chosen[SR_TIDY_ISSUES], uint8_t *drop) {
    memset(drop, 0, (size_t)t->n);
    for (int64_t i = 0; i < t->n_findings; i++)
        drop[t->finding[i].file] |= chosen[t->finding[i].issue];
}
