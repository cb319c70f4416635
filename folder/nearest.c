// Embeds a query and searches the index by blocks.
#include "folder/nearest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/number.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "folder/index/index_internal.h"
#include "kernels/core/gemm.h"

enum { BLOCK = 4096 };
#define MOST_FILE_BYTES ((size_t)1 << 30)

SrStatus sr_rect_parse(const char *text, SrRect *out) {
    int *field[] = {&out->x, &out->y, &out->w, &out->h};
    const char *p = text;
    bool good = true;
    for (int i = 0; good && i < 4; i++) {
        char *end;
        double v = sr_number_parse(p, &end);
        good = end > p && v == floor(v) && v >= (i < 2 ? 0 : 1) && v < 1e6 &&
               *end == (i < 3 ? ',' : '\0');
        *field[i] = good ? (int)v : 0;
        p = end + 1;
    }
    return good ? SR_OK
                : sr_fail(SR_ERR_CONFIG,
                          "--crop %s: expected x,y,w,h in whole pixels, such as 10,20,64,64", text);
}

SrStatus sr_nearest_check(const SrEmbedder *e, const SrIndex *index) {
    if (sr_index_key(index) == sr__index_key(e, SR_LOOK_PLAIN))
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s was made by another model, layer or preprocessing; name the model that made it, or "
            "run `sslrun index`",
            sr_index_file_path(index));
}

// ---- search -------------------------------------------------------------------------------------

typedef struct {
    const SrNearestOptions *o;
    const float *q;
    SrNear *near; // (blocks, k)
} Search;

static void search_block(void *arg, int64_t b, int thread) {
    const Search *s = arg;
    const SrIndex *index = s->o->index;
    float product[BLOCK];
    SrNear *list = s->near + b * s->o->k;
    int64_t first = b * BLOCK, n = SR_MIN(sr_index_rows(index) - first, BLOCK);
    (void)thread;
    sr_near_clear(list, s->o->k);
    sr_index_products(index, s->q, first, n, product);
    for (int64_t i = 0; i < n; i++)
        if (product[i] > list[s->o->k - 1].similarity) // most are not
            sr_near_insert(list, s->o->k, (uint32_t)(first + i), product[i]);
}

// Blocks may be merged in any order: equal rows have one order.
static SrStatus search_all(const SrNearestOptions *o, const float *q, SrNear *out) {
    int64_t blocks = (sr_index_rows(o->index) + BLOCK - 1) / BLOCK;
    Search s = {o, q, sr_alloc((size_t)blocks * (size_t)o->k * sizeof *s.near)};
    SR_TRY_MEMORY(s.near, "%d neighbours", o->k);
    sr_parallel_for(blocks, search_block, &s);
    for (int64_t i = 0; i < blocks * o->k; i++)
        sr_near_insert(out, o->k, s.near[i].row, s.near[i].similarity);
    sr_free(s.near);
    return SR_OK;
}

static void search_cell(const SrNearestOptions *o, const float *q, int cell, SrNear *out) {
    for (int i = o->cells->start[cell]; i < o->cells->start[cell + 1]; i++) {
        float product;
        sr_index_products(o->index, q, o->cells->row[i], 1, &product);
        sr_near_insert(out, o->k, (uint32_t)o->cells->row[i], product);
    }
}

static SrStatus search_cells(const SrNearestOptions *o, const float *q, SrNear *out) {
    const SrCells *c = o->cells;
    int probes = SR_MIN(o->probes, c->k);
    float *product = sr_alloc((size_t)c->k * sizeof *product);
    int32_t *cell = sr_alloc((size_t)probes * sizeof *cell);
    SrStatus status =
        product && cell ? sr_gemm_reserve() : sr_out_of_memory("the products of %d cells", c->k);
    if (status == SR_OK) {
        sr_gemm(false, true, 1, c->k, c->d, 1.0f, q, c->d, c->centre, c->d, 0.0f, product, c->k);
        sr_cells_choose(c, product, probes, cell);
        for (int i = 0; i < probes; i++)
            search_cell(o, q, cell[i], out);
    }
    sr_free(product);
    sr_free(cell);
    return status;
}

SrStatus sr_nearest(const SrNearestOptions *o, const float *q, SrNear *out) {
    sr_near_clear(out, o->k);
    return o->cells ? search_cells(o, q, out) : search_all(o, q, out);
}

// ---- query --------------------------------------------------------------------------------------

static SrStatus cut(SrSample *sample, const SrRect *r, SrImagePool *pool, const char *file) {
    SrImage whole, part;
    SR_TRY(sr_image_decode(sample->encoded, sample->encoded_bytes, pool, &whole));
    if (r->x > whole.W - r->w || r->y > whole.H - r->h)
        SR_FAIL(SR_ERR_CONFIG, "--crop %d,%d,%d,%d lies outside of %s, which has %d x %d pixels",
                r->x, r->y, r->w, r->h, file, whole.W, whole.H);
    SR_TRY(sr_image_new(pool, r->h, r->w, &part));
    for (int h = 0; h < r->h; h++)
        memcpy(part.rgb + (int64_t)h * r->w * 3,
               whole.rgb + ((int64_t)(r->y + h) * whole.W + r->x) * 3, (size_t)r->w * 3);
    *sample = (SrSample){.image = part, .path = file};
    return SR_OK;
}

static SrStatus embed(SrEmbedder *e, const char *file, const SrRect *crop, SrImagePool *pool,
                      float *rows) {
    char *bytes;
    size_t n;
    SR_TRY(sr_file_read(file, MOST_FILE_BYTES, &bytes, &n));
    SrEmbedImage image = {.sample = {.encoded = bytes, .encoded_bytes = n, .path = file},
                          .good = true};
    SrStatus status = crop ? cut(&image.sample, crop, pool, file) : SR_OK;
    if (status == SR_OK)
        status = sr_embedder_run(e, &image, 1, rows);
    sr_free(bytes);
    if (status == SR_ERR_IO || (status == SR_OK && !image.good))
        SR_FAIL(SR_ERR_CONFIG, "%s: expected an image that can be read", file);
    return status;
}

SrStatus sr_nearest_to_file(SrEmbedder *e, const SrNearestOptions *o, const char *file,
                            const SrRect *crop, SrNear *out) {
    SrImagePool *pool;
    float *row = sr_alloc((size_t)sr_index_dim(o->index) * sizeof *row);
    SR_TRY_MEMORY(row, "a row");
    SrStatus status = sr_image_pool_new(&pool);
    if (status == SR_OK) {
        status = embed(e, file, crop, pool, row);
        sr_image_pool_free(pool);
    }
    if (status == SR_OK)
        status = sr_nearest(o, row, out);
    sr_free(row);
    return status;
}
