// sslrun graph TRUNK|CONFIG|RUN: prints the nodes of a trunk, by torchvision's names or with all
// details, or the part of the graph that an extraction keeps.
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/args/args.h"
#include "cli/args/tap_args.h"
#include "cli/next.h"
#include "cli/verb.h"
#include "graph/edit/extract.h"
#include "graph/ir/blocks.h"
#include "graph/ir/print.h"
#include "trainer/model/trunk_graph.h"

enum { RUN_PATH_BYTES = 4096 };

typedef struct {
    const char *mode, *leaf, *format;
    SrTapArgs nodes;
    int batch, size;
    bool stages;
} Options;

// Finds the place of `word` among n choices.
static SrStatus choose(const char *flag, const char *word, const char *const *choices, int n,
                       int *out) {
    SrText list = SR_TEXT_INIT;
    for (*out = 0; *out < n; ++*out) {
        if (strcmp(choices[*out], word) == 0) {
            sr_text_deinit(&list);
            return SR_OK;
        }
        sr_text_printf(&list, "%s%s", *out ? ", " : "", choices[*out]);
    }
    SrStatus status =
        sr_fail(SR_ERR_CONFIG, "%s %s: expected %s", flag, word, list.s ? list.s : "");
    sr_text_deinit(&list);
    return status;
}

static SrStatus parse_mode(const char *word, unsigned *out) {
    static const char *const names[] = {"train", "eval", "both"};
    int i;
    SR_TRY(choose("--mode", word, names, SR_COUNT(names), &i));
    *out = (unsigned)i + 1; // bits of SrMode
    return SR_OK;
}

static SrStatus parse_format(const char *word, SrGraphFormat *out) {
    static const char *const names[] = {"names", "tabular", "dot", "code", "json"};
    static const SrGraphFormat formats[] = {SR_GRAPH_LIST, SR_GRAPH_TABLE, SR_GRAPH_DOT,
                                            SR_GRAPH_CODE, SR_GRAPH_JSON};
    int i;
    SR_TRY(choose("--format", word, names, SR_COUNT(names), &i));
    *out = formats[i];
    return SR_OK;
}

// Parses the taps of one mode: its own list, else the list for both modes.
static SrStatus parse_taps(const char *own, const char *both, bool wanted, const SrGraph *graph,
                           const SrStrings *leaf, SrArena *arena, SrTaps *out, SrTaps **taps) {
    const char *text = own ? own : both;
    *taps = NULL;
    if (!wanted || !text)
        return SR_OK;
    SR_TRY(sr_taps_parse(text, arena, out));
    SR_TRY(sr_leaf_check_taps(graph, leaf, out));
    *taps = out;
    return SR_OK;
}

// Replaces *graph by the part that the taps need; without taps it stays.
static SrStatus extract(const Options *o, unsigned mode, const SrStrings *leaf, SrArena *arena,
                        const SrGraph **graph, SrExtraction *e) {
    SrTaps lists[2], *train, *eval;
    const SrTapArgs *nodes = &o->nodes;
    SrText report = SR_TEXT_INIT;
    SR_TRY(sr_tap_args_check(nodes));
    if (nodes->train) // two lists: both graphs are built, and one is shown
        mode = SR_MODE_BOTH;
    SR_TRY(parse_taps(nodes->train, nodes->both, mode & SR_MODE_TRAIN, *graph, leaf, arena,
                      &lists[0], &train));
    SR_TRY(parse_taps(nodes->eval, nodes->both, mode & SR_MODE_EVAL, *graph, leaf, arena, &lists[1],
                      &eval));
    if (!train && !eval)
        return SR_OK;
    SR_TRY(sr_graph_extract(*graph, train, eval, e));
    *graph = e->graph;
    sr_extraction_report(e, &report);
    sr_info("%s", report.s ? report.s : "");
    sr_text_deinit(&report);
    return SR_OK;
}

// Returns a whole-number option of the node; 0: its operation has no such option.
static int node_option(const SrNode *node, const char *name) {
    const SrOption *o = node->op ? sr_options_find(node->op->options, name) : NULL;
    return o && o->type == SR_OPT_INT ? *(const int *)((const char *)node->params + o->offset) : 0;
}

