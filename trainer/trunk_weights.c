// Strict loading of a trunk.
#include "trainer/trunk_weights.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "base/text.h"

enum { MAX_LISTED = 10000 };

// What precedes torchvision's name in the keys of files and in our tables.
static const char *const prefixes[] = {
    "", "trunk._feature_blocks.", "_feature_blocks.", "trunk.", "module.", "model.",
    "module.trunk._feature_blocks.", "base_model.trunk._feature_blocks.",
};

typedef struct {
    const SrTrunkWeights *source;
    SrParams *whole, *params;
    SrSafetensors st;
    const char *prefix; // of the file's keys
    bool *used;         // (st.n)
    SrText missing, unexpected, misshapen;
    int n_missing, n_unexpected, n_misshapen;
} Load;

// A table entry's torchvision name.
static const char *bare_name(const char *name) {
    const char *vissl = "trunk._feature_blocks.";
    if (sr_text_starts(name, vissl))
        return name + strlen(vissl);
    return sr_text_starts(name, "trunk.") ? name + strlen("trunk.") : name;
}

static bool is_classifier(const Load *l, const char *bare) {
    const char *c = l->source->classifier;
    return c && sr_text_starts(bare, c) && bare[strlen(c)] == '.';
}

// prefix + bare, in a buffer that the next call reuses; NULL if it cannot be a key.
static const char *key_of(char *buffer, size_t bytes, const char *prefix, const char *bare) {
    int n = snprintf(buffer, bytes, "%s%s", prefix, bare);
    return n > 0 && (size_t)n < bytes ? buffer : NULL;
}

static int find_key(const Load *l, const char *prefix, const char *bare) {
    char buffer[1024];
    const char *key = key_of(buffer, sizeof buffer, prefix, bare);
    for (int i = 0; key && i < l->st.n; i++)
        if (strcmp(l->st.tensors[i].name, key) == 0)
            return i;
    return -1;
}

static SrStatus choose_prefix(Load *l) {
    int best = 0;
    for (int k = 0; k < SR_COUNT(prefixes); k++) {
        int matches = 0;
        for (int i = 0; i < sr_params_count(l->whole); i++)
            matches += find_key(l, prefixes[k], bare_name(sr_params_at(l->whole, i)->name)) >= 0;
        if (matches > best) {
            best = matches;
            l->prefix = prefixes[k];
        }
    }
    if (best > 0)
        return SR_OK;
    return sr_fail(SR_ERR_CONFIG, "%s: none of its %d tensors belongs to this trunk (the first is '%s', the trunk's "
                   "is '%s'); `sslrun inspect` lists them", l->source->path, l->st.n,
                   l->st.n ? l->st.tensors[0].name : "none", bare_name(sr_params_at(l->whole, 0)->name));
}

SR_PRINTF(3, 4) static void note(SrText *list, int *n, const char *fmt, ...) {
    char line[1200];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (++*n <= MAX_LISTED)
        sr_text_printf(list, "%s%s", *n > 1 ? ", " : "", line);
}

// One entry of the whole trunk against the file; its value goes to the entry of that name that is wanted, if any.
static void load_entry(Load *l, const SrParam *p) {
    const char *bare = bare_name(p->name);
    int key = find_key(l, l->prefix, bare), to = sr_params_find(l->params, p->name);
    char a[SR_SHAPE_TEXT_BYTES], b[SR_SHAPE_TEXT_BYTES];
    if (key < 0) {
        bool may = sr_text_ends(bare, "num_batches_tracked") || (to < 0 && is_classifier(l, bare));
        if (!may)
            note(&l->missing, &l->n_missing, "%s%s", l->prefix, bare);
        return;
    }
    const SrTensor *t = &l->st.tensors[key].tensor;
    l->used[key] = true;
    if (!sr_shape_equal(t->shape, p->shape) || t->dtype != p->dtype) {
        note(&l->misshapen, &l->n_misshapen, "%s (%s %s in the file, %s %s here)", l->st.tensors[key].name,
             sr_dtype_name(t->dtype), sr_shape_text(t->shape, a, sizeof a), sr_dtype_name(p->dtype),
             sr_shape_text(p->shape, b, sizeof b));
        return;
    }
    if (to >= 0)
        memcpy(sr_params_at(l->params, to)->value, t->data, (size_t)sr_shape_count(t->shape) * sr_dtype_bytes(t->dtype));
}

// Keys under another prefix are somebody else's: heads, losses, optimisers of a whole checkpoint.
static void note_unexpected(Load *l) {
    bool classifier_known = false;
    for (int i = 0; i < sr_params_count(l->whole); i++)
        classifier_known |= is_classifier(l, bare_name(sr_params_at(l->whole, i)->name));
    for (int i = 0; i < l->st.n; i++) {
        const char *name = l->st.tensors[i].name;
        if (l->used[i] || !sr_text_starts(name, l->prefix))
            continue;
        if (classifier_known || !is_classifier(l, name + strlen(l->prefix)))
            note(&l->unexpected, &l->n_unexpected, "%s", name);
    }
}

static void add_list(SrText *out, const char *what, int n, const SrText *list) {
    if (n > 0)
        sr_text_printf(out, "%s%d %s: %s%s", out->len ? "; " : "", n, what, list->s ? list->s : "",
                       n > MAX_LISTED ? ", ..." : "");
}

// The lists are longer than a status message may be, so they go to the log whole and the message counts.
static SrStatus report(Load *l) {
    bool bad = l->n_misshapen > 0 || (!l->source->lax && l->n_missing + l->n_unexpected > 0);
    SrText lists = SR_TEXT_INIT;
    add_list(&lists, "missing", l->n_missing, &l->missing);
    add_list(&lists, "unexpected", l->n_unexpected, &l->unexpected);
    add_list(&lists, "of another shape or type", l->n_misshapen, &l->misshapen);
    SrStatus status = SR_OK;
    if (bad && lists.len < 3500)
        status = sr_fail(SR_ERR_CONFIG, "%s does not fit the trunk (--lax ignores missing and unexpected): %s",
                         l->source->path, lists.s);
    else if (bad)
        status = sr_fail(SR_ERR_CONFIG, "%s does not fit the trunk: %d tensors are missing, %d unexpected, %d of "
                         "another shape or type (--lax ignores the first two)", l->source->path, l->n_missing,
                         l->n_unexpected, l->n_misshapen);
    if (lists.len > 0 && (!bad || lists.len >= 3500))
        fprintf(stderr, "%s: %s\n", l->source->path, lists.s);
    sr_text_deinit(&lists);
    return status;
}

static SrStatus load(Load *l) {
    l->used = sr_arena_alloc(&l->st.arena, (size_t)l->st.n + 1);
    if (!l->used)
        return sr_fail(SR_ERR_MEMORY, "%s: out of memory", l->source->path);
    SR_TRY(sr_params_allocate(l->params));
    SR_TRY(choose_prefix(l));
    for (int i = 0; i < sr_params_count(l->whole); i++)
        load_entry(l, sr_params_at(l->whole, i));
    note_unexpected(l);
    return report(l);
}

SrStatus sr_trunk_weights_load(const SrTrunkWeights *source, SrParams *whole, SrParams *params) {
    Load l = {.source = source, .whole = whole, .params = params};
    SR_TRY(sr_safetensors_open(&l.st, source->path));
    SrStatus status = load(&l);
    sr_text_deinit(&l.missing);
    sr_text_deinit(&l.unexpected);
    sr_text_deinit(&l.misshapen);
    sr_safetensors_close(&l.st);
    return status;
}
