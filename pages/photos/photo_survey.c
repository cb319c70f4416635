// Surveys a folder of photos: opens and decodes files in parallel, and counts.
#include "pages/photos/photo_survey.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bar.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/escape.h"
#include "data/dataset.h"
#include "data/decode.h"
#include "data/image_pool.h"
#include "data/image_probe.h"

enum { BLOCK = 64 }; // files between two updates of the bar

// Facts about one file.
typedef struct {
    int64_t at; // index in the data set
    uint64_t sum;
    int H, W;
    size_t bytes;
    SrImageFormat format;
    int channels, bits; // of a TIFF, PNG or DICOM; 0: another format
    bool read;          // at least the header is readable
    SrStatus failed;    // SR_ERR_IO: a bad file; SR_ERR_RUN, SR_ERR_MEMORY: the system
    bool decode;
    char reason[512];
} File;

typedef struct {
    const SrSplit *split;
    File *file; // (n) in the order of the data set
    int64_t n, first;
    SrImagePool **pool; // one per thread
    int channels;       // of floats to decode; 0: RGB
    double *sums;       // (n, 2, channels) sums of samples and of their squares; NULL: RGB
} Look;

// ---- looking ------------------------------------------------------------------------------------

// Keeps the message of a failure; messages about opening name the file already.
static void keep_reason(File *f, const char *path) {
    const char *message = sr_status_message();
    bool named = !path || strstr(message, path);
    snprintf(f->reason, sizeof f->reason, "%s%s%s", named ? "" : path, named ? "" : ": ", message);
}

// Returns a checksum that, with the length, identifies a file's bytes.  Among 5,000 different
// files, two share both in one of 10^9 folders.
static uint64_t sum_of(const void *bytes, size_t n) {
    return (uint64_t)crc32_z(0, bytes, n) << 32 | (uint32_t)n;
}

static void look_at_header(void *arg, int64_t i, int thread) {
    const Look *l = arg;
    File *f = &l->file[l->first + i];
    SrImageHeader probe;
    SrSample sample = {.path = ""};
    sr_image_pool_reset(l->pool[thread]);
    SrStatus status = l->split->source->read(l->split->set, f->at, l->pool[thread], &sample);
    if (status == SR_OK && sample.encoded) {
        f->sum = sum_of(sample.encoded, sample.encoded_bytes);
        f->bytes = sample.encoded_bytes;
        status = sr__image_header_read(sample.encoded, sample.encoded_bytes, &probe);
    } else if (status == SR_OK) {
        probe = (SrImageHeader){.format = SR_IMAGE_FORMATS, // it has no file of its own
                                .orientation = 1,
                                .H = sample.image.H,
                                .W = sample.image.W};
    }
    f->read = status == SR_OK;
    f->failed = status;
    if (status != SR_OK) {
        keep_reason(f, sample.path);
        return;
    }
    sr__image_header_upright(&probe, &f->H, &f->W);
    f->format = probe.format;
    f->channels = probe.samples;
    f->bits = probe.bits;
}

// Adds up the samples of each channel of an image.  sums: (2, channels).
static void add_samples(const SrImage *image, double *sums) {
    size_t C = (size_t)image->channels, n = sr_image_samples(image);
    memset(sums, 0, 2 * C * sizeof *sums);
    for (size_t i = 0; i < n; i += C)
        for (size_t c = 0; c < C; c++) {
            double v = (double)image->f[i + c];
            sums[c] += v;
            sums[C + c] += v * v;
        }
}

static void decode(void *arg, int64_t i, int thread) {
    const Look *l = arg;
    File *f = &l->file[l->first + i];
    SrSample sample = {.path = ""};
    SrImage image;
    if (!f->decode)
        return;
    sr_image_pool_reset(l->pool[thread]);
    SrStatus status = l->split->source->read(l->split->set, f->at, l->pool[thread], &sample);
    if (status == SR_OK)
        status = sr_sample_image(&sample, l->channels, l->pool[thread], &image);
    if (status == SR_OK)
        status = sr_image_finish(&image, 1, l->pool[thread]);
    if (status == SR_OK && l->sums)
        add_samples(&image, l->sums + (l->first + i) * 2 * l->channels);
    f->read = status == SR_OK;
    f->failed = status;
    if (status != SR_OK)
        keep_reason(f, sample.path);
}

