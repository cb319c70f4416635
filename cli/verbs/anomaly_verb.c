// sslrun anomaly fit | score | eval: finds defects on parts that look alike.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "cli/args/folder_args.h"
#include "cli/findings.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "data/encode.h"
#include "data/image_pool.h"
#include "folder/patches/anomaly_file.h"
#include "measure/patches/patch_maps.h"

enum { BANK = 4000 };
#define MEMORY ((size_t)256 << 20)

typedef struct {
    SrFindingsArgs to;
    bool padim;
    const char *model, *weights, *layers, *out, *memory, *false_alarms, *maps;
    int size, bank, seed;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, model, "--model", "RUN",
                 "fit: a run folder, a checkpoint, or a model's name (resnet18)"),
    SR_FLAG_TEXT(Options, weights, "--weights", "FILE", "fit: weights of a model that is named"),
    SR_FLAG_TEXT(Options, layers, "--layers", "NAMES",
                 "fit: middle layers, the finest first (res3,res4)"),
    SR_FLAG_NUMBER(Options, size, "--size", "fit: pixels per side for a named model (its own)"),
    SR_FLAG_ON(Options, padim, "--padim", "fit: one Gaussian per position, which is cheaper"),
    SR_FLAG_NUMBER(Options, bank, "--bank", "fit: most patches that are kept (4000)"),
    SR_FLAG_TEXT(Options, memory, "--memory", "SIZE", "fit: most memory for patches (256M)"),
    SR_FLAG_TEXT(Options, false_alarms, "--false-alarms", "SHARE",
                 "fit: share of good images above the threshold (0.01)"),
    SR_FLAG_NUMBER(Options, seed, "--seed", "fit: seed of draws (0)"),
    SR_FLAG_TEXT(Options, out, "--out", "FILE", "fit: the detector (anomaly.safetensors)"),
    SR_FLAG_TEXT(Options, maps, "--maps", "DIR", "score, eval: write a heat map of each image"),
    SR_FINDINGS_FLAGS(Options),
    {0}};

// ---- fit ----------------------------------------------------------------------------------------

static SrStatus parse_share(const char *text, double *out) {
    char *end;
    *out = sr_number_parse(text, &end);
    if (end == text || *end || !(*out >= 0 && *out < 1))
        SR_FAIL(SR_ERR_CONFIG, "--false-alarms %s: expected a number from 0 to below 1", text);
    return SR_OK;
}

static SrStatus fit_options(const Options *o, SrAnomalyOptions *out) {
    *out = (SrAnomalyOptions){
        .patches = {.model = o->model, .weights = o->weights, .layers = o->layers, .size = o->size},
        .padim = o->padim,
        .bank = o->bank,
        .seed = (uint64_t)o->seed};
    if (!o->model)
        SR_FAIL(SR_ERR_CONFIG, "sslrun anomaly fit needs a model with --model: a run folder, a "
                               "checkpoint, or resnet18 with --weights");
    if (o->bank < 1 || o->seed < 0 || o->size < 0)
        SR_FAIL(SR_ERR_CONFIG, "--bank, --seed and --size are numbers from 1, 0 and 0 on");
    SR_TRY(parse_share(o->false_alarms, &out->false_alarms));
    return sr_folder_memory(o->memory, MEMORY, &out->memory);
}

static void say_fit(const Options *o, const SrAnomaly *a, SrText *out) {
    char threshold[32];
    sr_number_print(threshold, sizeof threshold, "%.4g", a->threshold);
    sr_text_printf(out, "%s: fitted to %lld images", o->out, (long long)a->images);
    if (a->bad > 0)
        sr_text_printf(out, " (%lld cannot be read)", (long long)a->bad);
    if (!a->padim)
        sr_text_printf(out, ", %lld of %lld patches kept", (long long)a->bank.n,
                       (long long)a->patches);
    sr_text_printf(out, "; threshold %s\n", threshold);
}

