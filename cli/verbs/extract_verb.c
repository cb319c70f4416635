// sslrun extract TRUNK|CONFIG|RUN: writes features of named layers into files.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/ranks/comm.h"
#include "base/text/text.h"
#include "cli/args/args.h"
#include "cli/args/tap_args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "trainer/eval/extract/extract_data.h"
#include "trainer/eval/extract/extract_input.h"
#include "trainer/run/run_folder.h"

typedef struct {
    const char *mode, *layout, *format, *split, *tokens;
    SrTapArgs nodes;
    bool lax, keep_norms, random, bf16;
    SrExtractOptions o;
} Options;

static SrStatus one_of(const char *flag, const char *word, const char *first, const char *second,
                       bool *is_second) {
    *is_second = strcmp(word, second) == 0;
    if (*is_second || strcmp(word, first) == 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s %s: expected %s or %s", flag, word, first, second);
}

static SrStatus check(Options *p) {
    bool train;
    SrExtractOptions *o = &p->o;
    SR_TRY(one_of("--mode", p->mode, "eval", "train", &train));
    SR_TRY(one_of("--layout", p->layout, "nchw", "nhwc", &o->nhwc));
    SR_TRY(one_of("--tokens", p->tokens, "sequence", "map", &o->features.token_maps));
    SR_TRY(sr_extract_format_find(p->format, &o->format));
    SR_TRY(one_of("--split", p->split, "train", "test", &o->test));
    o->features.mode = train ? SR_MODE_TRAIN : SR_MODE_EVAL;
    o->features.lax = p->lax;
    o->features.keep_norms = p->keep_norms;
    o->features.bf16 = p->bf16;
    SR_TRY(sr_tap_args_check(&p->nodes));
    o->features.layers = p->nodes.both ? p->nodes.both : train ? p->nodes.train : p->nodes.eval;
    o->features.other_layers = train ? p->nodes.eval : p->nodes.train;
    if (!o->features.layers || !o->out)
        SR_FAIL(SR_ERR_CONFIG, "sslrun extract needs --nodes a,b:c and --out");
    if (!o->features.weights == !p->random)
        SR_FAIL(SR_ERR_CONFIG, "sslrun extract needs --weights FILE, or --random for the untrained "
                               "trunk; a run folder in place of the trunk has its own weights");
    if (!o->input == !o->data)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun extract needs either --input x.safetensors or --data DIR|LIST");
    static const char *const others[] = {".npz", ".npy", ".csv", ".pth", ".pt"};
    for (int i = 0; o->input && i < SR_COUNT(others); i++)
        if (sr_text_ends(o->out, others[i]))
            SR_FAIL(SR_ERR_CONFIG,
                    "--out %s: --input writes one .safetensors; give the file that ending, and "
                    "`sslrun convert` writes .npz and .pth from it",
                    o->out);
    if (o->input && o->format != SR_EXTRACT_SAFETENSORS)
        SR_FAIL(SR_ERR_CONFIG,
                "--format %s works only with --data; --input writes one .safetensors", p->format);
    if (o->input && (o->test || o->labels))
        SR_FAIL(SR_ERR_CONFIG, "--split and --labels work only with --data");
    if (o->data && (sr_text_ends(o->out, ".safetensors") || sr_text_ends(o->out, ".npz") ||
                    sr_text_ends(o->out, ".csv")))
        SR_FAIL(SR_ERR_CONFIG, "--out %s: --data writes a folder of shards; name a folder", o->out);
    if (o->data && train)
        SR_FAIL(SR_ERR_CONFIG,
                "--mode train needs --input, since batch statistics have no meaning over shards");
    return SR_OK;
}

// Replaces a run folder by its configuration, and by its newest checkpoint unless --weights is
// given.
static SrStatus take_run(Options *p, char *config, size_t bytes) {
    SrFeatureOptions *e = &p->o.features;
    if (!sr_file_is_dir(e->trunk))
        return SR_OK;
    if (!e->weights && !p->random)
        e->weights = e->trunk;
    SR_TRY(sr_file_join(config, bytes, e->trunk, "train_config.yaml"));
    if (!sr_file_exists(config))
        SR_FAIL(SR_ERR_CONFIG, "%s is not the folder of a run: it holds no train_config.yaml",
                e->trunk);
    e->trunk = config;
    return SR_OK;
}

static void say_next(const SrExtractOptions *o) {
    SrText next = SR_TEXT_INIT, folder = SR_TEXT_INIT;
    sr_text_printf(&folder, "CLUSTERFIT.OUTPUT_DIR=%s-clusters", o->out);
    if (o->input)
        SR_NEXT(&next, "lists the features of the file", "inspect", o->out);
    else if (!strchr(o->features.layers, ',') && // one feature
             (o->format == SR_EXTRACT_SAFETENSORS || o->format == SR_EXTRACT_NPZ))
        SR_NEXT(&next, "sorts the images into two clusters", "cluster", o->out,
                "CLUSTERFIT.NUM_CLUSTERS=2", folder.s ? folder.s : "");
    sr_next_say(&next);
    sr_text_deinit(&folder);
}

static SrStatus extract(Options *p, const SrArgs *args) {
    SrExtractOptions *o = &p->o;
    char weights[4096], config[4096];
    SrText report = SR_TEXT_INIT;
    if (args->n_names != 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun extract: no trunk is named; give a model (resnet50), a YAML "
                               "file or a run folder");
    o->features.trunk = args->names[0];
    SR_TRY(take_run(p, config, sizeof config));
    SR_TRY(check(p));
    if (o->features.weights) {
        SR_TRY(sr_folder_weights(o->features.weights, weights, sizeof weights));
        o->features.weights = weights;
    }
    o->features.overrides = args->overrides;
    o->features.n_overrides = args->n_overrides;
    SrStatus status = o->input ? sr_extract_input(o, &report) : sr_extract_data(o, &report);
    sr_log_end_live();
    if (report.s && sr_comm_rank() == 0)
        fputs(report.s, stderr);
    sr_text_deinit(&report);
    if (status == SR_OK && sr_comm_rank() == 0)
        say_next(o);
    return status;
}

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, o.features.weights, "--weights", "FILE",
                 "weights (.safetensors, .pth, .npz), or a run folder"),
    SR_FLAG_ON(Options, random, "--random", "take the trunk as it is drawn, without weights"),
    SR_FLAG_TEXT(Options, nodes.both, "--nodes", "LIST", "layers, such as layer1,layer4:deep"),
    SR_FLAG_TEXT(Options, nodes.train, "--train-nodes", "LIST",
                 "layers of --mode train, with --eval-nodes"),
    SR_FLAG_TEXT(Options, nodes.eval, "--eval-nodes", "LIST",
                 "layers of --mode eval, with --train-nodes"),
    SR_FLAG_TEXT(Options, mode, "--mode", "MODE", "eval or train (eval)"),
    SR_FLAG_TEXT(Options, o.input, "--input", "FILE",
                 "a tensor of images, (N, 3, H, W): .safetensors, .npz, .npy or .pth"),
    SR_FLAG_TEXT(Options, o.data, "--data", "DIR",
                 "a folder of images, a list of them, IDX or CIFAR files"),
    SR_FLAG_TEXT(Options, split, "--split", "PART",
                 "train or test, of a folder that holds both (train)"),
    SR_FLAG_TEXT(Options, o.labels, "--labels", "FILE", "labels of a list of images (.npy, text)"),
    SR_FLAG_TEXT(Options, o.out, "--out", "PATH", "a .safetensors file, or a folder for --data"),
    SR_FLAG_TEXT(Options, layout, "--layout", "ORDER", "nchw or nhwc (nchw)"),
    SR_FLAG_TEXT(Options, tokens, "--tokens", "FORM",
                 "of transformers: sequence, or map: the patches as (N, D, h, w) (sequence)"),
    SR_FLAG_TEXT(Options, format, "--format", "FORMAT",
                 "safetensors, npy, npz or csv (safetensors)"),
    SR_FLAG_NUMBER(Options, o.features.batch, "--batch", "images per batch"),
    SR_FLAG_NUMBER(Options, o.size, "--size", "pixels per side, with --data"),
    SR_FLAG_NUMBER(Options, o.shard, "--shard", "images per file, with --data"),
    SR_FLAG_NUMBER(Options, o.threads, "--threads", "threads that decode images (all processors)"),
    SR_FLAG_ON(Options, lax, "--lax", "accept missing and unexpected weights"),
    SR_FLAG_ON(Options, keep_norms, "--no-fold", "keep batch norms separate"),
    SR_FLAG_ON(Options, bf16, "--bf16",
               "compute in bfloat16, as a configuration with USE_AMP does"),
    SR_FLAG_ON(Options, o.force, "--force", "with --input: replace a file that holds no features"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options p = {.mode = "eval",
                 .layout = "nchw",
                 .format = "safetensors",
                 .split = "train",
                 .tokens = "sequence"};
    p.o.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &p, &args));
    sr_args_take_config(&args);
    return extract(&p, &args);
}

