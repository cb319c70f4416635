// Runs the golden case checkpoint_layout: the keys of a VISSL checkpoint. The test writes a .torch
// file with the same keys (dimensions cut to 4, zeros as values), reads it through
// formats/weights/weights.h, and compares every key, type and shape. The trunk must be recognised
// as VISSL's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/file.h"
#include "base/text/text.h"
#include "formats/names/naming.h"
#include "formats/weights/save.h"
#include "formats/weights/weights.h"
#include "tests/golden/golden.h"

enum { MAX_ITEMS = 20000, CUT = 4 };

typedef struct {
    SrGoldenCase *c;
    SrSaveItem *items;
    int n;
    bool overflow;
} Layout;

static bool parse_dtype(const char *name, SrDtype *out) {
    static const char *const names[] = {
        [SR_F32] = "float32", [SR_F64] = "float64", [SR_F16] = "float16", [SR_BF16] = "bfloat16",
        [SR_I8] = "int8",     [SR_I16] = "int16",   [SR_I32] = "int32",   [SR_I64] = "int64",
        [SR_U8] = "uint8",    [SR_BOOL] = "bool"};
    for (int i = 0; i < SR_COUNT(names); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(name, names[i], len) != 0 || name[len] != ' ')
            continue;
        *out = (SrDtype)i;
        return true;
    }
    return false;
}

// Parses the description of a value: "tensor float32 [64, 3, 7, 7]", "int 11", "float 0.5", "bool
// True", "NoneType None", "str text".
static void parse_leaf(const char *text, SrSaveItem *item) {
    item->kind = SR_SAVE_TEXT;
    item->text = text;
    if (sr_text_starts(text, "tensor ") && parse_dtype(text + 7, &item->dtype)) {
        item->kind = SR_SAVE_TENSOR;
        for (const char *p = strchr(text, '['); p && p[1] != ']' && item->shape.rank < SR_MAX_RANK;
             p = strchr(p + 1, ','))
            item->shape.d[item->shape.rank++] = SR_MIN(atoi(p + 1), CUT);
    } else if (sr_text_starts(text, "int ")) {
        item->kind = SR_SAVE_INT;
        item->i = atoll(text + 4);
    } else if (sr_text_starts(text, "float ")) {
        item->kind = SR_SAVE_FLOAT;
        item->f = strtod(text + 6, NULL);
    } else if (sr_text_starts(text, "bool ")) {
        item->kind = SR_SAVE_BOOL;
        item->i = strcmp(text + 5, "True") == 0;
    } else if (sr_text_starts(text, "NoneType")) {
        item->kind = SR_SAVE_NONE;
    } else if (sr_text_starts(text, "str ")) {
        item->text = text + 4;
    }
}

static void collect(Layout *l, const char *path, const SrYaml *node) {
    if (node->type == SR_YAML_LIST)
        return; // lists in such a file hold no tensors
    for (int i = 0; node->type == SR_YAML_MAP && i < node->n; i++)
        collect(l, sr_arena_printf(l->c->arena, "%s%s%s", path, *path ? "/" : "", node->keys[i]),
                node->items[i]);
    bool empty = node->type == SR_YAML_MAP && node->n == 0;
    l->overflow |= l->n == MAX_ITEMS || !path;
    if (l->overflow || (node->type == SR_YAML_MAP && !empty))
        return;
    SrSaveItem *item = &l->items[l->n++];
    *item = (SrSaveItem){.name = path, .kind = SR_SAVE_DICT};
    if (!empty)
        parse_leaf(node->text, item);
}

static SrStatus read_zeros(void *arg, int i, const void **data) {
    static const double zeros[CUT * CUT * CUT * CUT * CUT * CUT];
    (void)arg;
    (void)i;
    *data = zeros;
    return SR_OK;
}

static SrStatus compare(Layout *l, const SrWeights *w) {
    int tensors = 0;
    for (int i = 0; i < l->n; i++) {
        const SrSaveItem *item = &l->items[i];
        char *name = sr_arena_strdup(l->c->arena, item->name);
        for (char *slash = name; slash && (slash = strchr(slash, '/'));)
            *slash = '.';
        if (!name)
            SR_FAIL(SR_ERR_MEMORY, "out of memory");
        if (item->kind != SR_SAVE_TENSOR) {
            if (item->kind != SR_SAVE_DICT && !sr_weights_meta(w, name))
                SR_FAIL(SR_ERR_RUN, "value '%s' was not read", name);
            continue;
        }
        tensors++;
        int at = sr_weights_find(w, name);
        if (at < 0 || w->tensors[at].dtype != item->dtype ||
            !sr_shape_equal(w->tensors[at].shape, item->shape))
            SR_FAIL(SR_ERR_RUN, "tensor '%s' was not read as it was written", name);
        SR_TRY(golden_number(l->c, name, w->tensors[at].shape.rank, item->shape.rank, 0));
    }
    return golden_number(l->c, "tensors", w->n, tensors, 0);
}

static SrStatus check_file(Layout *l, const char *path) {
    SrWeights w;
    SrNaming naming;
    SrSave save = {l->items, l->n, read_zeros, NULL};
    SR_TRY(sr_save(path, &save));
    SR_TRY(sr_weights_open(&w, path));
    SrStatus status = compare(l, &w);
    sr_naming_detect(&w, &naming);
    if (status == SR_OK && naming.kind != SR_TRUNK_UNKNOWN && strcmp(naming.writer, "VISSL") != 0)
        status = sr_fail(SR_ERR_RUN, "taken for a file of %s", naming.writer);
    sr_weights_close(&w);
    return status;
}

static SrStatus run_case(SrGoldenCase *c) {
    Layout l = {.c = c, .items = sr_arena_alloc(c->arena, MAX_ITEMS * sizeof(SrSaveItem))};
    const SrYaml *tree = sr_yaml_find(c->values, "tree");
    char dir[] = "/tmp/sslrun-layout-XXXXXX", path[64];
    if (!l.items || !tree || !mkdtemp(dir))
        SR_FAIL(SR_ERR_RUN, "no tree, or no temporary folder");
    collect(&l, "", tree);
    snprintf(path, sizeof path, "%s/x.torch", dir);
    SrStatus status =
        l.overflow ? sr_fail(SR_ERR_RUN, "more than %d values", MAX_ITEMS) : check_file(&l, path);
    unlink(path);
    rmdir(dir);
    return status;
}

const SrGolden sr_golden_checkpoint_layout = {.prefixes = {"checkpoint_layout"}, .run = run_case};
