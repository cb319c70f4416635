// Searches candidates, scores them, chooses the threshold and forms groups.
#include "folder/copies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bar.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/stop.h"
#include "folder/near_rows.h"
#include "folder/picture_match.h"

enum {
    LISTS = SR_LOOKS + 1, // of candidates: by the features of each look, and by pictures
    CANDIDATES = 8,       // per image and list
    SAMPLE = 400,         // images by which a threshold is chosen
    CHUNK = 1024,         // images whose candidates are scored together
    LEAST_SCORES = 50
};
#define LEAST_THRESHOLD 0.5

// An image that may be a copy of another one.
typedef struct {
    uint32_t row;
    float score;
    bool mirrored;
} Candidate;

typedef struct {
    const SrCopiesOptions *o;
    const SrIndex *to, *to_thumbs;
    int64_t n, m;        // rows of images, and of the other side
    int k;               // candidates per list
    uint8_t *same;       // (n) among one folder: the image has the bytes of an earlier one
    int64_t *first;      // (n) that earlier one, or the image itself
    SrNear *near[LISTS]; // (n, k) by SrLook; the last by pictures, NULL: not searched
    Candidate *found;    // (CHUNK, LISTS k)
    int n_found[CHUNK];  // of each image of the chunk
    int64_t chunk;       // first image of the present chunk
    SrCopies *out;
    int64_t cap;
} Finder;

// ---- exact copies -------------------------------------------------------------------------------

typedef struct {
    uint64_t hash;
    int64_t row;
} Hashed;

