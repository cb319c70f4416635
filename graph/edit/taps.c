// Parses lists of taps and looks them up.  extract.c cuts the graph down to them.
#include "graph/edit/taps.h"

#include <string.h>

static const char *const expected = "give layers as in layer1,layer4:deep";

// Parses "query" or "query:name".
static SrStatus parse_tap(char *word, SrTap *out) {
    word += strspn(word, " ");
    for (size_t len = strlen(word); len > 0 && word[len - 1] == ' '; len--)
        word[len - 1] = '\0';
    char *colon = strchr(word, ':');
    *out = (SrTap){.query = word, .name = word, .node = SR_NO_NODE};
    if (colon) {
        *colon = '\0';
        out->name = colon + 1;
    }
    if (!*out->query || !*out->name || strchr(out->name, ':'))
        SR_FAIL(SR_ERR_CONFIG, "a layer in the list has no name: %s", expected);
    return SR_OK;
}

static SrStatus check_new(const SrTaps *taps, const SrTap *tap) {
    for (int i = 0; i < taps->n; i++)
        if (strcmp(taps->v[i].name, tap->name) == 0)
            SR_FAIL(SR_ERR_CONFIG, "two outputs are called '%s'; rename one: %s:other_name",
                    tap->name, tap->query);
    return SR_OK;
}

SrStatus sr_taps_parse(const char *text, SrArena *arena, SrTaps *out) {
    size_t room = 1;
    for (const char *p = text; *p; p++)
        room += *p == ',';
    char *copy = sr_arena_strdup(arena, text), *rest = copy;
    *out = (SrTaps){0, sr_arena_alloc(arena, room * sizeof *out->v)};
    SR_TRY_MEMORY(copy && out->v, "a list of layers");
    if (strspn(text, " ") == strlen(text))
        SR_FAIL(SR_ERR_CONFIG, "the list of layers is empty: %s", expected);
    while (rest) {
        char *word = strsep(&rest, ",");
        SrTap tap;
        SR_TRY(parse_tap(word, &tap));
        SR_TRY(check_new(out, &tap));
        out->v[out->n++] = tap;
    }
    return SR_OK;
}

static const char *mode_name(unsigned mode) { return mode == SR_MODE_TRAIN ? "train" : "eval"; }

SrStatus sr_taps_find(const SrGraph *graph, SrMode mode, SrLayerNames first, SrTaps *taps) {
    for (int i = 0; i < taps->n; i++) {
        SrTap *tap = &taps->v[i];
        if (tap->node == SR_NO_NODE) {
            SR_TRY(sr_layer_find(graph, tap->query, mode, first, &tap->found));
            tap->node = tap->found.node;
        }
        if (sr_graph_at(graph, tap->node)->mode & mode)
            continue;
        SR_FAIL(SR_ERR_CONFIG,
                "layer '%s' exists only in %s mode, but %s mode is used; `sslrun graph %s --mode "
                "%s` lists the layers of this mode",
                tap->query, mode_name(SR_MODE_BOTH & ~(unsigned)mode), mode_name(mode),
                sr_graph_title(graph), mode_name(mode));
    }
    return SR_OK;
}

SrStatus sr__taps_copy(const SrTaps *from, SrArena *arena, SrTaps *to) {
    *to = (SrTaps){from ? from->n : 0, NULL};
    to->v = sr_arena_alloc(arena, ((size_t)to->n + 1) * sizeof *to->v);
    for (int i = 0; to->v && i < to->n; i++) {
        to->v[i] = from->v[i];
        to->v[i].query = sr_arena_strdup(arena, from->v[i].query);
        to->v[i].name = sr_arena_strdup(arena, from->v[i].name);
        if (!to->v[i].query || !to->v[i].name)
            to->v = NULL;
    }
    return to->v ? SR_OK : sr_out_of_memory("a list of layers");
}

void sr__taps_move(SrTaps *taps, const SrNodeId *map) {
    for (int i = 0; i < taps->n; i++)
        taps->v[i].node = map[taps->v[i].node];
}