static SrStatus fit(const Options *o, const char *data) {
    SrAnomalyOptions options;
    SrAnomaly a = {.source = NULL};
    SrText out = SR_TEXT_INIT, next = SR_TEXT_INIT;
    SR_TRY(fit_options(o, &options));
    SR_TRY(sr_args_check_images("sslrun anomaly fit", data));
    SrStatus status = sr_anomaly_fit(&options, data, &a);
    if (status == SR_OK)
        status = sr_anomaly_save(&a, &options.patches, o->out);
    if (status == SR_OK) {
        say_fit(o, &a, &out);
        status = sr_args_print_done(&out, o->out);
        SR_NEXT(&next, "scores images by it", "anomaly", "score", o->out, data, "--maps", "maps");
    }
    sr_next_say(&next);
    sr_text_deinit(&out);
    sr_anomaly_deinit(&a);
    return status;
}

// ---- score --------------------------------------------------------------------------------------

typedef struct {
    int64_t image;
    double score;
    bool good; // the image could be read
} Score;

typedef struct {
    const Options *o;
    SrAnomaly a;
    SrImageSet images;
    SrImagePool *names;
    Score *v;     // (images.n)
    float *heat;  // (h, w) work space
    uint8_t *rgb; // (h, w, 3) work space
    int h, w;
} Job;

// Shows low scores as they are and high ones in red: twice the threshold is fully red.
static void colour(const Job *j, const SrAnomaly *a) {
    for (int64_t p = 0; p < (int64_t)j->h * j->w; p++) {
        double share = (double)j->heat[p] / fmax(2 * a->threshold, 1e-12);
        double red = isfinite(share) ? fmin(fmax(share * 2 - 0.8, 0), 1) * 0.75 : 0;
        for (int c = 0; c < 3; c++) {
            double to = c == 0 ? 255 : 24;
            double from = (double)j->rgb[p * 3 + c];
            j->rgb[p * 3 + c] = (uint8_t)lrint(from + (to - from) * red);
        }
    }
}

static SrStatus write_map(Job *j, int64_t image, const float *map) {
    const SrPatchSource *source = j->a.source;
    char path[SR_PICTURE_PATH_BYTES];
    const char *name;
    SrText png = SR_TEXT_INIT;
    SR_TRY(sr_patch_heat(map, sr_patch_source_rows(source), sr_patch_source_columns(source), j->h,
                         j->w, SR_ANOMALY_SIGMA, j->heat));
    SR_TRY(sr_patch_source_pixels(j->a.source, &j->images, image, j->rgb));
    colour(j, &j->a);
    sr_image_pool_reset(j->names);
    SR_TRY(sr_image_set_name(&j->images, image, j->names, &name));
    sr_image_set_picture_path(j->o->maps, name, image, path);
    sr_png_encode(j->rgb, j->h, j->w, &png);
    SrStatus status = sr_file_write_text(path, &png);
    sr_text_deinit(&png);
    return status;
}

static SrStatus keep_score(void *arg, int64_t image, bool good, double score, const float *map) {
    Job *j = arg;
    j->v[image] = (Score){image, score, good};
    return good && j->o->maps ? write_map(j, image, map) : SR_OK;
}

static SrStatus job_open(Job *j, const char *detector, const char *data) {
    SR_TRY(sr_args_check_images("sslrun anomaly", data));
    SR_TRY(sr_anomaly_load(detector, &j->a));
    SR_TRY(sr_image_set_open(data, &j->images));
    SR_TRY(sr_image_pool_new(&j->names));
    j->h = sr_patch_source_height(j->a.source);
    j->w = sr_patch_source_width(j->a.source);
    size_t pixels = (size_t)j->h * (size_t)j->w;
    j->v = sr_calloc((size_t)j->images.n, sizeof *j->v);
    j->heat = sr_alloc(pixels * sizeof *j->heat);
    j->rgb = sr_alloc(pixels * 3);
    SR_TRY_MEMORY(j->v && j->heat && j->rgb, "scores");
    if (j->o->maps)
        SR_TRY(sr_file_mkdirs(j->o->maps));
    return sr_anomaly_score(&j->a, &j->images, keep_score, j);
}

