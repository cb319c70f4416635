// sslrun inspect FILE: what a file of weights is - format, writer, trunk, metadata, tensors - and,
// with --stats, statistics of their numbers.  Without --stats no number is read, so that a file of
// any size opens at once.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/json.h"
#include "base/text/yaml_print.h"
#include "cli/args/args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "formats/names/naming.h"
#include "formats/stats.h"
#include "formats/weights/weights.h"
#include "trainer/model/trunk_graph.h"
#include "trainer/model/trunk_weights.h"
#include "trainer/run/checkpoint.h"
#include "trainer/run/run_folder.h"

enum { IMAGE_SIDE = 224 }; // size at which the model of --as is built

typedef struct {
    bool stats, json, tree, config;
    const char *filter; // NULL: every tensor
    const char *as;     // model or configuration to compare with; NULL: none
    SrWeights w;
    SrNaming naming;
    SrText out;
    char checksums[256]; // "97 agree", "none", or what is wrong
    bool damaged;
    int listed; // entries so far of the current JSON list
} Inspect;

static bool is_wanted(const Inspect *in, int i) {
    return !in->filter || sr_text_glob(in->filter, in->w.tensors[i].name);
}

static int64_t count_of(const SrWeightsTensor *t) { return sr_shape_count(t->shape); }

// ---- checksums ----------------------------------------------------------------------------------

// Verifies checksums: our checkpoints hold a CRC-32 per tensor, zip archives one per entry.
static SrStatus verify(Inspect *in) {
    int checked = 0;
    SrStatus status = SR_OK;
    bool ours = sr_safetensors_meta(&in->w.st, "checksums") != NULL;
    if (ours)
        status = sr_weights_verify_sums(&in->w);
    else
        status = sr_weights_verify(&in->w, &checked);
    if (status == SR_ERR_MEMORY) // says nothing about the file
        return status;
    in->damaged = status != SR_OK;
    if (in->damaged)
        snprintf(in->checksums, sizeof in->checksums, "%.250s", sr_status_message());
    else if (ours)
        snprintf(in->checksums, sizeof in->checksums, "all agree");
    else if (checked)
        snprintf(in->checksums, sizeof in->checksums, "all %d agree", checked);
    else
        snprintf(in->checksums, sizeof in->checksums, "none in this format");
    return SR_OK;
}

// ---- text ---------------------------------------------------------------------------------------

// Prints metadata, but of the configuration and the checksums, which are long, only the length.
static void print_meta(Inspect *in) {
    for (int i = 0; i < in->w.n_meta; i++) {
        size_t len = strlen(in->w.meta_values[i]);
        if (in->filter && !sr_text_glob(in->filter, in->w.meta_keys[i]))
            continue;
        if (in->w.meta_values[i] == in->naming.writer) // printed already
            continue;
        if (len <= 120)
            sr_text_printf(&in->out, "  %s: %s\n", in->w.meta_keys[i], in->w.meta_values[i]);
        else
            sr_text_printf(&in->out, "  %s: (%zu bytes%s)\n", in->w.meta_keys[i], len,
                           strcmp(in->w.meta_keys[i], "config") ? "" : "; --config prints it");
    }
}

static int64_t count_all(const Inspect *in) {
    int64_t numbers = 0;
    for (int i = 0; i < in->w.n; i++)
        numbers += count_of(&in->w.tensors[i]);
    return numbers;
}

static void print_head(Inspect *in) {
    sr_text_printf(&in->out, "%s: %s, %d tensor%s, %" PRId64 " numbers, %zu bytes\n", in->w.path,
                   sr_weights_format_name(in->w.format), in->w.n, in->w.n == 1 ? "" : "s",
                   count_all(in), in->w.file_bytes);
    sr_text_printf(&in->out, "  written by: %s\n", in->naming.writer);
    if (*in->naming.trunk || *in->naming.prefix)
        sr_text_printf(&in->out, "  trunk: %s%s%s%s\n",
                       *in->naming.trunk ? in->naming.trunk : "of an unknown kind",
                       *in->naming.prefix ? " under '" : "", in->naming.prefix,
                       *in->naming.prefix ? "'" : "");
    if (in->stats)
        sr_text_printf(&in->out, "  checksums: %s\n", in->checksums);
    print_meta(in);
}