static void each(Look *l, const char *what, SrParallelBody body) {
    SrBar bar;
    sr_bar_begin(&bar, what, l->n);
    for (l->first = 0; l->first < l->n; l->first += BLOCK) {
        sr_parallel_for(SR_MIN(l->n - l->first, BLOCK), body, l);
        sr_bar_at(&bar, SR_MIN(l->first + BLOCK, l->n));
    }
    sr_bar_end(&bar);
}

// Fails if the system failed on some file: a survey without that file would mislead.
static SrStatus check_system(const Look *l) {
    for (int64_t i = 0; i < l->n; i++)
        if (l->file[i].failed == SR_ERR_RUN || l->file[i].failed == SR_ERR_MEMORY)
            SR_FAIL(l->file[i].failed, "%s", l->file[i].reason);
    return SR_OK;
}

// Chooses files in steps of 7919, modulo their number, so that they come from all parts of the
// folder.
static void choose_decoded(Look *l, SrPhotoSurvey *s) {
    int64_t pixels = 0;
    for (int64_t k = 0; k < l->n; k++) {
        File *f = &l->file[k * 7919 % l->n]; // 7919 is prime and above SR_SURVEY_FILES
        if (!f->read || f->decode || (pixels += (int64_t)f->H * f->W) > SR_SURVEY_PIXELS)
            continue;
        f->decode = true;
        s->decoded++;
    }
}

// Photos, RGB of any depth or grey of 8 bits, are read as RGB of 8 bits.  A stack of arrays is data
// and keeps its bits.
static void choose_form(SrPhotoSurvey *s, bool stack) {
    int C = s->channels;
    bool deep = s->bits > 8;
    bool photo = (C == 3 && s->bits <= 16 && !(deep && stack)) || (C == 1 && !deep);
    s->form.channels = C == 0 || photo ? 0 : C;
}

static void compare_files(const Look *l, SrPhotoSurvey *s) {
    const File *one = NULL;
    for (int64_t i = 0; i < l->n; i++) {
        const File *f = &l->file[i];
        if (f->read && (f->channels < 1 || (one && (f->channels != one->channels))))
            return;
        if (f->read && (!one || f->bits > one->bits))
            one = f;
    }
    s->channels = one ? one->channels : 0;
    s->bits = one ? one->bits : 0;
    choose_form(s, false);
}

static SrStatus begin_sums(Look *l, const SrPhotoSurvey *s) {
    l->channels = s->form.channels;
    if (l->channels == 0)
        return SR_OK;
    l->sums = sr_calloc((size_t)l->n, 2 * (size_t)l->channels * sizeof *l->sums);
    return l->sums ? SR_OK : sr_out_of_memory("%d channels", l->channels);
}

// Sums are added in the order of the files, so that the figures have the same bits for any number
// of threads.  A channel of one value gets the deviation 1.
static void measure_channels(const Look *l, SrPhotoSurvey *s) {
    for (int c = 0; c < l->channels; c++) {
        double n = 0, sum = 0, squares = 0;
        for (int64_t i = 0; i < l->n; i++) {
            const File *f = &l->file[i];
            if (!f->decode || !f->read)
                continue;
            n += (double)f->H * f->W;
            sum += l->sums[i * 2 * l->channels + c];
            squares += l->sums[(i * 2 + 1) * l->channels + c];
        }
        double mean = n > 0 ? sum / n : 0, variance = n > 0 ? squares / n - mean * mean : 0;
        s->mean[c] = mean;
        s->std[c] = variance > 1e-12 ? sqrt(variance) : 1;
    }
}

static SrStatus look_at_all(Look *l, SrPhotoSurvey *s) {
    int threads = sr_parallel_threads();
    SrStatus status = SR_OK;
    l->pool = sr_calloc((size_t)threads, sizeof(SrImagePool *));
    SR_TRY_MEMORY(l->pool, "%d threads", threads);
    for (int t = 0; t < threads; t++)
        SR_TRY_GOTO(sr_image_pool_new(&l->pool[t]));
    each(l, "opening files", look_at_header);
    SR_TRY_GOTO(check_system(l));
    if (s->channels == 0)
        compare_files(l, s);
    SR_TRY_GOTO(begin_sums(l, s));
    choose_decoded(l, s);
    each(l, "decoding files", decode);
    SR_TRY_GOTO(check_system(l));
    measure_channels(l, s);
done:
    for (int t = 0; t < threads; t++)
        sr_image_pool_free(l->pool[t]);
    sr_free(l->pool);
    sr_free(l->sums);
    return status;
}

