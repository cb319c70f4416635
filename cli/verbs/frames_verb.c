// sslrun frames FILM... --out DIR: writes pictures of films, without repetitions.
#include <string.h>

#include "base/text/number.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "folder/frames.h"
#include "folder/tidy.h"

typedef struct {
    const char *rate, *form;
    bool repeats;
    SrFramesOptions frames;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, frames.out, "--out", "DIR", "folder that receives the pictures"),
    SR_FLAG_TEXT(Options, rate, "--fps", "N",
                 "pictures per second of film, such as 2 or 0.1, or all (1)"),
    SR_FLAG_NUMBER(Options, frames.near, "--near",
                   "drop a picture that differs from the last one in at most N of 64 bits (4)"),
    SR_FLAG_ON(Options, repeats, "--repeats", "keep all pictures, repetitions too"),
    SR_FLAG_TEXT(Options, form, "--format", "FORMAT", "jpg or png (jpg)"),
    {0}};

static SrStatus check(Options *o, const SrArgs *args) {
    char *end;
    if (args->n_names < 1 || !o->frames.out)
        SR_FAIL(SR_ERR_CONFIG, "sslrun frames needs films and --out DIR");
    o->frames.rate = strcmp(o->rate, "all") == 0 ? 0 : sr_number_parse(o->rate, &end);
    if (strcmp(o->rate, "all") != 0 &&
        (*end || !(o->frames.rate >= 1e-4 && o->frames.rate <= 1000)))
        SR_FAIL(SR_ERR_CONFIG, "--fps %s: expected a number from 0.0001 to 1000, or all", o->rate);
    if (o->frames.near < 0 || o->frames.near > 63)
        SR_FAIL(SR_ERR_CONFIG, "--near %d: expected 0 to 63", o->frames.near);
    o->frames.near = o->repeats ? -1 : o->frames.near;
    o->frames.png = strcmp(o->form, "png") == 0;
    if (!o->frames.png && strcmp(o->form, "jpg") != 0)
        SR_FAIL(SR_ERR_CONFIG, "--format %s: expected jpg or png", o->form);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.rate = "1", .form = "jpg", .frames = {.near = SR_TIDY_NEAR_BITS}};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "frames"));
    SR_TRY(check(&o, &args));
    SrText out = SR_TEXT_INIT, next = SR_TEXT_INIT;
    for (int i = 0; i < args.n_names; i++) {
        SrFramesResult done;
        SR_TRY(sr_frames_take(args.names[i], &o.frames, &done));
        sr_text_printf(&out, "%s: %lld of %lld pictures kept in %s\n", args.names[i],
                       (long long)done.kept, (long long)done.seen, o.frames.out);
        SR_TRY(sr_args_print_done(&out, o.frames.out));
    }
    SR_NEXT(&next, "names pictures that are blurred, dark or repeated", "tidy", o.frames.out);
    sr_next_say(&next);
    return SR_OK;
}

const SrVerb sr_verb_frames = {
    .name = "frames",
    .group = SR_VERB_FOLDER,
    .args = "FILM... --out DIR",
    .summary = "writes pictures of films, without repetitions",
    .help = "ffmpeg, which has to be installed, decodes the film. A picture is compared with the "
            "last one that was kept, by the hash with which `sslrun tidy` finds near copies. Names "
            "sort in the order of the film.",
    .examples = {{"sslrun frames film.mp4 --out pictures", "Takes one picture per second."},
                 {"sslrun frames film.mp4 --out all-pictures --fps all --repeats --format png",
                  "Keeps every picture, without loss."}},
    .files = "DIR receives FILM-00000001.jpg and so on; it is made if it is missing.",
    .flags = flags,
    .run = run_verb,
};
