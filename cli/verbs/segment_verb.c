// sslrun segment pca | cluster | probe | match: shows what the patches of images have in common,
// and measures how well they segment images that have masks.
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "cli/args/args.h"
#include "cli/args/photo_page_args.h"
#include "cli/findings.h"
#include "cli/verb.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "folder/patches/dense_probe.h"
#include "folder/patches/patch_rows.h"
#include "folder/patches/segment.h"
#include "pages/photos/match_picture.h"
#include "pages/photos/segment_pictures.h"

enum { UNSET = INT_MIN, STEPS = 1000, COUNT = 40 };

typedef struct {
    const char *model, *weights, *layers, *out;
    int size, seed, steps, count;
    bool foreground;
    SrPhotoFiles files;
    SrFindingsArgs to;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, model, "--model", "RUN",
                 "a run folder, a checkpoint, a model's name (resnet50), or a configuration"),
    SR_FLAG_TEXT(Options, weights, "--weights", "FILE",
                 "weights of a model that is named; without them they are drawn"),
    SR_FLAG_TEXT(Options, layers, "--layers", "NAMES",
                 "layers with patches, the finest first, such as res3,res4"),
    SR_FLAG_NUMBER(Options, size, "--size",
                   "pixels per side that the model sees (the evaluation's; 224 for a name)"),
    SR_FLAG_ON(Options, foreground, "--foreground",
               "pca: colours of the foreground alone; the background is black"),
    SR_FLAG_NUMBER(Options, seed, "--seed", "cluster, probe: seed of draws (0)"),
    SR_FLAG_NUMBER(Options, steps, "--steps", "probe: updates of the linear layer (1000)"),
    SR_FLAG_NUMBER(Options, count, "--count", "match: most pairs (40)"),
    SR_FLAG_TEXT(Options, out, "--out", "DIR",
                 "pca, cluster, probe: write a picture of each image"),
    SR_FLAG_TEXT(Options, files.page, "--page", "FILE.html", "write a page with the pictures"),
    SR_FLAG_TEXT(Options, files.sheet, "--sheet", "FILE.png", "write one sheet of the pictures"),
    SR_FLAG_ON(Options, to.json, "--json", "print one JSON line per image"),
    SR_FLAG_ON(Options, to.csv, "--csv", "print a table with a line of names"),
    {0}};

// ---- a job over a folder ------------------------------------------------------------------------

typedef struct {
    const Options *o;
    SrPatchSource *source;
    SrImageSet images;
    SrSegmentPictures pictures;
    SrFindings findings;
    SrSegmentReport report;
    int64_t *count; // (k) patches of each segment, of the present image
    SrDenseReport *dense;
} Job;

static SrPatchOptions patch_options(const Options *o) {
    return (SrPatchOptions){.model = o->model,
                            .weights = o->weights,
                            .layers = o->layers,
                            .size = o->size,
                            .whole = true};
}

// Checks what all forms share, before a model is opened.
static SrStatus check(const Options *o) {
    SR_TRY(sr_photo_files_check(&o->files));
    if (o->to.json && o->to.csv)
        SR_FAIL(SR_ERR_CONFIG, "--json and --csv are two forms of one list: give one of them");
    if (!o->model)
        SR_FAIL(SR_ERR_CONFIG, "sslrun segment needs --model: a run folder such as runs/photos, a "
                               "checkpoint, or a model's name such as resnet50 with --weights");
    if (o->size < 0 || o->size > 4096)
        SR_FAIL(SR_ERR_CONFIG, "--size %d: expected 1 to 4096 pixels", o->size);
    if (o->steps < 1 || o->count < 1)
        SR_FAIL(SR_ERR_CONFIG, "--%s needs at least 1", o->steps < 1 ? "steps" : "count");
    return SR_OK;
}