static void job_close(Job *j) {
    sr_anomaly_deinit(&j->a);
    sr_image_set_close(&j->images);
    sr_image_pool_free(j->names);
    sr_free(j->v);
    sr_free(j->heat);
    sr_free(j->rgb);
}

// Images that cannot be read come first.
static int worst_first(const void *a, const void *b) {
    const Score *x = a, *y = b;
    if (x->good != y->good)
        return x->good ? 1 : -1;
    if (x->good && x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->image > y->image) - (x->image < y->image);
}

static bool is_defective(const Job *j, const Score *s) {
    return !s->good || !(s->score <= j->a.threshold);
}

static SrStatus add(SrFindings *f, Job *j, const Score *s) {
    const char *name;
    char caption[64];
    sr_image_pool_reset(j->names);
    SR_TRY(sr_image_set_name(&j->images, s->image, j->names, &name));
    bool defective = is_defective(j, s);
    SrField field[] = {{"score", NULL, s->score, 4},
                       {"defective",
                        !s->good    ? "unreadable"
                        : defective ? "yes"
                                    : "no",
                        0, 0},
                       {"file", name, 0, 0}};
    sr_findings_add(f, field, SR_COUNT(field));
    sr_number_print(caption, sizeof caption, "%.4g", s->score);
    if (s->good)
        sr_findings_photo(f, name, caption, defective ? "Above the threshold" : "Below it");
    return SR_OK;
}

static SrStatus score(const Options *o, const char *detector, const char *data) {
    Job j = {.o = o};
    SrFindings f = {.n = 0};
    SrStatus status;
    int64_t found = 0;
    SR_TRY_GOTO(sr_findings_init(&o->to, &f));
    SR_TRY_GOTO(job_open(&j, detector, data));
    qsort(j.v, (size_t)j.images.n, sizeof *j.v, worst_first);
    for (int64_t i = 0; i < j.images.n; i++) {
        found += is_defective(&j, &j.v[i]);
        SR_TRY_GOTO(add(&f, &j, &j.v[i]));
    }
    sr_findings_say(&f, "%lld of %lld images are above the threshold of %.4g\n", (long long)found,
                    (long long)j.images.n, j.a.threshold);
    status = sr_findings_end(&f, "Defects",
                             "The number is the distance of the worst patch from patches of good "
                             "images.",
                             found, "images are above the threshold");
done:
    sr_findings_deinit(&f);
    job_close(&j);
    return status;
}

// ---- eval ---------------------------------------------------------------------------------------

// Folders are classes; "good" is the class of images without a defect.
static SrStatus good_class(const Job *j, int *out) {
    for (*out = 0; *out < j->images.classes; (*out)++)
        if (strcmp(sr_image_set_class(&j->images, *out), "good") == 0)
            return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s has no folder \"good\": eval needs good images there, and a folder for each kind "
            "of defect next to it",
            j->images.path);
}

typedef struct {
    double *score;
    int8_t *defective;
    int64_t n, above; // images; those above the threshold
    double auroc;
} Kind;

// Compares the good images with one kind of defect; kind -1: with all.
static SrStatus judge(const Job *j, int good, int kind, Kind *k) {
    k->n = k->above = 0;
    int64_t defects = 0;
    for (int64_t i = 0; i < j->images.n; i++) {
        int label = (int)sr_image_set_label(&j->images, i);
        if (!j->v[i].good || (label != good && kind >= 0 && label != kind))
            continue;
        k->score[k->n] = j->v[i].score;
        k->defective[k->n++] = label != good;
        defects += label != good;
        k->above += label != good && is_defective(j, &j->v[i]);
    }
    SR_TRY(sr_auroc(k->score, k->defective, k->n, &k->auroc));
    k->n = defects;
    return SR_OK;
}

static void add_kind(SrFindings *f, const char *name, const Kind *k) {
    SrField field[] = {{"auroc", NULL, k->auroc < 0 ? (double)NAN : k->auroc, 4},
                       {"images", NULL, (double)k->n, 0},
                       {"found", NULL, (double)k->above, 0},
                       {"kind", name, 0, 0}};
    sr_findings_add(f, field, SR_COUNT(field));
}

