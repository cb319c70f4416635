// Writes a first configuration as a person would, with a comment where a choice needs one.
#include "pages/starter_file.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/text/escape.h"
#include "base/text/json.h"
#include "data/sandbox.h"
#include "trainer/data/eval_transforms.h"

// Says what learns when the weights of others are the start.
static void add_start(const SrStarterWeights *from, SrText *out) {
    const char *last = from->layer_rates ? " and the last block" : "";
    sr_text_add(out, "# The start: ");
    sr_escape_line(from->file, out);
    if (from->attention)
        sr_text_printf(out, ".  Adapters (LoRA) on queries and values, the norms%s learn.\n", last);
    else
        sr_text_printf(out, ".  All weights learn, at low rates%s.\n",
                       from->layer_rates ? ", and lower layers at lower ones" : "");
    sr_text_add(out, "# The report compares the features before and after.\n");
}

static void add_head(const SrStarterRecipe *r, const SrStarterRung *rung, SrText *out) {
    char size[32];
    const SrPhotoSurvey *s = r->survey;
    sr_text_printf(out, "# DCL on the %lld %s of ", (long long)s->images, s->noun);
    sr_escape_line(s->root, out);
    sr_text_add(out, ", made by `sslrun init`.\n#\n#   sslrun ");
    SrText name = SR_TEXT_INIT;
    sr_text_add_word(&name, r->name);
    sr_escape_line(name.s ? name.s : "", out);
    sr_text_deinit(&name);
    sr_text_printf(out,
                   "             trains; the same command resumes after an interruption\n#   "
                   "sslrun describe KEY   explains a key; KEY=VALUE after the command changes "
                   "it\n#\n# The folder: %s, shorter sides of %lld",
                   sr_bytes_text(s->bytes, size, sizeof size), (long long)s->side.low);
    if (s->side.high > s->side.low)
        sr_text_printf(out, " to %lld", (long long)s->side.high);
    sr_text_add(out, " pixels");
    if (s->classes > 1)
        sr_text_printf(
            out,
            ", %d class folders, which serve to\n# evaluate the features and not to train them",
            s->classes);
    sr_text_printf(out, ".\n# The trunk: %s; it %s.\n", rung->name, rung->why);
    if (r->from)
        add_start(r->from, out);
    sr_text_add(out, "# The method: DCL (Yeh et al., 2022): each view of an image learns to find "
                     "the other one in the batch,\n# as in SimCLR; small batches are enough.\n");
}

static void add_quoted(const char *s, SrText *out) {
    const SrYaml node = {.type = SR_YAML_STRING, .text = s};
    sr_json_print(&node, out);
}

// A list of photos has its classes in another list.
static void add_labels(const SrPhotoSurvey *s, SrText *out) {
    if (!*s->labels)
        return;
    sr_text_add(out, "]\n      LABEL_SOURCES: [disk_filelist]\n      LABEL_PATHS: [");
    add_quoted(s->labels, out);
}

static void add_numbers(const char *name, const double *v, int n, SrText *out) {
    sr_text_printf(out, "%s: [", name);
    for (int i = 0; i < n; i++)
        sr_text_printf(out, "%s%.6g", i ? ", " : "", v[i]);
    sr_text_add(out, "]");
}

// Photos are normalised by the figures of the weights, else by ImageNet's, and other images by
// their own.
static void add_floats(const SrStarterRecipe *r, SrText *out) {
    const SrPhotoSurvey *s = r->survey;
    const SrPresetPixels *pixels = sr_preset_pixels(r->from ? r->from->preset : NULL);
    bool own = s->form.channels > 0;
    int n = sr_channels(s->form.channels);
    sr_text_add(out, "        - {name: ToTensor}\n        - {name: Normalize, ");
    add_numbers("mean", own ? s->mean : pixels->mean, n, out);
    add_numbers(", std", own ? s->std : pixels->std, n, out);
    sr_text_add(out, "}\n");
}

// Names what the files hold where that is no RGB of 8 bits.
static void add_form(const SrPhotoSurvey *s, SrText *out) {
    if (s->form.channels == 3)
        sr_text_printf(out, "    KEEP_BITS: True # the images have %d bits per sample\n", s->bits);
    else if (s->form.channels > 0)
        sr_text_printf(out, "    CHANNELS: %d # of %d bits, which are all kept\n", s->form.channels,
                       s->bits);
}

static void add_data(const SrStarterRecipe *r, const SrStarterRung *rung, SrText *out) {
    sr_text_printf(out,
                   "config:\n  SEED_VALUE: 0 # the same seed gives the same bits, whatever the "
                   "number of threads\n  LOG_FREQUENCY: 50 # updates between two progress lines\n  "
                   "DATA:\n    NUM_DATALOADER_WORKERS: %d # threads that read and augment images\n",
                   sr_parallel_threads());
    if (sr_sandbox_used())
        sr_text_add(out, "    SANDBOX: True # decode in locked processes\n");
    add_form(r->survey, out);
    sr_text_add(out, "    TRAIN:\n      DATA_PATHS: [");
    add_quoted(r->data, out);
    add_labels(r->survey, out);
    sr_text_printf(
        out,
        "]\n      BATCHSIZE_PER_REPLICA: %d # images per update\n      DEFAULT_GRAY_IMG_SIZE: %d\n "
        "     DROP_LAST: True\n      COLLATE_FUNCTION: simclr_collator\n      TRANSFORMS: # "
        "`sslrun augment` shows the views of an image\n",
        r->batch, rung->crop);
    sr_text_printf(
        out,
        "        - {name: ImgReplicatePil, num_times: 2}\n        - {name: RandomResizedCrop, "
        "size: %d, scale: [0.2, 1]} # pixels per side; share of the area\n",
        rung->crop);
    sr_text_add(out, "        - {name: RandomHorizontalFlip, p: 0.5} # remove this if left and "
                     "right differ in meaning\n");
    if (r->survey->form.channels == 0)
        sr_text_add(out, "        - {name: ImgPilColorDistortion, strength: 0.5} # lower this if "
                         "colours have a meaning\n");
    add_floats(r, out);
    sr_text_printf(
        out,
        "    TEST: # images of test/ or val/ next to train/, or a tenth of the images\n      "
        "DEFAULT_GRAY_IMG_SIZE: %d\n      TRANSFORMS:\n        - {name: Resize, size: %d}\n        "
        "- {name: CenterCrop, size: %d}\n",
        rung->crop, r->from ? rung->crop * 8 / 7 : rung->crop, rung->crop);
    add_floats(r, out);
}