// Refuses flags that the form does not read, and fills those that were not given.
static SrStatus take_flags(Options *o, const char *form) {
    bool is_pca = strcmp(form, "pca") == 0, is_probe = strcmp(form, "probe") == 0;
    bool is_match = strcmp(form, "match") == 0;
    const char *strange = o->foreground && !is_pca                   ? "--foreground"
                          : o->steps != UNSET && !is_probe           ? "--steps"
                          : o->count != UNSET && !is_match           ? "--count"
                          : o->seed != UNSET && (is_pca || is_match) ? "--seed"
                                                                     : NULL;
    if (strange && *form)
        SR_FAIL(SR_ERR_CONFIG, "sslrun segment %s does not read %s: leave it out", form, strange);
    o->steps = o->steps == UNSET ? STEPS : o->steps;
    o->count = o->count == UNSET ? COUNT : o->count;
    o->seed = o->seed == UNSET ? 0 : o->seed;
    return SR_OK;
}

static SrStatus open_images(Job *j, const char *data) {
    const Options *o = j->o;
    SR_TRY(check(o));
    SR_TRY(sr_args_check_images("sslrun segment", data));
    SR_TRY(sr_findings_init(&o->to, &j->findings));
    SR_TRY(sr_image_set_open(data, &j->images));
    j->pictures = (SrSegmentPictures){
        .images = &j->images, .folder = o->out, .strips_wanted = sr_photo_files_any(&o->files)};
    return sr_segment_pictures_init(&j->pictures);
}

static SrStatus job_open(Job *j, const char *data) {
    SrPatchOptions options = patch_options(j->o);
    SR_TRY(open_images(j, data));
    SR_TRY(sr_patch_source_open(&options, &j->source));
    j->pictures.rows = sr_patch_source_rows(j->source);
    j->pictures.columns = sr_patch_source_columns(j->source);
    j->count = sr_calloc(SR_SEGMENT_CLUSTERS, sizeof *j->count);
    return j->count ? SR_OK : sr_out_of_memory("segments");
}

static void job_close(Job *j) {
    sr_segment_pictures_deinit(&j->pictures);
    sr_image_set_close(&j->images);
    sr_patch_source_close(j->source);
    sr_findings_deinit(&j->findings);
    sr_free(j->count);
    sr_free(j->dense);
}

// Writes page and sheet, and prints the rows or the names of the files.
static SrStatus job_end(Job *j, const char *title) {
    const SrPhotoFiles *files = &j->o->files;
    SR_TRY(sr_strips_write(&j->pictures.strips, title, files));
    if (files->page)
        sr_findings_say(&j->findings, "%s\n", files->page);
    if (files->sheet)
        sr_findings_say(&j->findings, "%s\n", files->sheet);
    if (j->report.bad > 0)
        sr_findings_say(&j->findings, "%lld of %lld images cannot be read and have no picture\n",
                        (long long)j->report.bad, (long long)j->report.images);
    return sr_findings_end(&j->findings, title, "", 0, "");
}

// ---- pca ----------------------------------------------------------------------------------------

static SrStatus add_colors(void *arg, int64_t image, const float *map, int channels) {
    Job *j = arg;
    char path[SR_PICTURE_PATH_BYTES];
    (void)channels;
    if (!map)
        return SR_OK;
    SR_TRY(sr_segment_draw_colors(&j->pictures, image, map, path));
    SrField field[] = {{"picture", path, 0, 0}, {"file", j->pictures.name, 0, 0}};
    if (j->o->out)
        sr_findings_add(&j->findings, field, SR_COUNT(field));
    return SR_OK;
}

static SrStatus pca(const Options *o, const char *data) {
    Job j = {.o = o};
    SrStatus status;
    if (!o->out && !sr_photo_files_any(&o->files))
        SR_FAIL(SR_ERR_CONFIG, "sslrun segment pca writes pictures: say where by --sheet FILE.png, "
                               "--page FILE.html or --out DIR");
    SR_TRY_GOTO(job_open(&j, data));
    SR_TRY_GOTO(sr_segment_pca(j.source, &j.images, o->foreground, &j.report, add_colors, &j));
    sr_findings_say(&j.findings,
                    "%lld images; %s, %d x %d patches of each\nthree directions hold %.0f %% of "
                    "the variance\n",
                    (long long)(j.report.images - j.report.bad), sr_patch_source_layers(j.source),
                    j.pictures.rows, j.pictures.columns, 100 * j.report.share);
    sr_text_printf(&j.pictures.strips.intro,
                   "<p>Colours are the three main directions of the features of all patches (%s, "
                   "%d x %d in each image), red for the first. Patches of one colour have similar "
                   "features, in all images. The three hold %.0f\u00a0%% of the variance.%s</p>\n",
                   sr_patch_source_layers(j.source), j.pictures.rows, j.pictures.columns,
                   100 * j.report.share,
                   o->foreground ? " Black patches are the background, which was left out." : "");
    SR_TRY_GOTO(job_end(&j, "Main directions of patches"));
done:
    job_close(&j);
    return status;
}