// Returns the factor by which a node divides the height of its input.  It is below 1 where
// windows are joined to a map again.
static double step_of(const SrNode *node, SrShape in) {
    int stride = node_option(node, "stride_h");
    if (stride > 0)
        return stride;
    if (sr_text_ends(node->op->name, "pool2d") && node_option(node, "kernel_h") > 0)
        return node_option(node, "kernel_h"); // PyTorch's default stride is the window
    if (strcmp(node->op->name, "conv2d") == 0 || in.rank != 4 || node->shape.rank != 4)
        return 1;
    if (strcmp(node->op->name, "merge_patches") == 0)
        return 2;
    int from = in.d[1], to = node->shape.d[1];
    return from >= to ? (from + to / 2) / to : 1.0 / ((to + from / 2) / from);
}

// Computes the product of strides from the input to each node, on the path with the largest
// product.
static SrStatus reductions(const SrGraph *graph, SrArena *arena, double **out) {
    int n = sr_graph_count(graph);
    double *step = sr_arena_alloc(arena, ((size_t)n + 1) * sizeof *step);
    SR_TRY_MEMORY(step, "the stages");
    for (SrNodeId id = 0; id < n; id++) {
        const SrNode *node = sr_graph_at(graph, id);
        step[id] = node->n_in ? 0 : 1;
        for (int i = 0; i < node->n_in; i++) {
            SrShape in = sr_graph_at(graph, node->in[i])->shape;
            step[id] = SR_MAX(step[id], step[node->in[i]] * step_of(node, in));
        }
    }
    *out = step;
    return SR_OK;
}

// Prints "INDEX NODE CHANNELS REDUCTION" per stage, as timm's feature_info; VISSL's names of stages
// also count as indices.
static SrStatus print_stages(const SrTrunkGraph *trunk, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    double *reduction = NULL;
    SrStatus status;
    SR_TRY_GOTO(reductions(trunk->graph, &arena, &reduction));
    for (int i = 0; i < sr_graph_alias_count(trunk->graph); i++) {
        SrNodeId id;
        const char *alias = sr_graph_alias_at(trunk->graph, i, &id);
        SrShape s = sr_graph_at(trunk->graph, id)->shape;
        sr_text_printf(out, "%-8s %-24s channels %-6d", alias, sr_graph_at(trunk->graph, id)->name,
                       sr_shape_last(s));
        if (s.rank == 4)
            sr_text_printf(out, " reduction %d", (int)(reduction[id] + 0.5));
        sr_text_add(out, "\n");
    }
done:
    sr_arena_deinit(&arena);
    return status;
}

// Reports how many names of torchvision's list cannot be tapped.
static void say_untappable(const SrGraph *graph) {
    int n = sr_graph_remark_count(graph), tensors = 0;
    for (int i = 0; i < n; i++)
        tensors += sr_graph_remark_at(graph, i)->is_tensor;
    if (n > 0)
        sr_info("%d of these names exist in torchvision only and cannot be tapped: %d parameters "
                "or steps inside one call, %d values that are not tensors (None); --format tabular "
                "marks them with '-'",
                n, tensors, n - tensors);
}

// Reports how the two modes differ, as a remark outside the list.
static SrStatus say_modes(const SrGraph *graph) {
    SrText text = SR_TEXT_INIT;
    SrStatus status = sr_graph_print_modes(graph, &text);
    if (status == SR_OK)
        sr_info("%.*s", (int)strcspn(text.s, "\n"), text.s);
    sr_text_deinit(&text);
    return status;
}

static SrStatus print_graph(const Options *o, const SrTrunkGraph *trunk, SrText *out) {
    SrArena arena = SR_ARENA_INIT;
    SrExtraction extraction = {.params = NULL};
    SrGraph *closed = NULL;
    const SrGraph *graph = trunk->graph;
    SrGraphFormat format;
    SrStrings leaf;
    SrStatus status;
    unsigned mode;
    SR_TRY_GOTO(parse_mode(o->mode, &mode));
    SR_TRY_GOTO(parse_format(o->format, &format));
    SR_TRY_GOTO(sr_leaf_parse(graph, o->leaf, &arena, &leaf));
    SR_TRY_GOTO(extract(o, mode, &leaf, &arena, &graph, &extraction));
    if (format != SR_GRAPH_JSON || strcmp(o->leaf, "default") != 0) { // JSON holds the whole graph
        SR_TRY_GOTO(sr_graph_close(graph, &leaf, &closed));
        graph = closed;
    }
    SR_TRY_GOTO(sr_graph_print_mode(graph, format, mode, out));
    if (format == SR_GRAPH_LIST)
        say_untappable(graph);
    if (mode == SR_MODE_BOTH && format == SR_GRAPH_LIST)
        SR_TRY_GOTO(say_modes(graph));
done:
    sr_graph_free(closed);
    sr_extraction_free(&extraction);
    sr_arena_deinit(&arena);
    return status;
}

