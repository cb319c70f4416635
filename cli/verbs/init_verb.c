// sslrun init PHOTOS: looks at a folder of photos and writes a configuration for it and for this
// machine.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/args/args.h"
#include "cli/args/model_file.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "data/sandbox.h"
#include "folder/tidy_lists.h"
#include "pages/starter_config.h"

// MINUTES: length of the run, enough for a first result and short enough to wait for.
enum { MINUTES = 15, PATH_BYTES = 4096 };

#define WANTED "a folder of photos, a list of paths (.txt) or a stack of images (.npy)"

typedef struct {
    char data[PATH_BYTES]; // absolute path of the photos
    char name[256];        // name of the file without its ending, else of the folder
    char out[PATH_BYTES], run[PATH_BYTES];
} Names;

// Names the run after the file: two configurations for one folder must not share a run.
static void name_after(const char *out, Names *n) {
    const char *slash = strrchr(out, '/'), *stem = slash ? slash + 1 : out;
    snprintf(n->name, sizeof n->name, "%.200s", stem);
    char *dot = strrchr(n->name, '.');
    if (dot && dot > n->name)
        *dot = '\0';
}

// Returns true for names of parts of a data set, which say nothing about the photos.
static bool is_part(const char *folder) {
    return strcmp(folder, "train") == 0 || strcmp(folder, "test") == 0 ||
           strcmp(folder, "val") == 0;
}

// Derives names: photos/ gives photos.yaml and runs/photos.  A folder called train, test or val
// gives its parent's name.
static SrStatus choose_names(const char *photos, const char *out, Names *n) {
    if (!realpath(photos, n->data))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such file or folder; expected " WANTED, photos);
    if (sr_text_ends(photos, ".yaml") || sr_text_ends(photos, ".yml"))
        SR_FAIL(SR_ERR_CONFIG,
                "%s is a configuration; sslrun init writes one, so give it a folder of photos",
                photos);
    SR_TRY(sr_args_check_images("sslrun init", n->data));
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s", n->data);
    char *slash = strrchr(path, '/');
    if (slash && slash > path && is_part(slash + 1)) {
        *slash = '\0';
        slash = strrchr(path, '/');
    }
    snprintf(n->name, sizeof n->name, "%.200s", slash && slash[1] ? slash + 1 : "photos");
    if (sr_file_exists(n->data) && !sr_file_is_dir(n->data) && strrchr(n->name, '.'))
        *strrchr(n->name, '.') = '\0'; // the photos are a list of files
    if (out)
        name_after(out, n);
    snprintf(n->run, sizeof n->run, "runs/%s", n->name);
    snprintf(n->out, sizeof n->out, "%s%s", out ? out : n->name, out ? "" : ".yaml");
    return SR_OK;
}

static void add_next(const Names *n, const SrPhotoSurvey *survey, SrText *out) {
    SrText next = SR_TEXT_INIT, sheet = SR_TEXT_INIT, trains = SR_TEXT_INIT, shows = SR_TEXT_INIT;
    sr_text_printf(&sheet, "%s-views.png", n->name);
    sr_text_printf(&trains, "trains, and writes %s/report.html while it does", n->run);
    sr_text_printf(&shows, "shows %s as the network sees them", survey->noun);
    if (*survey->inner)
        SR_NEXT(&next, "takes the folders inside as classes, or as train and test", "init",
                survey->inner);
    SR_NEXT(&next, shows.s ? shows.s : "", "augment", n->out, "--out", sheet.s ? sheet.s : "");
    SR_NEXT(&next, trains.s ? trains.s : "", n->out);
    sr_text_add(out, next.s ? next.s : "");
    sr_text_deinit(&next);
    sr_text_deinit(&sheet);
    sr_text_deinit(&shows);
    sr_text_deinit(&trains);
}