// ---- cluster ------------------------------------------------------------------------------------

static void count_patches(Job *j, const float *score, int k) {
    memset(j->count, 0, (size_t)k * sizeof *j->count);
    for (int p = 0; p < j->pictures.rows * j->pictures.columns; p++, score += k) {
        int best = 0;
        for (int c = 1; c < k; c++)
            best = score[c] > score[best] ? c : best;
        j->count[best]++;
    }
}

static SrStatus add_segments(void *arg, int64_t image, const float *score, int k) {
    Job *j = arg;
    char path[SR_PICTURE_PATH_BYTES], name[SR_SEGMENT_CLUSTERS][24], caption[96] = "";
    SrField field[SR_SEGMENT_CLUSTERS + 1];
    if (!score)
        return SR_OK;
    count_patches(j, score, k);
    int most = 0;
    for (int c = 0; c < k; c++) {
        snprintf(name[c], sizeof name[c], "segment_%d", c);
        double share = (double)j->count[c] / (j->pictures.rows * j->pictures.columns);
        field[c] = (SrField){name[c], NULL, share, 4};
        most = j->count[c] > j->count[most] ? c : most;
    }
    sr_number_print(caption, sizeof caption, "segment %d has %.0f %%", most,
                    100 * field[most].number);
    SR_TRY(sr_segment_draw_scores(&j->pictures, image, score, k, caption, path));
    field[k] = (SrField){"file", j->pictures.name, 0, 0};
    sr_findings_add(&j->findings, field, k + 1);
    return SR_OK;
}

static void add_key(Job *j, int k) {
    char text[SR_SEGMENT_CLUSTERS][24];
    const char *name[SR_SEGMENT_CLUSTERS];
    for (int c = 0; c < k; c++) {
        snprintf(text[c], sizeof text[c], "segment %d", c);
        name[c] = text[c];
    }
    sr_text_printf(&j->pictures.strips.intro,
                   "<p>k-means of the directions of all patches (%s, %d x %d in each image), by "
                   "size. Patches of one colour belong to one segment, in all images.</p>\n",
                   sr_patch_source_layers(j->source), j->pictures.rows, j->pictures.columns);
    sr_segment_key(name, k, &j->pictures.strips.intro);
}

static SrStatus cluster(const Options *o, const char *number, const char *data) {
    Job j = {.o = o};
    SrStatus status;
    char title[64], *end;
    long k = strtol(number, &end, 10);
    if (*end || k < 2 || k > SR_SEGMENT_CLUSTERS)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun segment cluster %s: expected a number of segments from 2 to "
                "%d",
                number, SR_SEGMENT_CLUSTERS);
    SR_TRY_GOTO(job_open(&j, data));
    SR_TRY_GOTO(sr_segment_cluster(j.source, &j.images, (int)k, (uint64_t)o->seed, &j.report,
                                   add_segments, &j));
    add_key(&j, (int)k);
    snprintf(title, sizeof title, "%d segments", (int)k);
    SR_TRY_GOTO(job_end(&j, title));
done:
    job_close(&j);
    return status;
}

// ---- probe --------------------------------------------------------------------------------------

static SrStatus add_prediction(void *arg, int64_t image, const SrMask *mask,
                               const uint8_t *predicted) {
    Job *j = arg;
    return sr_segment_draw_prediction(&j->pictures, image, mask->class, predicted,
                                      j->dense->classes);
}