static void add_start_keys(const SrStarterWeights *from, SrText *out) {
    sr_text_add(out, "    WEIGHTS_INIT:\n      PARAMS_FILE: ");
    add_quoted(from->file, out);
    if (from->plain_names)
        sr_text_printf(out, "\n      APPEND_PREFIX: \"trunk.%s\"",
                       sr_trunk_param_prefix(sr_preset_trunk(from->preset)));
    sr_text_add(out, "\n");
    if (from->attention)
        sr_text_printf(out,
                       "    LORA: {USE_LORA: True, TARGETS: [qv], RANK: 8, UNFREEZE_LAST: %d}\n",
                       from->layer_rates ? 1 : 0); // other trunks do not number their blocks
}

static void add_model(const SrStarterRecipe *r, const SrStarterRung *rung, SrText *out) {
    int hidden = SR_MAX(rung->width, 512);
    sr_text_printf(out, "  MODEL:\n    TRUNK:\n      NAME: %s\n", rung->trunk);
    if (rung->map)
        sr_text_printf(out, "      %s: %s\n", rung->map, rung->options);
    if (r->from)
        add_start_keys(r->from, out);
    sr_text_printf(out,
                   "    HEAD:\n"
                   "      PARAMS:\n"
                   "        - [mlp, {dims: [%d, %d, %d, 128], use_bn: True, use_relu: True}]\n"
                   "  LOSS:\n"
                   "    name: dcl_loss\n"
                   "    dcl_loss: {temperature: 0.1, embedding_dim: 128}\n",
                   rung->width, hidden, hidden);
}

// The rate is proportional to the batch.  Weights that are already good get AdamW and a low rate.
static double add_update_rule(const SrStarterRecipe *r, SrText *out) {
    const SrStarterWeights *from = r->from;
    if (!from) {
        sr_text_add(out, "  OPTIMIZER:\n    name: muon\n    adjust_lr_fn: match_rms_adamw\n"
                         "    momentum: 0.95\n    nesterov: True\n    weight_decay: 0.05\n");
        return round(1e5 * 0.03 * r->batch / 128) / 1e5;
    }
    sr_text_add(out, "  OPTIMIZER:\n    name: adamw\n    weight_decay: 0.05\n");
    if (from->layer_rates)
        sr_text_printf(out,
                       "    param_group_constructor: lr_decay # each layer has a part of the next "
                       "one's rate\n    layer_wise_lr_decay: {decay: %g}\n",
                       from->attention ? 0.9 : 0.7);
    double rate = from->layer_rates && !from->attention ? 5e-4 : 2e-4;
    return round(1e6 * rate * r->batch / 64) / 1e6;
}

static void add_optimizer(const SrStarterRecipe *r, SrText *out) {
    char rate[SR_TEXT_NUMBER_BYTES], low[SR_TEXT_NUMBER_BYTES];
    double peak = add_update_rule(r, out);
    const char *regularize = r->from ? "False" : "True";
    sr_text_number(peak, rate);
    sr_text_number(peak / 100, low);
    sr_text_printf(
        out,
        "    num_epochs: %d\n    regularize_bn: %s\n    regularize_bias: %s\n    "
        "param_schedulers:\n"
        "      lr: # rises for 8 %% of the updates, then falls to zero\n        name: composite\n"
        "        schedulers:\n          - {name: linear, start_value: %s, end_value: %s}\n"
        "          - {name: cosine, start_value: %s, end_value: 0.0}\n        update_interval: "
        "step\n"
        "        interval_scaling: [rescaled, rescaled]\n        lengths: [0.08, 0.92]\n",
        r->epochs, regularize, regularize, low, rate, rate);
}

static void add_rest(const SrStarterRecipe *r, SrText *out) {
    if (r->probe_every)
        sr_text_printf(out,
                       "  HOOKS:\n    PROBE: {EVERY_NUM_EPOCHS: %d, LIMIT: 2000} # measures the "
                       "features during training\n",
                       r->probe_every);
    sr_text_add(out, "  CHECKPOINT:\n    DIR: ");
    add_quoted(r->run, out);
    sr_text_printf(out,
                   " # report.html is written there too\n    CHECKPOINT_FREQUENCY: %d # epochs\n   "
                   " KEEP_LAST: 2\n  NEAREST_NEIGHBOR: {TOPK: [%d], SIGMA: 0.07}\n",
                   SR_MAX(r->epochs / 20, 1), (int)SR_MIN(SR_MAX(r->survey->images / 10, 1), 20));
}

void sr_starter_file(const SrStarterRecipe *r, const SrStarterRung *rung, SrText *out) {
    add_head(r, rung, out);
    add_data(r, rung, out);
    add_model(r, rung, out);
    add_optimizer(r, out);
    add_rest(r, out);
}