// Writes "<out without .yaml>-<what>.txt" as an absolute path: the next command may be given
// elsewhere.
static SrStatus list_path(const Names *n, const char *what, char path[PATH_BYTES]) {
    char folder[PATH_BYTES], here[PATH_BYTES];
    const char *slash = strrchr(n->out, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - n->out + 1) : 1,
             slash ? n->out : ".");
    if (!realpath(folder, here))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such folder", folder);
    if (snprintf(path, PATH_BYTES, "%s/%s-%s.txt", here, n->name, what) >= PATH_BYTES)
        SR_FAIL(SR_ERR_CONFIG, "%s: the path is too long", n->out);
    return SR_OK;
}

static const char stay[] =
    "  files that cannot be read and exact copies stay in: `sslrun tidy` names them\n";

// Writes the list of the files that are worth training on.
static SrStatus write_list(Names *n, bool force, SrPhotoSurvey *survey, SrText *out) {
    static const bool issues[SR_TIDY_ISSUES] = {
        [SR_TIDY_UNREADABLE] = true, [SR_TIDY_SAME_FILE] = true};
    char keep[PATH_BYTES], labels[PATH_BYTES];
    SrTidyLists lists = {.keep = keep};
    SrImageSet set;
    SrTidy tidy = {.n = 0};
    SR_TRY(list_path(n, "keep", keep));
    SR_TRY(list_path(n, "labels", labels));
    SR_TRY(sr_file_check_new(keep, force));
    SrStatus status = sr_image_set_open(n->data, &set);
    if (status == SR_OK)
        status = sr_tidy(&set, &tidy);
    lists.labels = set.classes > 0 ? labels : NULL;
    if (status == SR_OK)
        status = sr_tidy_write_lists(&set, &tidy, issues, &lists);
    sr_image_set_close(&set);
    bool named = lists.unnamed == 0;
    if (status == SR_OK && !named) { // a list has one name per line
        sr_text_add(out, stay);
        sr_file_remove(keep);
        sr_file_remove(labels);
    }
    if (status == SR_OK && named) {
        int64_t bad = tidy.count[SR_TIDY_UNREADABLE], same = tidy.count[SR_TIDY_SAME_FILE];
        sr_text_printf(out, "%s: %lld files; left out are ", keep, (long long)lists.kept);
        if (bad > 0)
            sr_text_printf(out, "%lld that cannot be read", (long long)bad);
        if (same > 0)
            sr_text_printf(out, "%s%lld exact cop%s", bad > 0 ? " and " : "", (long long)same,
                           same == 1 ? "y" : "ies");
        sr_text_add(out, " (`sslrun tidy` names them)\n");
        snprintf(n->data, sizeof n->data, "%s", keep);
        snprintf(survey->labels, sizeof survey->labels, "%s", lists.labels ? lists.labels : "");
    }
    sr_tidy_deinit(&tidy);
    return status;
}

// Leaves unreadable files and exact copies out.  A folder with train/ and test/ keeps its parts,
// and a list is somebody's choice.
static SrStatus leave_out(Names *n, bool force, SrPhotoSurvey *survey, SrText *out) {
    bool whole = sr_file_is_dir(n->data) && strcmp(survey->root, n->data) == 0;
    int64_t good = survey->images - survey->unreadable - survey->twins;
    if (survey->unreadable + survey->twins == 0 || good < SR_STARTER_LEAST_IMAGES)
        return SR_OK;
    if (whole && survey->form.channels == 0)
        return write_list(n, force, survey, out);
    sr_text_add(out, stay);
    return SR_OK;
}

// Opens "resnet18.pth" or "resnet18:weights.pth".  A file's own name may hold a colon.
static SrStatus open_weights(const char *from, SrStarterWeights *out) {
    char model[SR_ARGS_MODEL_BYTES];
    const char *file;
    bool known = sr_args_model_file(from, model, &file);
    if (file && (known || !sr_file_exists(from)))
        return sr_starter_weights_open(model, file, out); // names an unknown model
    return sr_starter_weights_open(NULL, from, out);
}