static SrStatus eval_kinds(const Job *j, Kind *k, SrFindings *f) {
    int good;
    int64_t alarms = 0, sound = 0;
    SR_TRY(good_class(j, &good));
    for (int64_t i = 0; i < j->images.n; i++)
        if (j->v[i].good && sr_image_set_label(&j->images, i) == good) {
            sound++;
            alarms += is_defective(j, &j->v[i]);
        }
    SR_TRY(judge(j, good, -1, k));
    add_kind(f, "all", k);
    for (int c = 0; c < j->images.classes; c++)
        if (c != good) {
            SR_TRY(judge(j, good, c, k));
            add_kind(f, sr_image_set_class(&j->images, c), k);
        }
    sr_findings_say(f, "%lld of %lld good images are above the threshold of %.4g\n",
                    (long long)alarms, (long long)sound, j->a.threshold);
    return SR_OK;
}

static SrStatus eval(const Options *o, const char *detector, const char *data) {
    Job j = {.o = o};
    Kind k = {0};
    SrFindings f = {.n = 0};
    SrStatus status;
    SR_TRY_GOTO(sr_findings_init(&o->to, &f));
    SR_TRY_GOTO(job_open(&j, detector, data));
    k.score = sr_alloc((size_t)j.images.n * sizeof *k.score);
    k.defective = sr_alloc((size_t)j.images.n);
    status = k.score && k.defective ? SR_OK : sr_out_of_memory("scores");
    if (status == SR_OK)
        status = eval_kinds(&j, &k, &f);
    if (status == SR_OK)
        status = sr_findings_end(&f, "Defects", "", 0, "");
done:
    sr_findings_deinit(&f);
    sr_free(k.score);
    sr_free(k.defective);
    job_close(&j);
    return status;
}

// ---- verb ---------------------------------------------------------------------------------------

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.out = "anomaly.safetensors", .false_alarms = "0.01", .bank = BANK};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "anomaly"));
    const char *what = args.n_names ? args.names[0] : "";
    if (strcmp(what, "fit") == 0 && args.n_names == 2)
        return fit(&o, args.names[1]);
    if (strcmp(what, "score") == 0 && args.n_names == 3)
        return score(&o, args.names[1], args.names[2]);
    if (strcmp(what, "eval") == 0 && args.n_names == 3)
        return o.to.page || o.to.check
                   ? sr_fail(SR_ERR_CONFIG, "sslrun anomaly eval compares kinds of defects: "
                                            "--page and --check belong to score")
                   : eval(&o, args.names[1], args.names[2]);
    SR_FAIL(SR_ERR_CONFIG, "sslrun anomaly needs `fit GOOD`, `score DETECTOR DIR` or "
                           "`eval DETECTOR DIR`");
}

const SrVerb sr_verb_anomaly = {
    .name = "anomaly",
    .group = SR_VERB_FOLDER,
    .args = "fit GOOD --model RUN\nscore|eval DETECTOR DIR",
    .summary = "finds defects on parts that look alike",
    .help = "GOOD is a folder of images without defects. fit keeps patches of them that cover all "
            "others (PatchCore), or one Gaussian per position (--padim). Every fifth image is held "
            "out, and the threshold is the score that the given share of those exceeds.\n\nscore "
            "ranks the images of DIR by their worst patch, and writes heat maps. eval needs "
            "folders: \"good\", and one for each kind of defect. It prints the area under the ROC "
            "curve and how many defects are above the threshold.",
    .examples = {{"sslrun anomaly fit photos --model runs/photos", "Learns what is normal."},
                 {"sslrun anomaly score anomaly.safetensors new-photos --maps maps --csv",
                  "Scores new photos, with heat maps."}},
    .files =
        "DETECTOR is a safetensors file, anomaly.safetensors unless --out names another. DIR of "
        "--maps receives one PNG per image.",
    .exit = "0: done; 1: failed, or --check and images are above the threshold; 2: wrong usage.",
    .flags = flags,
    .run = run_verb,
};