static void add_score(Job *j, SrDenseRow row) {
    const SrDenseReport *r = j->dense;
    const SrDenseScore *s = &r->score[row];
    char name[SR_CONFUSION_CLASSES][16], shape[64];
    SrField field[SR_CONFUSION_CLASSES + 4];
    int n = 0;
    if (!s->has)
        return;
    snprintf(shape, sizeof shape, "%d x %d x %d", s->rows, s->columns, s->dim);
    field[n++] = (SrField){"miou", NULL, 100 * sr_confusion_mean_iou(&s->confusion), 1};
    field[n++] = (SrField){"accuracy", NULL, 100 * sr_confusion_accuracy(&s->confusion), 1};
    for (int c = 0; c < r->classes && (j->o->to.json || j->o->to.csv); c++) {
        snprintf(name[c], sizeof name[c], "iou_%d", r->value[c]);
        field[n++] = (SrField){name[c], NULL, 100 * sr_confusion_iou(&s->confusion, c), 1};
    }
    field[n++] = (SrField){"map", shape, 0, 0};
    field[n++] = (SrField){"features", sr_dense_row_name(r, row), 0, 0};
    sr_findings_add(&j->findings, field, n);
}

// Adds the IoU of each class by the trunk, and how common the class is.
static void say_classes(Job *j) {
    const SrDenseReport *r = j->dense;
    const SrConfusion *c = &r->score[SR_DENSE_TRUNK].confusion;
    int64_t all = 0;
    for (int k = 0; k < r->classes * r->classes; k++)
        all += c->count[k / r->classes][k % r->classes];
    sr_findings_say(&j->findings, "class  IoU by the trunk, %%  share of pixels, %%\n");
    for (int k = 0; k < r->classes; k++) {
        char iou[16] = "-";
        int64_t pixels = 0;
        for (int p = 0; p < r->classes; p++)
            pixels += c->count[k][p];
        if (!isnan(sr_confusion_iou(c, k)))
            sr_number_print(iou, sizeof iou, "%.1f", 100 * sr_confusion_iou(c, k));
        sr_findings_say(&j->findings, "%5d  %19s  %17.1f\n", r->value[k], iou,
                        100 * (double)pixels / (double)SR_MAX(all, 1));
    }
}

// Says whether training made the trunk's maps better on the held-out images.
static void say_verdict(Job *j) {
    const SrDenseScore *trunk = &j->dense->score[SR_DENSE_TRUNK],
                       *drawn = &j->dense->score[SR_DENSE_DRAWN];
    if (!trunk->has || !drawn->has)
        return;
    double gain =
        100 * (sr_confusion_mean_iou(&trunk->confusion) - sr_confusion_mean_iou(&drawn->confusion));
    sr_findings_say(&j->findings, "the trunk's mIoU is %.1f points %s that of the untrained one\n",
                    fabs(gain), gain < 0 ? "below" : "above");
}

static void add_probe_intro(Job *j) {
    const SrDenseReport *r = j->dense;
    char text[SR_CONFUSION_CLASSES][24];
    const char *name[SR_CONFUSION_CLASSES];
    SrText *intro = &j->pictures.strips.intro;
    sr_text_printf(intro,
                   "<p>The image, its mask, and what a linear layer on %s predicts, for "
                   "images held out.</p>\n<table><tr><th>features</th><th>mIoU, %%</th>"
                   "<th>pixels, %%</th></tr>\n",
                   r->layers);
    for (int row = SR_DENSE_ROWS - 1; row >= 0; row--)
        if (r->score[row].has)
            sr_text_printf(intro, "<tr><td>%s</td><td>%.1f</td><td>%.1f</td></tr>\n",
                           sr_dense_row_name(r, (SrDenseRow)row),
                           100 * sr_confusion_mean_iou(&r->score[row].confusion),
                           100 * sr_confusion_accuracy(&r->score[row].confusion));
    sr_text_add(intro, "</table>\n");
    for (int c = 0; c < r->classes; c++) {
        snprintf(text[c], sizeof text[c], "class %d", r->value[c]);
        name[c] = text[c];
    }
    sr_segment_key(name, r->classes, intro);
}

