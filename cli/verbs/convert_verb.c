// sslrun convert IN OUT: weights from one format and naming into another.
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "formats/convert.h"
#include "trainer/run/run_folder.h"

static SrStatus parse_options(const char *to, const char *only, SrConvertOptions *out) {
    out->huggingface = to && strcmp(to, "huggingface") == 0;
    out->plain = to && strcmp(to, "meta") == 0;
    if (out->huggingface || out->plain)
        out->names = SR_NAMES_VISSL;
    else if (to && !sr_names_parse(to, &out->names))
        SR_FAIL(SR_ERR_CONFIG, "--to %s: expected torchvision, vissl, timm, meta or huggingface",
                to);
    if (only && strcmp(only, "trunk") != 0)
        SR_FAIL(SR_ERR_CONFIG, "--only %s: expected trunk", only);
    out->rename = to != NULL;
    out->only_trunk = only != NULL;
    return SR_OK;
}

typedef struct {
    const char *to, *only;
    bool force;
} Options;

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, to, "--to", "NAMES",
                 "rename tensors: torchvision, vissl, timm, meta or huggingface; by default names "
                 "stay"),
    SR_FLAG_TEXT(Options, only, "--only", "trunk",
                 "leave out heads, losses, optimiser and classifier"),
    SR_FLAG_ON(Options, force, "--force", "replace a file that exists"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.to = NULL};
    SrArgs args;
    SrConvertOptions options = {.rename = false};
    SrConvertResult result;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    SR_TRY(sr_args_no_overrides(&args, "convert"));
    if (args.n_names != 2)
        SR_FAIL(SR_ERR_CONFIG, "sslrun convert: expected two files, IN and OUT");
    SR_TRY(parse_options(o.to, o.only, &options));
    char in[4096]; // for a run folder its newest checkpoint
    const char *out = args.names[1];
    SR_TRY(sr_folder_weights(args.names[0], in, sizeof in));
    SR_TRY(sr_file_check_new(out, o.force));
    SR_TRY(sr_convert(in, out, &options, &result));
    if (result.blank_classifier)
        sr_info("%s has no classifier; fc.* of zeros were added, so that torchvision loads the "
                "file with strict=True (--only trunk leaves them out)",
                in);
    const SrNaming *naming = &result.naming;
    if (*naming->unlike && (o.to || o.only))
        sr_warn("%s has the names of a %s, but %s; programs that build a %s will refuse it", out,
                naming->trunk, naming->unlike, naming->trunk);
    SrText text = SR_TEXT_INIT, next = SR_TEXT_INIT;
    sr_text_printf(&text, "%s: %d tensor%s written", out, result.tensors,
                   result.tensors == 1 ? "" : "s");
    if (result.left_out > 0)
        sr_text_printf(&text, ", %d of %s left out", result.left_out, in);
    if (*naming->trunk || strcmp(naming->writer, "unknown") != 0) // else: features, not weights
        sr_text_printf(&text, " (%s%s%s%s)", naming->writer, *naming->trunk ? ", " : "",
                       *naming->unlike ? "unlike " : "", naming->trunk);
    sr_text_add(&text, "\n");
    SR_TRY(sr_args_print_done(&text, out));
    SR_NEXT(&next, "lists the tensors of the file", "inspect", out);
    sr_next_say(&next);
    return SR_OK;
}

const SrVerb sr_verb_convert = {
    .name = "convert",
    .group = SR_VERB_FILES,
    .args = "IN OUT",
    .summary = "converts weights between formats and naming schemes",
    .help = "Formats follow from the names: .safetensors, .pth and .npz are read and written; .npy "
            "and PyTorch's legacy format are read. IN may be a run folder, which means its newest "
            "checkpoint. meta gives the authors' names without VISSL's dicts. huggingface gives "
            "the trunk alone; a ConvNeXt without a classifier gets DINOv3's names.",
    .examples = {{"sslrun convert runs/photos trunk.pth --to torchvision --only trunk",
                  "Gives a trunk to PyTorch under torchvision's names."},
                 {"sslrun convert trunk.pth trunk.safetensors", "Changes the format alone."}},
    .files = "OUT is not replaced without --force.",
    .flags = flags,
    .run = run_verb,
};