static int by_place(const void *a, const void *b) {
    const File *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

// Chooses all files or, of too many, SR_SURVEY_FILES drawn without repetition.
static SrStatus choose_files(Look *l, int64_t images) {
    uint32_t *order = sr_alloc((size_t)images * sizeof *order);
    SrRng rng = sr_rng(0, SR_RNG_SUBSET, 0, 0, 0, 0);
    l->n = SR_MIN(images, SR_SURVEY_FILES);
    l->file = sr_calloc((size_t)l->n, sizeof *l->file);
    if (!order || !l->file) {
        sr_free(order);
        return sr_out_of_memory("%lld files", (long long)images);
    }
    sr_rng_permutation(&rng, order, (uint32_t)images);
    for (int64_t i = 0; i < l->n; i++)
        l->file[i].at = images > l->n ? order[i] : i;
    sr_free(order);
    qsort(l->file, (size_t)l->n, sizeof *l->file, by_place);
    return SR_OK;
}

// ---- counting -----------------------------------------------------------------------------------

static int by_number(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// Sorts value (n) and returns the 10th, 50th and 90th percentile.
static void spread(double *value, int64_t n, double out[3]) {
    static const double at[] = {0.1, 0.5, 0.9};
    qsort(value, (size_t)n, sizeof *value, by_number);
    for (int i = 0; i < 3; i++)
        out[i] = n ? value[(int64_t)(at[i] * (double)(n - 1) + 0.5)] : 0;
}

static SrSpread whole_spread(double *value, int64_t n) {
    double v[3];
    spread(value, n, v);
    return (SrSpread){(int64_t)v[0], (int64_t)v[1], (int64_t)v[2]};
}

static SrStatus count_sizes(const Look *l, SrPhotoSurvey *s) {
    double *side = sr_calloc((size_t)l->n * 3 + 1, sizeof *side), ratio[3];
    int64_t n = 0;
    SR_TRY_MEMORY(side, "%lld files", (long long)l->n);
    double *other = side + l->n, *aspect = other + l->n;
    for (int64_t i = 0; i < l->n; i++) {
        const File *f = &l->file[i];
        if (!f->read)
            continue;
        side[n] = SR_MIN(f->H, f->W);
        other[n] = SR_MAX(f->H, f->W);
        aspect[n++] = (double)f->W / f->H;
        if (f->format < SR_IMAGE_FORMATS)
            s->format[f->format]++;
        // A difference of less than a twentieth is hardly visible, so the photo counts as square.
        bool square = 20 * abs(f->W - f->H) < SR_MAX(f->W, f->H);
        s->square += square;
        s->portrait += !square && f->H > f->W;
        s->landscape += !square && f->W > f->H;
    }
    s->side = whole_spread(side, n);
    s->other = whole_spread(other, n);
    spread(aspect, n, ratio);
    s->narrowest = n ? aspect[0] : 0;
    s->widest = n ? aspect[n - 1] : 0;
    sr_free(side);
    return SR_OK;
}

static void count_readable(const Look *l, SrPhotoSurvey *s) {
    for (int64_t i = 0; i < l->n; i++) {
        const File *f = &l->file[i];
        s->bytes += (double)f->bytes;
        if (f->read)
            continue;
        s->unreadable++;
        if (s->n_reasons < SR_COUNT(s->reason))
            memcpy(s->reason[s->n_reasons++], f->reason, sizeof f->reason);
    }
    s->bytes *= (double)s->images / (double)SR_MAX(l->n, 1);
}

static int by_sum(const void *a, const void *b) {
    const File *x = a, *y = b;
    return x->sum != y->sum ? (x->sum > y->sum) - (x->sum < y->sum) : by_place(a, b);
}

static void name_of(const SrSplit *split, SrImagePool *pool, int64_t i, char out[256]) {
    const char *path = "";
    snprintf(out, 256, "image %lld", (long long)i);
    if (split->source->path && split->source->path(split->set, i, pool, &path) == SR_OK && path)
        snprintf(out, 256, "%.255s", path);
}

static SrStatus count_twins(Look *l, SrPhotoSurvey *s) {
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    qsort(l->file, (size_t)l->n, sizeof *l->file, by_sum);
    for (int64_t i = 1; i < l->n; i++) {
        if (l->file[i].bytes == 0 || !l->file[i].read || l->file[i].sum != l->file[i - 1].sum ||
            s->twins++ > 0)
            continue;
        name_of(l->split, pool, l->file[i - 1].at, s->twin[0]);
        name_of(l->split, pool, l->file[i].at, s->twin[1]);
    }
    sr_image_pool_free(pool);
    return SR_OK;
}

static void class_name(const SrSplit *split, int c, char out[128]) {
    const char *name = split->source->class_name ? split->source->class_name(split->set, c) : NULL;
    snprintf(out, 128, name ? "%.127s" : "%.0s%d", name ? name : "", c);
}

static SrStatus count_classes(const SrSplit *split, SrPhotoSurvey *s) {
    s->classes = split->source->classes ? split->source->classes(split->set) : 0;
    if (s->classes < 1)
        return SR_OK;
    int64_t *count = sr_calloc((size_t)s->classes, sizeof *count);
    SR_TRY_MEMORY(count, "%d classes", s->classes);
    for (int64_t i = 0; i < s->images; i++) {
        int64_t c = split->source->label(split->set, i);
        if (c >= 0 && c < s->classes)
            count[c]++;
    }
    int low = 0, high = 0;
    for (int c = 1; c < s->classes; c++) {
        low = count[c] < count[low] ? c : low;
        high = count[c] > count[high] ? c : high;
    }
    s->smallest = count[low];
    s->largest = count[high];
    class_name(split, low, s->smallest_name);
    class_name(split, high, s->largest_name);
    sr_free(count);
    return SR_OK;
}

static void look_inside(SrPhotoSurvey *s) {
    char folder[4096];
    char **names;
    int n;
    if (s->classes != 1 ||
        sr_file_join(s->inner, sizeof s->inner, s->root, s->smallest_name) != SR_OK ||
        !sr_file_is_dir(s->inner) || sr_file_list(s->inner, &names, &n) != SR_OK) {
        s->inner[0] = '\0';
        return;
    }
    for (int i = 0; i < n; i++)
        s->inner_folders += sr_file_join(folder, sizeof folder, s->inner, names[i]) == SR_OK &&
                            sr_file_is_dir(folder);
    sr_file_list_free(names, n);
    if (s->inner_folders < 2)
        s->inner[0] = '\0';
}

static SrStatus survey(const SrSplit *split, SrPhotoSurvey *s) {
    Look look = {.split = split};
    SrStatus status;
    snprintf(s->root, sizeof s->root, "%s", split->path);
    snprintf(s->skipped, sizeof s->skipped, "%s",
             split->source->skipped ? split->source->skipped(split->set) : "");
    s->images = split->source->length(split->set);
    if (s->images > UINT32_MAX)
        SR_FAIL(SR_ERR_CONFIG, "%s: %lld files are too many for this survey", s->root,
                (long long)s->images);
    SR_TRY(count_classes(split, s));
    look_inside(s);
    SR_TRY_GOTO(choose_files(&look, s->images));
    s->opened = look.n;
    SR_TRY_GOTO(look_at_all(&look, s));
    count_readable(&look, s);
    SR_TRY_GOTO(count_sizes(&look, s));
    if (s->bytes == 0) // the images of a stack have one size, and no files of their own
        s->bytes = (double)s->images * (double)s->side.low * (double)s->other.low * s->channels *
                   s->bits / 8;
    SR_TRY_GOTO(count_twins(&look, s));
done:
    sr_free(look.file);
    return status;
}

// Some sources know the samples of all images at once.
static SrStatus ask_source(const char *photos, SrPhotoSurvey *s) {
    const SrDataset *source;
    if (sr_dataset_infer(photos, "TRAIN", &source) != SR_OK || !source->samples)
        return SR_OK; // opening the set reports what is wrong with the path
    s->noun = "images";
    SR_TRY(source->samples(photos, &s->channels, &s->bits));
    choose_form(s, true);
    return SR_OK;
}

SrStatus sr_photo_survey(const char *photos, SrPhotoSurvey *out) {
    const SrSplitConfig side = {.data_paths = {1, &photos}, .data_limit = -1};
    SrSplit split = {.note = ""};
    *out = (SrPhotoSurvey){.noun = "photos"};
    SrStatus status = ask_source(photos, out);
    if (status == SR_OK)
        status = sr_split_open_set(&side, out->form, "TRAIN", 0, &split);
    if (status == SR_OK)
        status = survey(&split, out);
    sr_split_close(&split);
    return status;
}

// ---- in words -----------------------------------------------------------------------------------

static void spread_text(const char *what, SrSpread s, SrText *out) {
    if (s.low == s.high)
        sr_text_printf(out, "%s %lld", what, (long long)s.middle);
    else
        sr_text_printf(out, "%s %lld (a tenth below %lld, a tenth above %lld)", what,
                       (long long)s.middle, (long long)s.low, (long long)s.high);
}

static void formats_text(const SrPhotoSurvey *s, SrText *out) {
    const char *comma = "\n  formats: ";
    for (int f = 0; f < SR_IMAGE_FORMATS; f++)
        if (s->format[f] > 0) {
            sr_text_printf(out, "%s%lld %s", comma, (long long)s->format[f],
                           sr__image_format_name((SrImageFormat)f));
            comma = ", ";
        }
}

// Adds a command that finds files of these endings below the folder and converts them.  Does
// nothing if none of them was passed over.
static void add_conversion(const SrPhotoSurvey *s, const char *const *endings, const char *program,
                           const char *package, SrText *out) {
    SrText names = SR_TEXT_INIT;
    for (int i = 0; endings[i]; i++) {
        const char *at = strstr(s->skipped, endings[i]);
        size_t n = strlen(endings[i]);
        if (at && at[n] == ' ') // not .tif for .tiff
            sr_text_printf(&names, "%s-iname '*%s'", names.len ? " -o " : "", endings[i]);
    }
    if (names.len) {
        sr_text_add(out, "  to read them too:  find ");
        sr_text_add_word(out, s->root);
        sr_text_printf(out, " '(' %s ')' -exec %s   # apt-get install %s\n", names.s, program,
                       package);
    }
    sr_text_deinit(&names);
}

// Adds the commands that convert formats which this build does not read.
static void conversions_text(const SrPhotoSurvey *s, SrText *out) {
    add_conversion(s, (const char *const[]){".heic", ".heif", ".avif", NULL},
                   "heif-convert {} {}.jpg ';'", "libheif-examples", out);
    add_conversion(s, (const char *const[]){".tif", ".tiff", ".webp", NULL},
                   "mogrify -format png {} +", "imagemagick", out);
}

void sr_photo_survey_text(const SrPhotoSurvey *s, bool all_reasons, SrText *out) {
    char size[32];
    sr_escape_line(s->root, out);
    sr_text_printf(out, ": %lld images, %s", (long long)s->images,
                   sr_bytes_text(s->bytes, size, sizeof size));
    if (s->classes > 1 && s->smallest == s->largest)
        sr_text_printf(out, ", in %d classes of %lld each", s->classes, (long long)s->largest);
    else if (s->classes > 1)
        sr_text_printf(out, ", in %d classes of %lld (%s) to %lld (%s)", s->classes,
                       (long long)s->smallest, s->smallest_name, (long long)s->largest,
                       s->largest_name);
    else
        sr_text_add(out, ", without classes");
    if (*s->inner)
        sr_text_printf(out, "\n  all lie in one folder, whose %d folders are not used",
                       s->inner_folders);
    if (s->opened < s->images)
        sr_text_printf(
            out,
            "\n  the lines below describe %lld files chosen at random, of which %lld were decoded",
            (long long)s->opened, (long long)s->decoded);
    else if (s->decoded + s->unreadable < s->opened)
        sr_text_printf(out, "\n  all files were opened, and %lld of them decoded",
                       (long long)s->decoded);
    formats_text(s, out);
    spread_text("\n  shorter side", s->side, out);
    spread_text(" pixels, longer side", s->other, out);
    if (s->form.channels > 0)
        sr_text_printf(out, "\n  %d channel%s of %d bits; all are kept", s->channels,
                       s->channels == 1 ? "" : "s", s->bits);
    sr_text_printf(out,
                   "\n  %lld upright, %lld square, %lld wide; width / height from %.2f to %.2f",
                   (long long)s->portrait, (long long)s->square, (long long)s->landscape,
                   s->narrowest, s->widest);
    if (s->twins) {
        sr_text_printf(out, "\n  %lld identical cop%s, the first one: ", (long long)s->twins,
                       s->twins == 1 ? "y" : "ies");
        sr_escape_line(s->twin[1], out);
        sr_text_add(out, " of ");
        sr_escape_line(s->twin[0], out);
    } else
        sr_text_add(out, "\n  no two files are identical");
    for (int i = 0; i < s->n_reasons && (i == 0 || all_reasons); i++) {
        if (i == 0)
            sr_text_printf(out,
                           "\n  %lld cannot be read, the first one: ", (long long)s->unreadable);
        else
            sr_text_add(out, "\n    ");
        sr_escape_line(s->reason[i], out);
    }
    if (s->n_reasons > 1 && !all_reasons)
        sr_text_add(out, " (-v names more)");
    if (*s->skipped)
        sr_text_printf(out, "\n  skipped: %s", s->skipped);
    sr_text_add(out, "\n");
    conversions_text(s, out);
}