const SrVerb sr_verb_extract = {
    .name = "extract",
    .group = SR_VERB_FEATURES,
    .args = "TRUNK|CONFIG|RUN --nodes LIST (--input FILE | --data DIR) --out PATH [KEY=VALUE ...]",
    .summary = "writes the features of named layers into files",
    .help =
        "TRUNK is a model of torchvision (resnet50) and needs --weights or --random; RUN is a run "
        "folder, whose newest checkpoint is taken. Layers have torchvision's names; `sslrun graph "
        "TRUNK` lists them. LAYER:NAME renames a feature.\n\nWith --data the folder receives one "
        "file per layer and shard, with labels and file names, and an interrupted extraction is "
        "resumed. `sslrun knn`, `svm`, `logreg`, `retrieve` and `cluster` read such folders, "
        "except those of --format csv, which is for spreadsheets and other programs.",
    .examples =
        {{"sslrun extract runs/photos --nodes flatten --data photos --out train-features",
          "Writes the features of a folder of photos."},
         {"sslrun extract runs/photos --nodes flatten --data new-photos --out test-features",
          "Writes the features of other photos, for an evaluation."},
         {"sslrun extract resnet18 --random --nodes layer4,flatten:vector --data photos "
          "--out untrained",
          "Writes two layers of an untrained ResNet-18."},
         {"sslrun extract runs/photos --nodes flatten --data photos --format csv --out table",
          "Writes a table with a row per photo: file name, label, class, numbers."}},
    .files = "With --input, PATH is replaced only if it holds features, or with --force.",
    .flags = flags,
    .run = run_verb,
};