static SrStatus print_tensor(Inspect *in, int i) {
    const SrWeightsTensor *t = &in->w.tensors[i];
    char shape[SR_SHAPE_TEXT_BYTES];
    SrTensor data;
    SrTensorStats s;
    sr_text_printf(&in->out, "  %-56s %-4s %-20s %11zu", t->name, sr_dtype_name(t->dtype),
                   sr_shape_text(t->shape, shape, sizeof shape), t->bytes);
    if (in->stats) {
        SR_TRY(sr_weights_read(&in->w, i, &data));
        sr_tensor_stats(&data, &s);
        sr_text_printf(
            &in->out, "  min %.4g  max %.4g  mean %.4g  std %.4g  norm %.4g  zeros %.3g%%", s.min,
            s.max, s.mean, s.deviation, s.norm, s.n ? 100 * (double)s.zeros / (double)s.n : 0);
        if (s.nan + s.infinite > 0)
            sr_text_printf(&in->out, "  %" PRId64 " NaN, %" PRId64 " infinite", s.nan, s.infinite);
    }
    sr_text_add(&in->out, "\n");
    return SR_OK;
}

// ---- tree ---------------------------------------------------------------------------------------

static bool in_module(const char *name, const char *module, size_t len) {
    return strncmp(name, module, len) == 0 && name[len] == '.';
}

// Called for a module or a tensor.  Its name has len bytes, and the last part begins at `start`.
// numbers: how many numbers the module holds; -1: this is tensor i.
typedef void (*EachModule)(Inspect *in, int i, size_t len, size_t start, int depth,
                           int64_t numbers);

// Calls `each` for every module at its first tensor, with the count of all its numbers, and for
// every tensor.
static void each_module(Inspect *in, EachModule each) {
    const char *before = "";
    for (int i = 0; i < in->w.n; i++) {
        const char *name = in->w.tensors[i].name;
        int depth = 1;
        if (!is_wanted(in, i))
            continue;
        for (const char *dot = name; (dot = strchr(dot, '.')); dot++, depth++) {
            size_t len = (size_t)(dot - name), start = len;
            int64_t numbers = 0;
            if (in_module(before, name, len))
                continue;
            while (start > 0 && name[start - 1] != '.')
                start--;
            for (int j = i; j < in->w.n && in_module(in->w.tensors[j].name, name, len); j++)
                numbers += is_wanted(in, j) ? count_of(&in->w.tensors[j]) : 0;
            each(in, i, len, start, depth, numbers);
        }
        const char *last = strrchr(name, '.');
        each(in, i, strlen(name), last ? (size_t)(last + 1 - name) : 0, depth, -1);
        before = name;
    }
}

static void module_text(Inspect *in, int i, size_t len, size_t start, int depth, int64_t numbers) {
    const SrWeightsTensor *t = &in->w.tensors[i];
    char shape[SR_SHAPE_TEXT_BYTES];
    sr_text_printf(&in->out, "%*s%.*s", 2 * depth, "", (int)(len - start), t->name + start);
    if (numbers >= 0)
        sr_text_printf(&in->out, ": %" PRId64 "\n", numbers);
    else
        sr_text_printf(&in->out, " %s %s\n", sr_dtype_name(t->dtype),
                       sr_shape_text(t->shape, shape, sizeof shape));
}

// ---- JSON: one object, a line a tensor ----------------------------------------------------------

static void print_head_json(Inspect *in) {
    sr_json_begin(&in->out);
    sr_json_string(&in->out, "file", in->w.path);
    sr_json_string(&in->out, "format", sr_weights_format_name(in->w.format));
    sr_json_string(&in->out, "writer", in->naming.writer);
    sr_json_string(&in->out, "trunk", in->naming.trunk);
    sr_json_string(&in->out, "prefix", in->naming.prefix);
    sr_json_int(&in->out, "n_tensors", in->w.n);
    sr_json_int(&in->out, "numbers", count_all(in));
    sr_json_int(&in->out, "bytes", (int64_t)in->w.file_bytes);
    if (in->stats)
        sr_json_string(&in->out, "checksums", in->checksums);
    sr_text_add(&in->out, ", \"meta\": {");
    for (int i = 0; i < in->w.n_meta; i++)
        if (strcmp(in->w.meta_keys[i], "checksums") != 0)
            sr_json_string(&in->out, in->w.meta_keys[i], in->w.meta_values[i]);
    sr_text_add(&in->out, "}");
}

