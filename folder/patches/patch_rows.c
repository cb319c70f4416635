// Gathers patches of images, and hands them out again image by image.
#include "folder/patches/patch_rows.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"

static int positions_of(const SrPatchRows *r) {
    return sr_patch_source_rows(r->source) * sr_patch_source_columns(r->source);
}

void sr_patch_center(float *x, int64_t n, int d) {
    for (int j = 0; j < d; j++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++)
            mean += (double)x[i * d + j] / (double)n;
        for (int64_t i = 0; i < n; i++)
            x[i * d + j] = (float)((double)x[i * d + j] - mean);
    }
}

void sr_patch_unit(float *x, int64_t n, int d) {
    for (int64_t i = 0; i < n; i++, x += d) {
        double square = 0;
        for (int j = 0; j < d; j++)
            square += (double)x[j] * (double)x[j];
        float scale = square > 1e-24 && isfinite(square) ? (float)(1 / sqrt(square)) : 0;
        for (int j = 0; j < d; j++)
            x[j] = scale > 0 ? x[j] * scale : 0;
    }
}

// ---- gathering ----------------------------------------------------------------------------------

typedef struct {
    SrPatchRows *r;
    uint32_t *order; // (positions) work space of the draw
} Gather;

static SrStatus gather_image(void *arg, int64_t image, bool good, const float *patches) {
    Gather *g = arg;
    SrPatchRows *r = g->r;
    int d = r->rows.d, positions = positions_of(r);
    r->first[image] = good ? r->rows.n : -1;
    r->bad += !good;
    SrRng rng = sr_rng(0, SR_RNG_PATCHES, 3, (uint64_t)image, 0, 0);
    if (good && r->per_image < positions)
        sr_rng_permutation(&rng, g->order, (uint32_t)positions);
    for (int64_t i = 0; good && i < r->per_image; i++) {
        int from = r->per_image < positions ? (int)g->order[i] : (int)i;
        float *to = r->rows.x + r->rows.n * d;
        memcpy(to, patches + (int64_t)from * d, (size_t)d * sizeof *to);
        if (r->unit)
            sr_patch_unit(to, 1, d);
        r->position[r->rows.n++] = from;
    }
    return SR_OK;
}

static SrStatus size_rows(SrPatchRows *r, size_t memory) {
    size_t row = (size_t)sr_patch_source_dim(r->source) * sizeof(float) + sizeof(int);
    r->per_image = SR_MIN((int64_t)(memory / row) / r->images->n, (int64_t)positions_of(r));
    if (r->per_image < 1)
        SR_FAIL(SR_ERR_CONFIG,
                "%lld images are too many: one patch of each takes more than %.0f MB; give a list "
                "of fewer images",
                (long long)r->images->n, (double)memory / 1e6);
    SR_TRY(sr_matrix_init(&r->rows, r->images->n * r->per_image, sr_patch_source_dim(r->source)));
    r->position = sr_alloc((size_t)r->rows.n * sizeof *r->position);
    r->first = sr_alloc((size_t)r->images->n * sizeof *r->first);
    r->rows.n = 0;
    return r->position && r->first ? SR_OK : sr_out_of_memory("patches");
}

SrStatus sr_patch_rows(SrPatchSource *source, const SrImageSet *images, bool unit, size_t memory,
                       SrPatchRows *out) {
    *out = (SrPatchRows){.source = source, .images = images, .unit = unit};
    Gather g = {out, NULL};
    SR_TRY(size_rows(out, memory));
    g.order = sr_alloc((size_t)positions_of(out) * sizeof *g.order);
    SrStatus status =
        g.order ? sr_patch_source_each(source, images, "patches of images", gather_image, &g)
                : sr_out_of_memory("patches");
    sr_free(g.order);
    if (status == SR_OK && out->rows.n == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: no image can be read", images->path);
    return status;
}

void sr_patch_rows_deinit(SrPatchRows *r) {
    sr_matrix_deinit(&r->rows);
    sr_free(r->position);
    sr_free(r->first);
    *r = (SrPatchRows){.source = NULL};
}

// ---- handing out --------------------------------------------------------------------------------

typedef struct {
    const SrPatchRows *r;
    float *patches; // (positions, d) patches of an image
    SrEachPatches each;
    void *arg;
} Pass;

static SrStatus pass_image(void *arg, int64_t image, bool good, const float *patches) {
    Pass *p = arg;
    int d = p->r->rows.d, positions = positions_of(p->r);
    memcpy(p->patches, patches, (size_t)positions * (size_t)d * sizeof *patches);
    if (p->r->unit)
        sr_patch_unit(p->patches, positions, d);
    return p->each(p->arg, image, good, good ? p->patches : NULL);
}

static SrStatus compute_again(const SrPatchRows *r, SrEachPatches each, void *arg) {
    Pass p = {r, NULL, each, arg};
    p.patches = sr_alloc((size_t)positions_of(r) * (size_t)r->rows.d * sizeof *p.patches);
    SrStatus status =
        p.patches ? sr_patch_source_each(r->source, r->images, "pictures of images", pass_image, &p)
                  : sr_out_of_memory("patches");
    sr_free(p.patches);
    return status;
}

SrStatus sr_patch_rows_each(const SrPatchRows *r, SrEachPatches each, void *arg) {
    if (r->per_image < positions_of(r))
        return compute_again(r, each, arg);
    for (int64_t i = 0; i < r->images->n; i++) {
        int64_t first = r->first[i];
        SR_TRY(each(arg, i, first >= 0, first >= 0 ? r->rows.x + first * r->rows.d : NULL));
    }
    return SR_OK;
}
