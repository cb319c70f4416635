// sslrun extract TRUNK|CONFIG|RUN: writes features of named layers into files.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/tap_args.h"
#include "cli/verb.h"
#include "trainer/eval/extract_file.h"
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
    SR_TRY(one_of("--tokens", p->tokens, "sequence", "map", &o->extractor.token_maps));
    SR_TRY(one_of("--format", p->format, "safetensors", "npy", &o->npy));
    SR_TRY(one_of("--split", p->split, "train", "test", &o->test));
    o->extractor.mode = train ? SR_MODE_TRAIN : SR_MODE_EVAL;
    o->extractor.lax = p->lax;
    o->extractor.keep_norms = p->keep_norms;
    o->extractor.bf16 = p->bf16;
    SR_TRY(sr_tap_args_check(&p->nodes));
    o->extractor.nodes = p->nodes.both ? p->nodes.both : train ? p->nodes.train : p->nodes.eval;
    o->extractor.other_nodes = train ? p->nodes.eval : p->nodes.train;
    if (!o->extractor.nodes || !o->out)
        SR_FAIL(SR_ERR_CONFIG, "sslrun extract needs --nodes a,b:c and --out");
    if (!o->extractor.weights == !p->random)
        SR_FAIL(
            SR_ERR_CONFIG,
            "sslrun extract needs one of --weights FILE and --random, which takes the "
            "trunk as it is drawn; a run's folder in place of the trunk has weights of its own");
    if (!o->input == !o->data)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun extract needs one of --input x.safetensors and --data DIR|LIST");
    if (o->input && o->npy)
        SR_FAIL(SR_ERR_CONFIG, "--format npy goes with --data; --input gives one .safetensors");
    if (o->input && (o->test || o->labels))
        SR_FAIL(SR_ERR_CONFIG, "--split and --labels go with --data");
    if (o->data && sr_text_ends(o->out, ".safetensors"))
        SR_FAIL(SR_ERR_CONFIG, "--out %s: --data fills a folder with shards, so name a folder",
                o->out);
    if (o->data && train)
        SR_FAIL(SR_ERR_CONFIG,
                "--mode train needs --input: statistics of a batch have no meaning over shards");
    return SR_OK;
}

// Replaces a run folder by its configuration, and by its newest checkpoint unless --weights is
// given.
static SrStatus take_run(Options *p, char *config, size_t bytes) {
    SrExtractorOptions *e = &p->o.extractor;
    if (!sr_file_is_dir(e->trunk))
        return SR_OK;
    if (!e->weights && !p->random)
        e->weights = e->trunk;
    SR_TRY(sr_file_join(config, bytes, e->trunk, "train_config.yaml"));
    if (!sr_file_exists(config))
        SR_FAIL(SR_ERR_CONFIG, "%s is no folder of a run: it holds no train_config.yaml", e->trunk);
    e->trunk = config;
    return SR_OK;
}

static SrStatus extract(Options *p, const SrArgs *args) {
    SrExtractOptions *o = &p->o;
    char weights[4096], config[4096];
    SrText report = SR_TEXT_INIT;
    if (args->n_names != 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun extract: which trunk? Give a model (resnet50), a YAML file "
                               "or the folder of a run");
    o->extractor.trunk = args->names[0];
    SR_TRY(take_run(p, config, sizeof config));
    SR_TRY(check(p));
    if (o->extractor.weights) {
        SR_TRY(sr_folder_weights(o->extractor.weights, weights, sizeof weights));
        o->extractor.weights = weights;
    }
    o->extractor.overrides = args->overrides;
    o->extractor.n_overrides = args->n_overrides;
    SrStatus status = o->input ? sr_extract_input(o, &report) : sr_extract_data(o, &report);
    sr_log_end_live();
    if (report.s && sr_comm_rank() == 0)
        fputs(report.s, stderr);
    sr_text_deinit(&report);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    Options p = {.mode = "eval",
                 .layout = "nchw",
                 .format = "safetensors",
                 .split = "train",
                 .tokens = "sequence"};
    SrExtractOptions *o = &p.o;
    o->threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const SrFlag flags[] = {
        {.name = "--weights",
         .text = &o->extractor.weights,
         .help = "a file of weights: safetensors, .pth, .npz"},
        {.name = "--random", .on = &p.random, .help = "no weights: the trunk as it is drawn"},
        {.name = "--nodes", .text = &p.nodes.both, .help = "layers, as in layer1,layer4:deep"},
        {.name = "--train-nodes",
         .text = &p.nodes.train,
         .help = "layers of --mode train, next to --eval-nodes"},
        {.name = "--eval-nodes",
         .text = &p.nodes.eval,
         .help = "layers of --mode eval, next to --train-nodes"},
        {.name = "--mode", .text = &p.mode, .help = "eval or train"},
        {.name = "--input",
         .text = &o->input,
         .help = "a file with one tensor x of images, (N, 3, H, W): .safetensors, .npz, .npy"},
        {.name = "--data",
         .text = &o->data,
         .help = "a folder of images, a list of them, IDX or CIFAR files"},
        {.name = "--split", .text = &p.split, .help = "train or test, of a folder that holds both"},
        {.name = "--labels", .text = &o->labels, .help = "with a list: its labels (.npy, text)"},
        {.name = "--out", .text = &o->out, .help = "a .safetensors file, or a folder for --data"},
        {.name = "--layout", .text = &p.layout, .help = "nchw or nhwc"},
        {.name = "--tokens",
         .text = &p.tokens,
         .help = "of transformers: sequence, or map: the patches as (N, D, h, w)"},
        {.name = "--format", .text = &p.format, .help = "safetensors or npy"},
        {.name = "--batch", .number = &o->extractor.batch, .help = "images at once"},
        {.name = "--size", .number = &o->size, .help = "pixels a side, with --data"},
        {.name = "--shard", .number = &o->shard, .help = "images a shard"},
        {.name = "--threads", .number = &o->threads, .help = "threads that decode images"},
        {.name = "--lax", .on = &p.lax, .help = "missing and unexpected weights are no error"},
        {.name = "--no-fold", .on = &p.keep_norms, .help = "batch norms stay as they are"},
        {.name = "--bf16",
         .on = &p.bf16,
         .help = "maps and their products in bfloat16, as a configuration with USE_AMP has them"},
        {.name = "--force",
         .on = &o->force,
         .help = "--input: replaces a file that is no features"},
        {0}};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    sr_args_take_config(&args);
    return extract(&p, &args);
}

const SrVerb sr_verb_extract = {
    .name = "extract",
    .usage = "sslrun extract TRUNK|CONFIG|RUN (--weights FILE | --random) "
             "(--nodes a,b:c | --train-nodes a,b:c --eval-nodes a,b:c) [--mode eval|train] "
             "(--input x.safetensors | --data DIR|LIST [--split train|test] [--labels LIST]) "
             "--out FILE.safetensors|DIR [--layout nchw|nhwc] "
             "[--tokens sequence|map] [--threads N] "
             "[--format safetensors|npy] [--batch N] [--size N] [--shard N] [--lax] [--no-fold] "
             "[--bf16] "
             "[--force]",
    .help = "Writes the features of named layers, for a tensor of images or a folder of them.",
    .run = run_verb,
};