typedef struct {
    const char *out, *from;
    int minutes;
    bool force, sandbox;
} Options;

static SrStatus init(Names *n, const Options *o, SrText *out) {
    SrPhotoSurvey survey;
    SrStarterWeights from;
    SrStarters starters;
    SrText file = SR_TEXT_INIT;
    SrStarterRecipe recipe = {.survey = &survey, .data = n->data, .run = n->run, .name = n->out};
    if (o->from) {
        SR_TRY(open_weights(o->from, &from));
        recipe.from = &from;
    }
    SR_TRY(sr_photo_survey(n->data, &survey));
    sr_photo_survey_text(&survey, sr_log_level() == SR_LOG_DEBUG, out);
    SR_TRY(leave_out(n, o->force, &survey, out));
    SrStatus status = sr_starter_config(&recipe, o->minutes, &file, &starters);
    if (status == SR_OK)
        status = sr_file_write_text(n->out, &file);
    sr_text_deinit(&file);
    SR_TRY(status);
    sr_text_printf(out, "%s: ", n->out);
    sr_starters_text(&starters, out);
    add_next(n, &survey, out);
    return SR_OK;
}

static const SrFlag flags[] = {
    SR_FLAG_NUMBER(Options, minutes, "--minutes", "minutes that training may take (15)"),
    SR_FLAG_TEXT(Options, out, "--out", "FILE.yaml", "the file to write (the folder's name)"),
    SR_FLAG_TEXT(Options, from, "--from", "[MODEL:]FILE",
                 "weights from which training starts (none)"),
    SR_FLAG_ON(Options, force, "--force", "replace a file that exists"),
    SR_SANDBOX_FLAG(Options, sandbox),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.minutes = MINUTES};
    SrArgs args;
    Names names;
    SrText text = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    if (args.n_names != 1 || args.n_overrides)
        SR_FAIL(SR_ERR_CONFIG, "sslrun init: expected one name, " WANTED);
    if (o.minutes < 1)
        SR_FAIL(SR_ERR_CONFIG, "--minutes needs at least 1");
    if (o.sandbox)
        SR_TRY(sr_sandbox_use());
    SR_TRY(choose_names(args.names[0], o.out, &names));
    SR_TRY(sr_file_check_new(names.out, o.force));
    SrStatus status = init(&names, &o, &text);
    if (status == SR_OK)
        return sr_args_print_done(&text, names.out);
    sr_text_deinit(&text);
    return status;
}

const SrVerb sr_verb_init = {
    .name = "init",
    .group = SR_VERB_TRAIN,
    .common = 1,
    .args = "PHOTOS",
    .summary = "looks at a folder of photos and writes a configuration for it",
    .help = "PHOTOS is a folder of images, a folder with one sub-folder per class, a list of paths "
            "(.txt), or a stack of images (.npy). The configuration fits the number and size of "
            "the photos and the speed of this machine. Labels are not needed; where sub-folders "
            "name classes, the evaluation uses them. Images of other channels than RGB, or of more "
            "bits, keep them, and are normalised by their own mean and deviation. With --from, "
            "training starts from released weights: a transformer learns by adapters, another "
            "trunk by low rates, and the report compares the features before and after.",
    .examples = {{"sslrun init photos", "Writes photos.yaml for a training of about 15 minutes."},
                 {"sslrun init photos --minutes 120 --out long.yaml",
                  "Allows two hours, which buys larger crops and a larger network."},
                 {"sslrun init photos --from resnet18.pth --out further.yaml",
                  "Starts from weights of torchvision; MODEL:FILE names a model that the file does "
                  "not tell."}},
    .files =
        "FILE.yaml is not replaced without --force.  Training it writes runs/NAME, where NAME "
        "is the file's name without its ending. Where files cannot be read or are exact copies, "
        "NAME-keep.txt lists the others, and NAME-labels.txt their classes.",
    .flags = flags,
    .run = run_verb,
};