static SrStatus probe(const Options *o, const char *masks, const char *data) {
    Job j = {.o = o};
    SrDenseOptions options = {
        .patches = patch_options(o), .masks = masks, .steps = o->steps, .seed = (uint64_t)o->seed};
    SrStatus status;
    bool drawn = o->out || sr_photo_files_any(&o->files);
    SR_TRY_GOTO(open_images(&j, data));
    j.dense = sr_calloc(1, sizeof *j.dense);
    SR_TRY_GOTO(j.dense ? SR_OK : sr_out_of_memory("a dense probe"));
    SR_TRY_GOTO(sr_dense_probe(&options, &j.images, j.dense, drawn ? add_prediction : NULL, &j));
    sr_findings_say(&j.findings,
                    "%d classes; fitted to %lld images, judged on %lld held out; trunk by %s\n"
                    "mIoU, %%  pixels, %%  map  features\n",
                    j.dense->classes, (long long)j.dense->train, (long long)j.dense->test,
                    j.dense->layers);
    for (int row = SR_DENSE_ROWS - 1; row >= 0; row--)
        add_score(&j, (SrDenseRow)row);
    if (j.dense->blank > 0)
        sr_findings_say(&j.findings,
                        "%lld of %lld images are left out: their masks are 255 everywhere\n",
                        (long long)j.dense->blank, (long long)j.images.n);
    say_verdict(&j);
    say_classes(&j);
    add_probe_intro(&j);
    j.report = (SrSegmentReport){.images = j.images.n, .bad = j.dense->bad};
    SR_TRY_GOTO(job_end(&j, "Segments by a linear probe"));
done:
    job_close(&j);
    return status;
}

// ---- match --------------------------------------------------------------------------------------

typedef struct {
    SrPatchSource *source;
    SrImagePool *pool;
    SrImage image[2];
    float *patches;    // (2, positions, d)
    SrPatchPair *pair; // (positions)
    int n;
} Match;

static SrStatus open_photo(Match *m, int i, const char *path) {
    char *bytes;
    size_t n;
    SR_TRY(sr_file_read(path, (size_t)1 << 30, &bytes, &n));
    SrStatus status = sr_image_decode(bytes, n, m->pool, &m->image[i]);
    sr_free(bytes);
    return status == SR_ERR_IO ? sr_fail_prefix(status, "%s", path) : status;
}

static SrStatus find_pairs(Match *m, const Options *o, const char *const path[2]) {
    SrPatchOptions options = patch_options(o);
    SR_TRY(sr_image_pool_new(&m->pool));
    for (int i = 0; i < 2; i++)
        SR_TRY(open_photo(m, i, path[i]));
    SR_TRY(sr_patch_source_open(&options, &m->source));
    int n = sr_patch_source_rows(m->source) * sr_patch_source_columns(m->source);
    int d = sr_patch_source_dim(m->source);
    m->patches = sr_alloc(2 * (size_t)n * (size_t)d * sizeof *m->patches);
    m->pair = sr_alloc((size_t)n * sizeof *m->pair);
    SR_TRY_MEMORY(m->patches && m->pair, "patches");
    for (int i = 0; i < 2; i++)
        SR_TRY(sr_patch_source_file(m->source, path[i], m->patches + (int64_t)i * n * d));
    sr_patch_center(m->patches, 2 * (int64_t)n, d); // what all patches share says nothing
    sr_patch_unit(m->patches, 2 * (int64_t)n, d);
    SR_TRY(sr_patch_match(m->patches, n, m->patches + (int64_t)n * d, n, d, m->pair, &m->n));
    m->n = sr_patch_spread(m->pair, m->n, sr_patch_source_columns(m->source), o->count);
    return SR_OK;
}

// Gives the middle of a patch in pixels of its image.
static SrField place(const Match *m, const char *name, int i, int patch, bool x) {
    int rows = sr_patch_source_rows(m->source), columns = sr_patch_source_columns(m->source);
    double at = x ? (patch % columns + 0.5) * m->image[i].W / columns
                  : (patch / columns + 0.5) * m->image[i].H / rows;
    return (SrField){name, NULL, at, 1};
}

