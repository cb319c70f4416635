// sslrun diff A B: what changed between two files of weights, whatever their formats.
#include <string.h>

#include "base/compiler.h"
#include "base/text/number.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "formats/stats.h"
#include "formats/weights/weights.h"
#include "trainer/run/run_folder.h"

typedef struct {
    SrWeights a, b;
    int added, removed, changed, reshaped;
    int close; // tensors that differ within the tolerances
    double largest, largest_close;
    double rtol, atol;
} Diff;

typedef struct {
    const char *rtol, *atol;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, rtol, "--rtol", "R", "accept |a - b| <= A + R |b| in every element (0)"),
    SR_FLAG_TEXT(Options, atol, "--atol", "A", "accept |a - b| <= A + R |b| in every element (0)"),
    {0}};

static SrStatus diff_tensor(Diff *d, int i, int j, SrText *out) {
    const SrWeightsTensor *a = &d->a.tensors[i], *b = &d->b.tensors[j];
    char from[SR_SHAPE_TEXT_BYTES], to[SR_SHAPE_TEXT_BYTES];
    SrTensor x, y;
    SrTensorDiff diff;
    if (!sr_shape_equal(a->shape, b->shape)) {
        d->reshaped++;
        sr_text_printf(out, "~ %s: shape %s -> %s\n", a->name,
                       sr_shape_text(a->shape, from, sizeof from),
                       sr_shape_text(b->shape, to, sizeof to));
        return SR_OK;
    }
    SR_TRY(sr_weights_read(&d->a, i, &x));
    SR_TRY(sr_weights_read(&d->b, j, &y));
    sr_tensor_diff(&x, &y, &diff);
    if (diff.same_bits)
        return SR_OK;
    if ((d->rtol > 0 || d->atol > 0) && sr_tensor_close(&x, &y, d->rtol, d->atol)) {
        d->close++;
        d->largest_close = SR_MAX(d->largest_close, diff.largest);
        return SR_OK;
    }
    d->changed++;
    d->largest = diff.largest > d->largest ? diff.largest : d->largest;
    sr_text_printf(out, "~ %s: largest difference %.4g, relative %.4g, cosine %.9g", a->name,
                   diff.largest, diff.relative, diff.cosine);
    if (a->dtype != b->dtype)
        sr_text_printf(out, ", %s -> %s", sr_dtype_name(a->dtype), sr_dtype_name(b->dtype));
    sr_text_add(out, "\n");
    return SR_OK;
}

static SrStatus diff_all(Diff *d, SrText *out) {
    for (int i = 0; i < d->a.n; i++) {
        int j = sr_weights_find(&d->b, d->a.tensors[i].name);
        if (j >= 0) {
            SR_TRY(diff_tensor(d, i, j, out));
            continue;
        }
        d->removed++;
        sr_text_printf(out, "- %s\n", d->a.tensors[i].name);
    }
    for (int j = 0; j < d->b.n; j++) {
        if (sr_weights_find(&d->a, d->b.tensors[j].name) >= 0)
            continue;
        d->added++;
        sr_text_printf(out, "+ %s\n", d->b.tensors[j].name);
    }
    return SR_OK;
}

// Suggests the rule of numpy.allclose where numbers alone differ, and statistics of the tensors.
static void say_next(const Diff *d, const SrArgs *args) {
    SrText next = SR_TEXT_INIT;
    const char *a = args->names[0], *b = args->names[1];
    bool numbers = d->changed && !d->added && !d->removed && !d->reshaped;
    if (numbers && d->rtol == 0 && d->atol == 0)
        SR_NEXT(&next, "accepts rounding, as numpy.allclose does", "diff", a, b, "--rtol", "1e-5",
                "--atol", "1e-8");
    SR_NEXT(&next, "prints the range, mean and norm of each tensor", "inspect", b, "--stats");
    sr_next_say(&next);
}

static SrStatus print_result(const Diff *d, const SrArgs *args, SrText *out) {
    bool same = !d->added && !d->removed && !d->changed && !d->reshaped;
    if (same && d->close)
        sr_text_printf(out, "equal within the tolerances: %d tensor%s differ%s by up to %.4g\n",
                       d->close, d->close == 1 ? "" : "s", d->close == 1 ? "s" : "",
                       d->largest_close);
    else if (same)
        sr_text_add(out, "identical\n");
    else
        sr_text_printf(
            out, "different: %d added, %d removed, %d of another shape, %d changed by up to %.4g\n",
            d->added, d->removed, d->reshaped, d->changed, d->largest);
    SR_TRY(sr_args_print(out));
    say_next(d, args);
    return same ? SR_OK : sr_fail(SR_ERR_RUN, "%s and %s differ", args->names[0], args->names[1]);
}

static SrStatus parse_tolerance(const char *flag, const char *text, double *out) {
    char *end;
    if (!text)
        return SR_OK;
    *out = sr_number_parse(text, &end);
    if (end == text || *end || !(*out >= 0 && *out < 1e30))
        SR_FAIL(SR_ERR_CONFIG, "%s %s: expected a number of at least 0, such as 1e-5", flag, text);
    return SR_OK;
}

static SrStatus run_verb(int argc, char **argv) {
    SrArgs args;
    Diff d = {.added = 0};
    SrText out = SR_TEXT_INIT;
    Options o = {.rtol = NULL};
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(parse_tolerance("--rtol", o.rtol, &d.rtol));
    SR_TRY(parse_tolerance("--atol", o.atol, &d.atol));
    SR_TRY(sr_args_no_overrides(&args, "diff"));
    if (args.n_names != 2)
        SR_FAIL(SR_ERR_CONFIG, "sslrun diff: expected two files");
    char path[2][4096]; // for a run folder its newest checkpoint
    for (int i = 0; i < 2; i++)
        SR_TRY(sr_folder_weights(args.names[i], path[i], sizeof path[i]));
    SR_TRY(sr_weights_open(&d.a, path[0]));
    SrStatus status = sr_weights_open(&d.b, path[1]);
    if (status == SR_OK)
        status = diff_all(&d, &out);
    sr_weights_close(&d.b);
    sr_weights_close(&d.a);
    if (status == SR_OK)
        return print_result(&d, &args, &out);
    sr_text_deinit(&out);
    return status;
}

const SrVerb sr_verb_diff = {
    .name = "diff",
    .group = SR_VERB_FILES,
    .args = "A B",
    .summary = "compares two files of weights tensor by tensor",
    .help = "A and B may have different formats, and a run folder means its newest checkpoint. "
            "Tensors are matched by name.",
    .examples = {{"sslrun diff runs/photos runs/photos-1", "Compares the checkpoints of two runs."},
                 {"sslrun diff trunk.pth trunk.safetensors --rtol 1e-5 --atol 1e-8",
                  "Accepts rounding, as numpy.allclose does."}},
    .exit =
        "0: identical, or equal within the tolerances; 1: different, or a file cannot be read; 2: "
        "wrong usage.",
    .flags = flags,
    .run = run_verb,
};