// Names the batch and the size that shapes and costs assume, if the user did not choose them.
static void say_size(const Options *o) {
    if (strcmp(o->format, "tabular") == 0 || strcmp(o->format, "names") == 0)
        sr_info("the shapes are for %d image%s of %d x %d pixels (--batch and --size change them)",
                o->batch, o->batch == 1 ? "" : "s", o->size, o->size);
}

static void say_next(const SrArgs *args) {
    const char *words[SR_ARGS_MAX + 4];
    SrText next = SR_TEXT_INIT;
    int n = 0;
    words[n++] = "bench";
    words[n++] = args->names[0];
    for (int i = 0; i < args->n_overrides; i++)
        words[n++] = args->overrides[i];
    words[n++] = "--forward-only";
    words[n] = NULL;
    sr_next_add(&next, "times the features on this machine", words);
    sr_next_say(&next);
}

static SrStatus run_graph(const Options *given, const SrArgs *args) {
    SrTrunkGraph trunk;
    SrText out = SR_TEXT_INIT;
    Options sized = *given, *o = &sized;
    o->batch = o->batch ? o->batch : 1;
    o->size = o->size ? o->size : 224;
    SR_TRY(sr_trunk_graph_open(args->names[0], args->overrides, args->n_overrides, o->batch,
                               o->size, o->size, &trunk));
    SrStatus status = o->stages ? print_stages(&trunk, &out) : print_graph(o, &trunk, &out);
    if (status == SR_OK && !o->stages && !(given->batch && given->size))
        say_size(o);
    if (status == SR_OK)
        status = sr_args_print(&out);
    sr_text_deinit(&out);
    sr_trunk_graph_close(&trunk);
    if (status == SR_OK && (o->stages || strcmp(o->format, "names") == 0))
        say_next(args);
    return status;
}

static const SrFlag flags[] = {
    SR_FLAG_TEXT(Options, format, "--format", "FORM", "names, tabular, dot, code or json (names)"),
    SR_FLAG_TEXT(Options, nodes.both, "--nodes", "LIST",
                 "show only what these layers need, such as layer1,layer4:deep"),
    SR_FLAG_TEXT(Options, nodes.train, "--train-nodes", "LIST",
                 "layers of train mode, with --eval-nodes"),
    SR_FLAG_TEXT(Options, nodes.eval, "--eval-nodes", "LIST",
                 "layers of eval mode, with --train-nodes"),
    SR_FLAG_ON(Options, stages, "--stages", "list the stages by timm's indices and VISSL's names"),
    SR_FLAG_NUMBER(Options, batch, "--batch", "images (1)"),
    SR_FLAG_NUMBER(Options, size, "--size", "pixels per side (224)"),
    SR_FLAG_TEXT(Options, mode, "--mode", "MODE", "train, eval or both (eval)"),
    SR_FLAG_TEXT(Options, leaf, "--leaf", "LIST",
                 "default, through, or classes of blocks to show as one node"),
    {0}};

static SrStatus run_verb(int argc, char **argv) {
    Options o = {.mode = "eval", .leaf = "default", .format = "names"};
    SrArgs args;
    SR_TRY(sr_args_parse(argc, argv, flags, &o, &args));
    char config[RUN_PATH_BYTES];
    sr_args_take_config(&args);
    if (args.n_names != 1)
        SR_FAIL(SR_ERR_CONFIG,
                "sslrun graph: no trunk is named; give a model (resnet50), a YAML file or a run");
    // A run's trunk is that of the configuration in its folder.
    if (sr_file_join(config, sizeof config, args.names[0], "train_config.yaml") == SR_OK &&
        sr_file_exists(config))
        args.names[0] = config;
    return run_graph(&o, &args);
}

const SrVerb sr_verb_graph = {
    .name = "graph",
    .group = SR_VERB_FEATURES,
    .args = "TRUNK|CONFIG|RUN [KEY=VALUE ...]",
    .summary = "lists the layers of a trunk by torchvision's names",
    .help = "The forms tabular and json add shapes, parameters and costs of every node, which "
            "depend on --batch and --size; dot is for Graphviz.",
    .examples = {{"sslrun graph resnet50",
                  "Lists the layers that `sslrun extract --nodes` accepts."},
                 {"sslrun graph vit_b_16 --format tabular", "Prints shapes and costs."},
                 {"sslrun graph resnet18 --nodes layer2", "Shows what the layer needs."}},
    .flags = flags,
    .run = run_verb,
};