static SrStatus match(const Options *o, const char *a, const char *b) {
    Match m = {.n = 0};
    SrFindings f = {.n = 0};
    SrStatus status;
    const char *const path[2] = {a, b};
    SR_TRY_GOTO(check(o));
    if (o->files.page || o->out)
        SR_TRY_GOTO(sr_fail(SR_ERR_CONFIG, "sslrun segment match draws one picture: name it by "
                                           "--sheet, without --page and --out"));
    SR_TRY_GOTO(sr_findings_init(&o->to, &f));
    SR_TRY_GOTO(find_pairs(&m, o, path));
    sr_findings_say(&f, "cosine, then x and y in pixels in each of the two images\n");
    for (int i = 0; i < m.n; i++) {
        const SrPatchPair *p = &m.pair[i];
        SrField field[] = {{"cosine", NULL, (double)p->cosine, 4},
                           place(&m, "x_a", 0, p->a, true),
                           place(&m, "y_a", 0, p->a, false),
                           place(&m, "x_b", 1, p->b, true),
                           place(&m, "y_b", 1, p->b, false)};
        sr_findings_add(&f, field, SR_COUNT(field));
    }
    if (o->files.sheet) {
        const SrMatchPicture picture = {&m.image[0],
                                        &m.image[1],
                                        sr_patch_source_rows(m.source),
                                        sr_patch_source_columns(m.source),
                                        m.pair,
                                        m.n};
        SR_TRY_GOTO(sr_match_picture(&picture, m.pool, o->files.sheet));
        sr_findings_say(&f, "%s\n", o->files.sheet);
    }
    status = sr_findings_end(&f, "", "", 0, "");
done:
    sr_findings_deinit(&f);
    sr_patch_source_close(m.source);
    sr_image_pool_free(m.pool);
    sr_free(m.patches);
    sr_free(m.pair);
    return status;
}

// ---- verb ---------------------------------------------------------------------------------------

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.seed = UNSET, .steps = UNSET, .count = UNSET};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "segment"));
    const char *what = args.n_names ? args.names[0] : "";
    SR_TRY(take_flags(&o, what));
    if (strcmp(what, "pca") == 0 && args.n_names == 2)
        return pca(&o, args.names[1]);
    if (strcmp(what, "cluster") == 0 && args.n_names == 3)
        return cluster(&o, args.names[1], args.names[2]);
    if (strcmp(what, "probe") == 0 && args.n_names == 3)
        return probe(&o, args.names[1], args.names[2]);
    if (strcmp(what, "match") == 0 && args.n_names == 3)
        return match(&o, args.names[1], args.names[2]);
    SR_FAIL(SR_ERR_CONFIG, "sslrun segment needs `pca DIR`, `cluster K DIR`, `probe MASKS DIR` or "
                           "`match IMAGE IMAGE`");
}

const SrVerb sr_verb_segment = {
    .name = "segment",
    .group = SR_VERB_FOLDER,
    .args = "pca DIR --model RUN (--sheet FILE.png | --page FILE.html | --out DIR)\n"
            "cluster K DIR --model RUN\n"
            "probe MASKS DIR --model RUN\n"
            "match IMAGE IMAGE --model RUN",
    .summary = "segments images by the features of their patches, and measures that",
    .help =
        "A patch is a place of a convolutional map, or a token of a transformer. Images are "
        "resized to a square as a whole, and pictures have the image's own shape. Without --layers "
        "the last layer with patches of 16 x 16 pixels or finer is taken; a larger --size gives "
        "more patches.\n\npca shows the three main directions of the features of all patches as "
        "red, green and blue. cluster finds K segments by k-means, the largest first, and prints "
        "the share of each in every image. Colours mean the same in all images.\n\nprobe fits "
        "batch norm and a 1 x 1 layer to frozen features. MASKS holds a PNG for each image of DIR, "
        "with the same stem and size, whose pixels are classes; 255 is ignored, and an image whose "
        "mask is 255 everywhere is left out. Every fifth image is held out. Printed are the mean "
        "intersection over union and the share of right pixels, next to pixels alone and to an "
        "untrained trunk.\n\nmatch lists pairs of patches of two images of which each is the "
        "nearest to the other, by the cosine of features without their mean.",
    .examples = {{"sslrun segment pca photos --model runs/photos --sheet pca.png",
                  "Shows the main directions of patches on one sheet."},
                 {"sslrun segment cluster 6 photos --model runs/photos --csv --out segments",
                  "Prints shares of six segments, and writes pictures of them."},
                 {"sslrun segment probe masks photos --model runs/photos --page probe.html",
                  "Measures how well a linear layer segments photos that have masks."},
                 {"sslrun segment match photos/hat/0.jpg photos/hat/1.jpg --model runs/photos "
                  "--sheet match.png",
                  "Draws lines between corresponding parts of two photos."}},
    .files = "DIR of --out receives one PNG per image, at most 1024 pixels long.",
    .flags = flags,
    .run = run_verb,
};