static void begin_list(Inspect *in, const char *name) {
    sr_text_printf(&in->out, ",\n \"%s\": [", name);
    in->listed = 0;
}

static void begin_entry(Inspect *in) {
    sr_text_add(&in->out, in->listed++ ? ",\n  " : "\n  ");
    sr_json_begin(&in->out);
}

static SrStatus print_tensor_json(Inspect *in, int i) {
    const SrWeightsTensor *t = &in->w.tensors[i];
    char shape[SR_SHAPE_TEXT_BYTES];
    SrTensor data;
    SrTensorStats s;
    begin_entry(in);
    sr_json_string(&in->out, "name", t->name);
    sr_json_string(&in->out, "dtype", sr_dtype_name(t->dtype));
    sr_text_printf(&in->out, ", \"shape\": %s", sr_shape_text(t->shape, shape, sizeof shape));
    sr_json_int(&in->out, "bytes", (int64_t)t->bytes);
    if (in->stats) {
        SR_TRY(sr_weights_read(&in->w, i, &data));
        sr_tensor_stats(&data, &s);
        sr_json_float(&in->out, "min", s.min);
        sr_json_float(&in->out, "max", s.max);
        sr_json_float(&in->out, "mean", s.mean);
        sr_json_float(&in->out, "std", s.deviation);
        sr_json_float(&in->out, "norm", s.norm);
        sr_json_int(&in->out, "zeros", s.zeros);
        sr_json_int(&in->out, "nan", s.nan);
        sr_json_int(&in->out, "infinite", s.infinite);
    }
    sr_text_add(&in->out, "}");
    return SR_OK;
}

// Writes modules only: tensors have a list of their own.
static void module_json(Inspect *in, int i, size_t len, size_t start, int depth, int64_t numbers) {
    char name[1024];
    (void)start, (void)depth;
    if (numbers < 0)
        return;
    snprintf(name, sizeof name, "%.*s", (int)len, in->w.tensors[i].name);
    begin_entry(in);
    sr_json_string(&in->out, "name", name);
    sr_json_int(&in->out, "numbers", numbers);
    sr_text_add(&in->out, "}");
}

// Prints the JSON object.  A damaged file ends the list early, but the brackets are closed.
static SrStatus print_json(Inspect *in) {
    SrStatus status = SR_OK;
    print_head_json(in);
    if (in->tree) {
        begin_list(in, "modules");
        each_module(in, module_json);
        sr_text_add(&in->out, "]");
    }
    begin_list(in, "tensors");
    for (int i = 0; i < in->w.n && status == SR_OK; i++)
        if (is_wanted(in, i))
            status = print_tensor_json(in, i);
    sr_text_add(&in->out, status == SR_OK ? "]}\n" : "}]}\n");
    return status;
}

// ---- another model ----------------------------------------------------------------------------

// Compares the file with the tensors of a model.
static SrStatus print_as(Inspect *in) {
    SrTrunkGraph trunk;
    SR_TRY(sr_trunk_graph_open(in->as, NULL, 0, 1, IMAGE_SIDE, IMAGE_SIDE, &trunk));
    SrTrunkWeights source = sr_trunk_graph_weights(&trunk, in->w.path);
    sr_text_printf(&in->out, "%s as %s: ", in->w.path, in->as);
    SrStatus status = sr_trunk_weights_compare(&source, trunk.params, &in->out);
    if (status != SR_OK && !(in->out.s && strchr(in->out.s, '\n')))
        sr_text_add(&in->out, "refused\n");
    sr_trunk_graph_close(&trunk);
    return status;
}

// ---- the verb -----------------------------------------------------------------------------------

// Prints the configuration as YAML that loads again.
static SrStatus print_config(Inspect *in) {
    const char *text = sr_weights_meta(&in->w, "config");
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree;
    if (!text)
        SR_FAIL(SR_ERR_CONFIG, "%s holds no configuration", in->w.path);
    SrStatus status = sr_json_parse(&arena, text, strlen(text), in->w.path, &tree);
    if (status == SR_OK)
        sr_yaml_print(tree, &in->out);
    sr_arena_deinit(&arena);
    return status;
}