static int by_hash(const void *a, const void *b) {
    const Hashed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

// Files of equal bytes are one image in the search: otherwise they would fill each other's lists.
static SrStatus find_same(Finder *f) {
    Hashed *h = sr_alloc((size_t)f->n * sizeof *h);
    f->same = sr_calloc((size_t)f->n, 1);
    f->first = sr_alloc((size_t)f->n * sizeof *f->first);
    if (!h || !f->same || !f->first) {
        sr_free(h);
        return sr_out_of_memory("%lld images", (long long)f->n);
    }
    for (int64_t i = 0; i < f->n; i++) {
        h[i] = (Hashed){sr_index_hash(f->o->images, i), i};
        f->first[i] = i;
    }
    if (!f->o->others)
        qsort(h, (size_t)f->n, sizeof *h, by_hash);
    for (int64_t i = 1; !f->o->others && i < f->n; i++)
        if (h[i].hash == h[i - 1].hash) {
            f->same[h[i].row] = 1;
            f->first[h[i].row] = f->first[h[i - 1].row];
        }
    sr_free(h);
    return SR_OK;
}

// ---- candidates ---------------------------------------------------------------------------------

// Searches the candidates of one list.
static SrStatus find_list(Finder *f, int which, size_t memory) {
    static const char *const what[LISTS] = {"comparing images", "comparing mirror images",
                                            "comparing crops", "comparing small pictures"};
    const SrCopiesOptions *o = f->o;
    bool pictures = which == SR_LOOKS;
    f->near[which] = sr_alloc((size_t)f->n * (size_t)f->k * sizeof *f->near[which]);
    SR_TRY_MEMORY(f->near[which], "the neighbours of %lld images", (long long)f->n);
    const SrNearOptions near = {.from = pictures                 ? o->thumbnails
                                        : which == SR_LOOK_PLAIN ? o->images
                                                                 : o->looks[which],
                                .to = pictures ? f->to_thumbs : f->to,
                                .self = !o->others,
                                .k = f->k,
                                .skip_from = f->same,
                                .skip_to = o->others ? NULL : f->same,
                                .cells = o->cells,
                                .probes = o->probes,
                                .memory = memory,
                                .what = what[which]};
    return sr_near_rows(&near, f->near[which]);
}

// Small pictures propose candidates where features do not: features of classes may differ more
// between an image and its re-encoded copy than between two images of a class.  Cells are those of
// the features, so that an approximate search leaves this list out.
static SrStatus find_near(Finder *f) {
    int lists = f->o->thumbnails && !f->o->cells ? LISTS : SR_LOOKS;
    size_t list = (size_t)f->n * sizeof(SrNear), rows = (size_t)f->n * 9;
    f->k = (int)SR_MAX(SR_MIN(CANDIDATES, f->m - !f->o->others), 1);
    while (f->k > 1 && (size_t)(lists * f->k) * list + rows > f->o->memory / 2)
        f->k--;
    size_t held = (size_t)(lists * f->k) * list + rows;
    for (int which = 0; which < lists; which++)
        SR_TRY(find_list(f, which, f->o->memory > held ? f->o->memory - held : 0));
    return SR_OK;
}

// ---- scores -------------------------------------------------------------------------------------

// Collects the neighbours of image i in all lists, each row once.  Returns their number.
static int candidates_of(const Finder *f, int64_t i, Candidate *to) {
    int n = 0;
    for (int list = 0; list < LISTS; list++)
        for (int k = 0; f->near[list] && k < f->k; k++) {
            const SrNear *near = &f->near[list][i * f->k + k];
            int at = 0;
            while (at < n && to[at].row != near->row)
                at++;
            if (near->row == UINT32_MAX || (at < n && to[at].score >= near->similarity))
                continue;
            to[at] = (Candidate){near->row, near->similarity, list == SR_LOOK_MIRRORED};
            n += at == n;
        }
    return n;
}

// A neighbour in one list may be a copy of another kind: pictures are compared both ways.
static void score_image(void *arg, int64_t c, int thread) {
    Finder *f = arg;
    Candidate *found = f->found + c * LISTS * f->k;
    float a[SR_PICTURE_SIDE * SR_PICTURE_SIDE], b[SR_PICTURE_SIDE * SR_PICTURE_SIDE];
    (void)thread;
    f->n_found[c] = candidates_of(f, f->chunk + c, found);
    if (f->o->thumbnails)
        sr_index_read(f->o->thumbnails, f->chunk + c, 1, a);
    for (int k = 0; f->o->thumbnails && k < f->n_found[c]; k++) {
        sr_index_read(f->to_thumbs, found[k].row, 1, b);
        float plain = sr_picture_match(a, b, false), mirrored = sr_picture_match(a, b, true);
        found[k].score = SR_MAX(plain, mirrored);
        found[k].mirrored = mirrored > plain;
    }
}

static SrStatus score_chunk(Finder *f, int64_t first, int64_t n) {
    f->chunk = first;
    sr_parallel_for(n, score_image, f);
    return sr_stop_check();
}

// ---- threshold ----------------------------------------------------------------------------------

static int ascending(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static double fisher(double r) { return atanh(SR_MIN(SR_MAX(r, -0.999999), 0.999999)); }

// z (n) sorted: the best score of each image.  Up to a quarter of the images may have copies, so
// that the tail is taken from the second and third quartile: exponential, which falls more slowly
// than the scores of most folders.
static double tail_threshold(const double *z, int64_t n, double rate) {
    double middle = z[n / 2], scale = (z[3 * n / 4] - middle) / log(2);
    return tanh(middle + scale * log(0.5 / SR_MIN(rate, 0.5)));
}

// Draws the part of a picture that a crop to 80 % keeps, enlarges and mirrors it.
static void crop_of(const float *x, int64_t image, float *y) {
    enum { SIDE = SR_PICTURE_SIDE, PART = 26 };
    SrRng rng = sr_rng(0, SR_RNG_TRANSFORM, 0, (uint64_t)image, 0, 0);
    int top = (int)sr_rng_below(&rng, SIDE - PART + 1);
    int left = (int)sr_rng_below(&rng, SIDE - PART + 1);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double h = (i / SIDE + 0.5) * PART / SIDE - 0.5;
        double w = (SIDE - 1 - i % SIDE + 0.5) * PART / SIDE - 0.5;
        h = SR_MIN(SR_MAX(h, 0), PART - 1.001);
        w = SR_MIN(SR_MAX(w, 0), PART - 1.001);
        int r = (int)h, c = (int)w;
        float dh = (float)(h - r), dw = (float)(w - c);
        const float *p = x + (top + r) * SIDE + left + c;
        y[i] =
            (1 - dh) * ((1 - dw) * p[0] + dw * p[1]) + dh * ((1 - dw) * p[SIDE] + dw * p[SIDE + 1]);
    }
}

static void match_crop(void *arg, int64_t s, int thread) {
    Finder *f = arg;
    int64_t i = s * f->n / SR_MIN(f->n, SAMPLE);
    float a[SR_PICTURE_SIDE * SR_PICTURE_SIDE], b[SR_PICTURE_SIDE * SR_PICTURE_SIDE];
    (void)thread;
    sr_index_read(f->o->thumbnails, i, 1, a);
    crop_of(a, i, b);
    f->found[s].score = sr_picture_match(a, b, true);
}

// Share of mirrored crops of the images themselves that would be found.
static double share_found(Finder *f) {
    int64_t n = SR_MIN(f->n, SAMPLE), found = 0;
    if (!f->o->thumbnails)
        return NAN;
    sr_parallel_for(n, match_crop, f);
    for (int64_t s = 0; s < n; s++)
        found += (double)f->found[s].score >= f->out->threshold;
    return (double)found / (double)n;
}

static int64_t collect_scores(Finder *f, int64_t sample, double *z) {
    int64_t n = 0;
    for (int64_t c = 0; c < sample; c++) {
        float best = -1;
        for (int k = 0; k < f->n_found[c]; k++)
            best = SR_MAX(best, f->found[c * LISTS * f->k + k].score);
        if (!f->same[f->chunk + c])
            z[n++] = fisher((double)best);
    }
    return n;
}

// The sample is a run of images at the middle: its images are as good as any others.
static SrStatus choose_threshold(Finder *f) {
    int64_t sample = SR_MIN(f->n, SAMPLE);
    f->out->threshold = f->o->threshold;
    f->out->from_data = isnan(f->o->threshold);
    if (f->out->from_data) {
        double *z = sr_alloc((size_t)sample * sizeof *z);
        SR_TRY_MEMORY(z, "a threshold");
        SrStatus status = score_chunk(f, (f->n - sample) / 2, sample);
        int64_t n = status == SR_OK ? collect_scores(f, sample, z) : 0;
        qsort(z, (size_t)n, sizeof *z, ascending);
        f->out->threshold = n < LEAST_SCORES
                                ? 0.95
                                : SR_MAX(tail_threshold(z, n, f->o->false_alarms), LEAST_THRESHOLD);
        sr_free(z);
        SR_TRY(status);
    }
    f->out->found = share_found(f);
    return SR_OK;
}

// ---- pairs --------------------------------------------------------------------------------------

static SrStatus add_pair(Finder *f, SrCopyPair pair) {
    SrCopies *out = f->out;
    if (out->n_pairs == f->cap) {
        int64_t cap = SR_MAX(2 * f->cap, 256);
        SrCopyPair *more = sr_realloc(out->pair, (size_t)cap * sizeof *more);
        SR_TRY_MEMORY(more, "%lld pairs", (long long)cap);
        out->pair = more;
        f->cap = cap;
    }
    out->pair[out->n_pairs++] = pair;
    return SR_OK;
}

static SrStatus take_chunk(Finder *f, int64_t n) {
    for (int64_t c = 0; c < n; c++)
        for (int k = 0; k < f->n_found[c]; k++) {
            int64_t i = f->chunk + c;
            Candidate x = f->found[c * LISTS * f->k + k];
            if (!((double)x.score >= f->out->threshold))
                continue;
            SrCopyPair pair = {i, x.row, x.score, x.mirrored};
            if (!f->o->others && pair.a > pair.b)
                pair = (SrCopyPair){pair.b, pair.a, x.score, x.mirrored};
            SR_TRY(add_pair(f, pair));
        }
    return SR_OK;
}

static int by_rows(const void *a, const void *b) {
    const SrCopyPair *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->mirrored - y->mirrored;
}

static int best_first(const void *a, const void *b) {
    const SrCopyPair *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return by_rows(a, b);
}

// A pair may be found from both of its images; the better score stays.
static void join_pairs(SrCopies *out) {
    int64_t n = 0;
    if (out->n_pairs == 0)
        return;
    qsort(out->pair, (size_t)out->n_pairs, sizeof *out->pair, by_rows);
    for (int64_t i = 0; i < out->n_pairs; i++)
        if (i == 0 || out->pair[i].a != out->pair[n - 1].a || out->pair[i].b != out->pair[n - 1].b)
            out->pair[n++] = out->pair[i];
    out->n_pairs = n;
    qsort(out->pair, (size_t)n, sizeof *out->pair, best_first);
}

static SrStatus find_pairs(Finder *f) {
    SrStatus status = SR_OK;
    SrBar bar;
    sr_bar_begin(&bar, "comparing pictures", f->n);
    for (int64_t i = 0; status == SR_OK && i < f->n; i += CHUNK) {
        int64_t n = SR_MIN(f->n - i, CHUNK);
        status = score_chunk(f, i, n);
        if (status == SR_OK)
            status = take_chunk(f, n);
        sr_bar_at(&bar, i + n);
    }
    for (int64_t i = 0; status == SR_OK && !f->o->others && i < f->n; i++)
        if (f->first[i] != i)
            status = add_pair(f, (SrCopyPair){f->first[i], i, 1, false});
    sr_bar_end(&bar);
    join_pairs(f->out);
    return status;
}

// ---- groups -------------------------------------------------------------------------------------

typedef struct {
    int64_t row, degree;
} Keeper;

static int most_copies(const void *a, const void *b) {
    const Keeper *x = a, *y = b;
    if (x->degree != y->degree)
        return x->degree > y->degree ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int larger_first(const void *a, const void *b) {
    const SrCopyGroup *x = a, *y = b;
    if (x->n != y->n)
        return x->n > y->n ? -1 : 1;
    return (x->keeper > y->keeper) - (x->keeper < y->keeper);
}

typedef struct {
    int64_t *start;   // (n + 1) first link of each image
    SrCopyPair *link; // (2 pairs) from a to b
    Keeper *order;    // (n)
    uint8_t *taken;   // (n)
    int64_t *fill;    // (n)
} Links;

// Copies every pair to both of its images.  Links of an image are best first.
static void make_links(const SrCopies *c, int64_t n, Links *l) {
    for (int64_t p = 0; p < c->n_pairs; p++) {
        l->start[c->pair[p].a + 1]++;
        l->start[c->pair[p].b + 1]++;
    }
    for (int64_t i = 0; i < n; i++) {
        l->order[i] = (Keeper){i, l->start[i + 1]};
        l->start[i + 1] += l->start[i];
        l->fill[i] = l->start[i];
    }
    for (int64_t p = 0; p < c->n_pairs; p++) {
        SrCopyPair pair = c->pair[p];
        l->link[l->fill[pair.a]++] = pair;
        pair = (SrCopyPair){pair.b, pair.a, pair.score, pair.mirrored};
        l->link[l->fill[pair.a]++] = pair;
    }
}

// The image with most copies keeps all that are still free, then the next.
static void form_groups(SrCopies *c, int64_t n, Links *l) {
    int64_t members = 0;
    qsort(l->order, (size_t)n, sizeof *l->order, most_copies);
    for (int64_t i = 0; i < n && l->order[i].degree > 0; i++) {
        int64_t keeper = l->order[i].row;
        SrCopyGroup group = {keeper, members, 0};
        if (l->taken[keeper])
            continue;
        for (int64_t k = l->start[keeper]; k < l->start[keeper + 1]; k++) {
            if (l->taken[l->link[k].b])
                continue;
            l->taken[l->link[k].b] = 1;
            c->member[members++] = l->link[k];
            group.n++;
        }
        l->taken[keeper] = 1;
        if (group.n > 0)
            c->group[c->n_groups++] = group;
    }
    if (c->n_groups > 0)
        qsort(c->group, (size_t)c->n_groups, sizeof *c->group, larger_first);
}

static SrStatus make_groups(SrCopies *c, int64_t n) {
    size_t count = (size_t)n;
    Links l = {sr_calloc(count + 1, sizeof *l.start),
               sr_alloc((size_t)c->n_pairs * 2 * sizeof *l.link + 1),
               sr_alloc(count * sizeof *l.order), sr_calloc(count, 1),
               sr_alloc(count * sizeof *l.fill)};
    c->group = sr_alloc((size_t)c->n_pairs * sizeof *c->group + 1);
    c->member = sr_alloc(count * sizeof *c->member);
    bool enough = l.start && l.link && l.order && l.taken && l.fill && c->group && c->member;
    if (enough) {
        make_links(c, n, &l);
        form_groups(c, n, &l);
    }
    sr_free(l.start);
    sr_free(l.link);
    sr_free(l.order);
    sr_free(l.taken);
    sr_free(l.fill);
    return enough ? SR_OK : sr_out_of_memory("groups");
}

// ---- the whole ----------------------------------------------------------------------------------

static SrStatus find(Finder *f) {
    SR_TRY(find_same(f));
    SR_TRY(find_near(f));
    f->found = sr_alloc((size_t)CHUNK * LISTS * (size_t)f->k * sizeof *f->found);
    SR_TRY_MEMORY(f->found, "scores");
    SR_TRY(choose_threshold(f));
    SR_TRY(find_pairs(f));
    return f->o->others ? SR_OK : make_groups(f->out, f->n);
}

static SrStatus check(const SrCopiesOptions *o) {
    int64_t n = sr_index_rows(o->images);
    bool same = sr_index_rows(o->looks[SR_LOOK_MIRRORED]) == n &&
                sr_index_rows(o->looks[SR_LOOK_CROPPED]) == n &&
                (!o->thumbnails || sr_index_rows(o->thumbnails) == n) &&
                (!o->others || !o->other_thumbnails ||
                 sr_index_rows(o->others) == sr_index_rows(o->other_thumbnails));
    if (!same)
        SR_FAIL(SR_ERR_RUN, "the images changed while they were read; run the command once more");
    if (!o->others && n < 2)
        SR_FAIL(SR_ERR_CONFIG, "the folder holds one image that can be read; expected 2 or more");
    return SR_OK;
}

SrStatus sr_copies_find(const SrCopiesOptions *o, SrCopies *out) {
    *out = (SrCopies){.n_pairs = 0};
    SR_TRY(check(o));
    Finder f = {.o = o,
                .to = o->others ? o->others : o->images,
                .to_thumbs = o->others ? o->other_thumbnails : o->thumbnails,
                .n = sr_index_rows(o->images),
                .out = out};
    f.m = sr_index_rows(f.to);
    SrStatus status = find(&f);
    sr_free(f.same);
    sr_free(f.first);
    for (int list = 0; list < LISTS; list++)
        sr_free(f.near[list]);
    sr_free(f.found);
    if (status != SR_OK)
        sr_copies_deinit(out);
    return status;
}

void sr_copies_deinit(SrCopies *copies) {
    sr_free(copies->pair);
    sr_free(copies->group);
    sr_free(copies->member);
    *copies = (SrCopies){.n_pairs = 0};
}
