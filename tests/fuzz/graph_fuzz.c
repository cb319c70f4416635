// Fuzz target of libFuzzer over queries, lists of layers, lists of blocks and graphs as JSON.
// `make fuzz` runs it under the sanitizers; the tests run it over the corpus (test_graph_fuzz.c).
//
// The checks are: a name that is found belongs to a node of that name or below it, an
// extraction keeps what was requested, a closed block opens to the same graph, and a parsed text
// prints the same again.
#include "tests/fuzz/graph_fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/edit/extract.h"
#include "graph/edit/surgery.h"
#include "graph/ir/blocks.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph_json.h"
#include "graph/ir/print.h"
#include "trunks/presets.h"

#define REQUIRE(condition)                                                               \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: %s is false (%s)\n", __FILE__, __LINE__, #condition, \
                    sr_status_message());                                                \
            abort();                                                                     \
        }                                                                                \
    } while (0)

typedef struct {
    SrParams *params;
    SrGraph *graph;
} Fixture;

static Fixture begin(void) {
    Fixture f;
    SrBuilder *b;
    SrNodeId last;
    REQUIRE(sr_params_new(&f.params) == SR_OK);
    REQUIRE(sr_graph_new(f.params, &f.graph) == SR_OK);
    REQUIRE(sr_builder_new(f.graph, &b) == SR_OK);
    SrNodeId x = sr_build_input(b, "x", SR_SHAPE(1, 32, 32, 3), SR_F32);
    const SrPreset *preset;
    REQUIRE(sr_preset_find("resnet18", &preset) == SR_OK);
    REQUIRE(sr_preset_build(preset, b, x, &last) == SR_OK);
    sr_builder_free(b);
    return f;
}

static void end(Fixture f) {
    sr_graph_free(f.graph);
    sr_params_free(f.params);
}

static char *text_of(const SrGraph *graph, SrGraphFormat format) {
    SrText text = SR_TEXT_INIT;
    REQUIRE(sr_graph_print(graph, format, &text) == SR_OK);
    return text.s ? text.s : sr_strdup("");
}

static void fuzz_query(const char *text) {
    Fixture f = begin();
    SrNodeId id;
    SrChain chain;
    if (sr_layer_node(f.graph, text, SR_NAMES_NODES, &id) == SR_OK)
        REQUIRE(id >= 0 && id < sr_graph_count(f.graph));
    if (sr_graph_find_chain(f.graph, text, 0, &chain) == SR_OK)
        REQUIRE(chain.n >= 0 && chain.n <= SR_CHAIN_MAX);
    sr_graph_tag(f.graph, text, 1);
    end(f);
}

static void fuzz_taps(const char *text) {
    Fixture f = begin();
    SrArena arena = SR_ARENA_INIT;
    SrTaps taps;
    SrExtraction e;
    if (sr_taps_parse(text, &arena, &taps) == SR_OK &&
        sr_graph_extract(f.graph, NULL, &taps, &e) == SR_OK) {
        REQUIRE(e.eval.n == taps.n);
        for (int i = 0; i < taps.n; i++)
            REQUIRE(strcmp(e.eval.v[i].name, taps.v[i].name) == 0);
        REQUIRE(e.after.nodes <= e.before.nodes && e.after.flops <= e.before.flops);
        sr_extraction_free(&e);
    }
    sr_arena_deinit(&arena);
    end(f);
}

static void fuzz_leaf(const char *text) {
    Fixture f = begin();
    SrArena arena = SR_ARENA_INIT;
    SrStrings leaf;
    SrGraph *closed, *open;
    if (sr_leaf_parse(f.graph, text, &arena, &leaf) == SR_OK &&
        sr_graph_close(f.graph, &leaf, &closed) == SR_OK) {
        REQUIRE(sr_graph_inline(closed, SR_NO_NODE, &open) == SR_OK);
        char *a = text_of(f.graph, SR_GRAPH_TABLE), *b = text_of(open, SR_GRAPH_TABLE);
        REQUIRE(strcmp(a, b) == 0);
        sr_free(a);
        sr_free(b);
        sr_graph_free(closed);
        sr_graph_free(open);
    }
    sr_arena_deinit(&arena);
    end(f);
}

static void fuzz_json(const char *text, size_t bytes) {
    SrParams *params, *again_params;
    SrGraph *graph, *again;
    REQUIRE(sr_params_new(&params) == SR_OK && sr_params_new(&again_params) == SR_OK);
    if (sr_graph_parse(text, bytes, "fuzz", params, &graph) == SR_OK) {
        char *once = text_of(graph, SR_GRAPH_JSON);
        REQUIRE(sr_graph_parse(once, strlen(once), "again", again_params, &again) == SR_OK);
        char *twice = text_of(again, SR_GRAPH_JSON);
        REQUIRE(strcmp(once, twice) == 0);
        sr_free(once);
        sr_free(twice);
        sr_graph_free(graph);
        sr_graph_free(again);
    }
    sr_params_free(params);
    sr_params_free(again_params);
}

int graph_fuzz(const uint8_t *data, size_t bytes) {
    if (bytes < 1 || bytes > 1 << 16)
        return 0;
    char *text = sr_alloc(bytes);
    REQUIRE(text);
    memcpy(text, data + 1, bytes - 1);
    text[bytes - 1] = '\0';
    switch (data[0] % 4) {
    case 0: fuzz_query(text); break;
    case 1: fuzz_taps(text); break;
    case 2: fuzz_leaf(text); break;
    default: fuzz_json(text, bytes - 1); break;
    }
    sr_free(text);
    return 0;
}

#ifdef SR_FUZZ_ENTRY
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) { return graph_fuzz(data, bytes); }
#endif