static SrStatus print_file(Inspect *in) {
    if (in->config)
        return print_config(in);
    if (in->as)
        return print_as(in);
    sr_naming_detect(&in->w, &in->naming);
    const char *writer = sr_weights_meta(&in->w, "written_by");
    if (writer && strcmp(in->naming.writer, "unknown") == 0) // features, not weights
        in->naming.writer = writer;
    if (in->stats)
        SR_TRY(verify(in));
    if (in->json) {
        SR_TRY(print_json(in));
    } else {
        print_head(in);
        if (in->tree)
            each_module(in, module_text);
    }
    for (int i = 0; !in->json && !in->tree && i < in->w.n; i++)
        if (is_wanted(in, i))
            SR_TRY(print_tensor(in, i));
    if (in->damaged)
        SR_FAIL(SR_ERR_CONFIG, "%s", in->checksums);
    return SR_OK;
}

// Adds what else the file can be asked, to what people read.
static void add_next(const Inspect *in, const char *name, SrText *next) {
    if (in->json || in->config || in->as)
        return;
    if (!in->stats)
        SR_NEXT(next, "reads the numbers: their range, and whether the file is whole", "inspect",
                name, "--stats");
    if (sr_weights_meta(&in->w, "config"))
        SR_NEXT(next, "prints the configuration that made the checkpoint", "inspect", name,
                "--config");
}

static const SrFlag flags[] = {
    SR_FLAG_ON(Inspect, stats, "--stats", "read the numbers: statistics, and verified checksums"),
    SR_FLAG_TEXT(Inspect, filter, "--filter", "GLOB", "show only matching names, with * and ?"),
    SR_FLAG_TEXT(Inspect, as, "--as", "MODEL",
                 "compare with a model's name or a configuration: used, missing, left over"),
    SR_FLAG_ON(Inspect, tree, "--tree", "list modules and the count of numbers in each"),
    SR_FLAG_ON(Inspect, config, "--config", "print the configuration that made a checkpoint"),
    SR_FLAG_ON(Inspect, json, "--json", "print one JSON object: file, metadata, modules, tensors"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Inspect in = {.stats = false};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &in, &args));
    SR_TRY(sr_args_no_overrides(&args, "inspect"));
    if (args.n_names != 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun inspect: no file is named; give a file of weights: "
                               ".safetensors, .pth, .npz or .npy");
    char path[4096]; // for a run folder its newest checkpoint
    SR_TRY(sr_folder_weights(args.names[0], path, sizeof path));
    SR_TRY(sr_weights_open(&in.w, path));
    SrText next = SR_TEXT_INIT;
    SrStatus status = print_file(&in);
    if (status == SR_OK)
        add_next(&in, args.names[0], &next);
    sr_weights_close(&in.w);
    // Facts found before a damaged place are printed; the error goes to stderr.
    char message[512];
    snprintf(message, sizeof message, "%.500s", sr_status_message());
    SR_TRY(sr_args_print(&in.out));
    sr_next_say(&next);
    return status == SR_OK ? SR_OK : sr_fail(status, "%s", message);
}

const SrVerb sr_verb_inspect = {
    .name = "inspect",
    .group = SR_VERB_FILES,
    .args = "FILE",
    .summary = "lists what a file of weights or features holds",
    .help = "FILE is .safetensors, .pth, .npz or .npy; a run folder means its newest checkpoint. "
            "The program that wrote it and the kind of trunk are recognised by the tensors' names. "
            "Without --stats no number is read, so that a file of any size opens at once.",
    .examples = {{"sslrun inspect runs/photos", "Lists format, writer, trunk and tensors."},
                 {"sslrun inspect runs/photos --stats --filter '*conv1*'",
                  "Prints statistics of some tensors."},
                 {"sslrun inspect trunk.pth --as photos.yaml",
                  "Compares the file with a model, tensor by tensor."},
                 {"sslrun inspect runs/photos --config", "Prints the configuration of the run."}},
    .exit = "0: done; 1: the file cannot be read; 2: wrong usage, a checksum is wrong, or the file "
            "is no complete set of weights for the model of --as.",
    .flags = flags,
    .run = run_verb,
};
