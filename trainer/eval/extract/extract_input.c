// Extracts features of one tensor of images into a file (sslrun extract --input).
#include "trainer/eval/extract/extract_input.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/weights.h"
#include "kernels/conv/conv.h"
#include "trainer/features/feature_values.h"

enum { CHUNK = 32 }; // images at once in evaluation, where batches do not matter

typedef struct {
    const SrExtractOptions *o;
    SrFeatureSource source;
    const float *x; // (n, 3, H, W), in the file
    int n, batch;
    SrNamedTensor *out; // one a tap; data owned
} Run;

// Finds "x", or the only tensor of four dimensions; -1: neither.
static int find_images(const SrWeights *w) {
    int found = sr_weights_find(w, "x"), n = 0;
    for (int i = 0; found < 0 && i < w->n; i++)
        n += w->tensors[i].shape.rank == 4;
    for (int i = 0; n == 1 && i < w->n; i++)
        if (w->tensors[i].shape.rank == 4)
            found = i;
    return found;
}

static SrStatus no_images(const SrWeights *w, const char *path) {
    char shape[SR_SHAPE_TEXT_BYTES];
    SrText found = SR_TEXT_INIT;
    for (int i = 0; i < w->n && i < 5; i++)
        sr_text_printf(&found, "%s%s %s", i ? ", " : "", w->tensors[i].name,
                       sr_shape_text(w->tensors[i].shape, shape, sizeof shape));
    SrStatus status = sr_fail(SR_ERR_CONFIG,
                              "%s: expected a tensor \"x\" of images, (N, 3, H, W), or a single "
                              "tensor of four dimensions; found %s%s",
                              path, found.s ? found.s : "none", w->n > 5 ? ", ..." : "");
    sr_text_deinit(&found);
    return status;
}

static SrStatus read_input(SrWeights *w, const char *path, SrTensor *x) {
    char shape[SR_SHAPE_TEXT_BYTES];
    int i = find_images(w);
    if (i < 0)
        return no_images(w, path);
    SR_TRY(sr_weights_read(w, i, x));
    if (x->dtype != SR_F32 || x->shape.rank != 4 || x->shape.d[1] != 3 ||
        sr_shape_count(x->shape) == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s is %s %s; expected F32 of (N, 3, H, W)", path,
                w->tensors[i].name, sr_dtype_name(x->dtype),
                sr_shape_text(x->shape, shape, sizeof shape));
    return SR_OK;
}

#define WRITER_KEY "written_by"
#define WRITER "sslrun extract"

// Permits to replace features, which are often recomputed, and nothing else.
static SrStatus may_replace(const SrExtractOptions *o) {
    SrSafetensors st;
    if (o->force || !sr_file_exists(o->out))
        return SR_OK;
    bool ours = false;
    if (!sr_file_is_dir(o->out) && sr_safetensors_map(&st, o->out) == SR_OK) {
        const char *writer = sr_safetensors_meta(&st, WRITER_KEY);
        ours = writer && strcmp(writer, WRITER) == 0;
        sr_safetensors_close(&st);
    }
    return ours
               ? SR_OK
               : sr_fail(SR_ERR_CONFIG,
                         "%s exists and holds no features of `sslrun extract`; --force replaces it",
                         o->out);
}

// Allocates each layer's values for all n rows, in the layout asked for.
static SrStatus make_outputs(Run *r) {
    r->out = sr_calloc((size_t)r->source.taps.n, sizeof *r->out);
    SR_TRY_MEMORY(r->out, "features");
    for (int i = 0; i < r->source.taps.n; i++) {
        SrTensor t = {.shape = sr_feature_shape(&r->source, i, r->o->nhwc), .dtype = SR_F32};
        int rows = t.shape.d[0];
        if (t.shape.rank > 0 && rows == r->batch)
            t.shape.d[0] = r->n;
        else if (r->n != r->batch)
            SR_FAIL(SR_ERR_CONFIG, "%s does not have one row per image; give at most %d images",
                    r->source.taps.v[i].name, r->batch);
        t.data = sr_alloc((size_t)sr_shape_count(t.shape) * sizeof(float));
        r->out[i] = (SrNamedTensor){r->source.taps.v[i].name, t};
        SR_TRY_MEMORY(t.data, "%lld numbers of %s", (long long)sr_shape_count(t.shape),
                      r->out[i].name);
    }
    return SR_OK;
}

// Computes images first .. first + rows - 1; the rest of the batch is zero.
static void run_chunk(Run *r, int first, int rows) {
    SrTensor in = sr_feature_source_input(&r->source);
    SrShape part = in.shape;
    int64_t image = sr_shape_count(in.shape) / r->batch;
    part.d[0] = rows;
    memset(in.data, 0, (size_t)sr_shape_count(in.shape) * sizeof(float));
    sr_layout_to_nhwc(r->x + first * image, part, in.data);
    sr_feature_source_forward(&r->source);
    for (int i = 0; i < r->source.taps.n; i++) {
        SrShape s = sr_feature_shape(&r->source, i, r->o->nhwc);
        int64_t row = sr_shape_count(s) / SR_MAX(s.rank ? s.d[0] : 1, 1);
        sr_feature_copy(&r->source, i, rows, r->o->nhwc,
                        (float *)r->out[i].tensor.data + first * row);
    }
}

// Returns the designs to choose from, or 0 to leave the choice to the configuration.  Train mode
// takes the direct convolutions, which round least: statistics of few values, such as a last stage
// of 2 x 2 pixels, magnify rounding a hundredfold.
static unsigned designs(SrMode mode) { return mode == SR_MODE_TRAIN ? SR_CONV_DIRECT : 0; }

static SrStatus open(Run *r, SrShape x) {
    SrFeatureOptions o = r->o->features;
    r->n = x.d[0];
    r->batch = o.mode == SR_MODE_TRAIN ? r->n : SR_MIN(r->n, o.batch > 0 ? o.batch : CHUNK);
    o.batch = r->batch;
    o.conv_designs = designs(o.mode);
    o.height = x.d[2];
    o.width = x.d[3];
    SR_TRY(sr_feature_source_open(&o, &r->source));
    return make_outputs(r);
}

SrStatus sr_extract_input(const SrExtractOptions *o, SrText *report) {
    SrWeights w;
    SrTensor x;
    Run r = {.o = o};
    SrStatus status;
    SR_TRY(may_replace(o));
    SR_TRY(sr_weights_open(&w, o->input));
    SR_TRY_GOTO(read_input(&w, o->input, &x));
    SR_TRY_GOTO(open(&r, x.shape));
    r.x = x.data;
    for (int first = 0; first < r.n; first += r.batch)
        run_chunk(&r, first, SR_MIN(r.batch, r.n - first));
    sr_extraction_report(&r.source.extraction, report);
    sr_text_printf(report, "; %d image%s\n", r.n, r.n == 1 ? "" : "s");
    sr_feature_source_say_layers(&r.source, report);
    SR_TRY_GOTO(sr_safetensors_save(o->out, r.out, r.source.taps.n, (const char *[]){WRITER_KEY},
                                    (const char *[]){WRITER}, 1));
done:
    for (int i = 0; r.out && i < r.source.taps.n; i++)
        sr_free(r.out[i].tensor.data);
    sr_free(r.out);
    sr_feature_source_close(&r.source);
    sr_weights_close(&w);
    return status;
}
