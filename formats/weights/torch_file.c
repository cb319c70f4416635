// Reads PyTorch's files.  TorchScript archives are refused because of the globals that they name.
//
// The tree of values becomes a flat list: tensors under keys joined by dots, other values as text.
#include "formats/weights/torch_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/pickle.h"
#include "formats/weights/pickle_globals.h"
#include "formats/weights/weights_table.h"

enum {
    MAX_DEPTH = 32,
    MORE_VISITS = 20000, // visits beyond one per byte: shared parts are visited once per path
    LISTED = 8,          // items of a list that are shown as text
    MAX_PATH = 1024,
};

static const uint8_t magic[] = {0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46,
                                0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, '.'};

typedef struct {
    SrWeights *w;
    int tensors_cap, meta_cap;
    size_t visits;
    char path[MAX_PATH]; // keys from the root to here
} Flatten;

// ---- the tree as a list -------------------------------------------------------------------------

static void scalar_text(const SrPickleValue *v, SrText *out) {
    switch (v->kind) {
    case SR_PICKLE_NONE: sr_text_add(out, "None"); break;
    case SR_PICKLE_BOOL: sr_text_add(out, v->i ? "True" : "False"); break;
    case SR_PICKLE_INT: sr_text_printf(out, "%" PRId64, v->i); break;
    case SR_PICKLE_FLOAT: sr_text_printf(out, "%.17g", v->f); break;
    case SR_PICKLE_TEXT: sr_text_printf(out, "%.4000s", v->text); break;
    case SR_PICKLE_GLOBAL: sr_text_add(out, sr_pickle_global_name(v->global)); break;
    default: sr_text_add(out, "[...]"); break; // a storage that no tensor uses
    }
}

static SrStatus add_text(Flatten *f, SrText *text) {
    SrArena *arena = &f->w->arena;
    char *key = sr_arena_strdup(arena, f->path);
    char *value = text->s ? sr_arena_strdup(arena, text->s) : NULL;
    SrStatus status = sr__weights_add_meta(f->w, &f->meta_cap, key, value);
    sr_text_deinit(text);
    return status;
}

static SrStatus add_list_text(Flatten *f, const SrPickleValue *list) {
    SrText text = SR_TEXT_INIT;
    sr_text_add(&text, "[");
    for (int i = 0; i < SR_MIN(list->n, LISTED); i++) {
        sr_text_add(&text, i ? ", " : "");
        scalar_text(list->items[i], &text);
    }
    if (list->n > LISTED)
        sr_text_printf(&text, ", ... %d items", list->n);
    sr_text_add(&text, "]");
    return add_text(f, &text);
}

static SrStatus bad_tensor(const Flatten *f, const char *what) {
    SR_FAIL(SR_ERR_CONFIG, "%s: tensor '%.200s': %s", f->w->path, f->path, what);
}

// Checks that the last element of a tensor lies inside its storage.
static SrStatus check_extent(const Flatten *f, const SrPickleTensor *t) {
    int64_t last = t->offset, step;
    bool empty = false;
    for (int i = 0; i < t->rank; i++) {
        if (t->sizes[i] < 0 || t->sizes[i] > INT32_MAX || t->strides[i] < 0)
            return bad_tensor(f, "a size or stride that is negative or beyond 2^31");
        empty |= t->sizes[i] == 0;
        if (t->sizes[i] > 1 && (__builtin_mul_overflow(t->sizes[i] - 1, t->strides[i], &step) ||
                                __builtin_add_overflow(last, step, &last)))
            return bad_tensor(f, "sizes and strides that overflow");
    }
    if (t->offset < 0 || (!empty && last >= t->storage->storage->count))
        return bad_tensor(f, "reaches beyond the end of its storage");
    return SR_OK;
}

static SrStatus add_tensor(Flatten *f, const SrPickleTensor *t) {
    const SrPickleStorage *s = t->storage->storage;
    SrWeightsTensor out = {.dtype = s->dtype};
    SR_TRY(check_extent(f, t));
    out.name = sr_arena_strdup(&f->w->arena, f->path);
    if (!out.name)
        return sr_arena_failure(&f->w->arena, f->w->path);
    out.shape.rank = t->rank;
    for (int i = 0; i < t->rank; i++) {
        out.shape.d[i] = (int)t->sizes[i];
        out.strides[i] = t->strides[i];
    }
    SR_TRY(sr__weights_measure(f->w, &out));
    if (out.bytes > 0) {
        if (!s->data)
            return bad_tensor(f, "its storage is not in the file");
        out.data = s->data + (size_t)t->offset * sr_dtype_bytes(s->dtype);
    }
    return sr__weights_add(f->w, &f->tensors_cap, &out);
}

static bool is_plain_list(const SrPickleValue *v) {
    for (int i = 0; i < v->n; i++) {
        SrPickleKind kind = v->items[i]->kind;
        if (kind == SR_PICKLE_LIST || kind == SR_PICKLE_DICT || kind == SR_PICKLE_TENSOR)
            return false;
    }
    return true;
}

static SrStatus flatten(Flatten *f, const SrPickleValue *v, int depth);

// Appends ".key" to the path, visits v, and restores the path.
static SrStatus flatten_child(Flatten *f, const SrPickleValue *key, int index,
                              const SrPickleValue *v, int depth) {
    size_t len = strlen(f->path), room = MAX_PATH - len;
    const char *dot = len ? "." : "";
    int need;
    if (!key)
        need = snprintf(f->path + len, room, "%s%d", dot, index);
    else if (key->kind == SR_PICKLE_TEXT)
        need = snprintf(f->path + len, room, "%s%s", dot, key->text);
    else if (key->kind == SR_PICKLE_INT)
        need = snprintf(f->path + len, room, "%s%" PRId64, dot, key->i);
    else
        SR_FAIL(SR_ERR_CONFIG, "%s: a key below '%.200s' is neither text nor a number", f->w->path,
                f->path);
    if (need < 0 || (size_t)need >= room)
        SR_FAIL(SR_ERR_CONFIG, "%s: a name of more than %d bytes", f->w->path, MAX_PATH);
    SrStatus status = flatten(f, v, depth + 1);
    f->path[len] = '\0';
    return status;
}

static SrStatus flatten(Flatten *f, const SrPickleValue *v, int depth) {
    SrText text = SR_TEXT_INIT;
    if (depth > MAX_DEPTH || ++f->visits > f->w->file_bytes + MORE_VISITS)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: nested deeper than %d levels, or more values than its bytes can hold",
                f->w->path, MAX_DEPTH);
    if (v->kind == SR_PICKLE_TENSOR)
        return add_tensor(f, v->tensor);
    if (v->kind == SR_PICKLE_LIST && is_plain_list(v))
        return add_list_text(f, v);
    if (v->kind == SR_PICKLE_LIST) {
        for (int i = 0; i < v->n; i++)
            SR_TRY(flatten_child(f, NULL, i, v->items[i], depth));
        return SR_OK;
    }
    if (v->kind == SR_PICKLE_DICT) {
        for (int i = 0; i + 1 < v->n; i += 2)
            SR_TRY(flatten_child(f, v->items[i], 0, v->items[i + 1], depth));
        return SR_OK;
    }
    scalar_text(v, &text);
    if (!text.s)
        sr_text_add(&text, " ");
    return add_text(f, &text);
}

static SrStatus flatten_root(SrWeights *w, const SrPickleValue *root) {
    Flatten *f = sr_calloc(1, sizeof *f);
    if (!f)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", w->path);
    f->w = w;
    SrStatus status = flatten(f, root, 0);
    sr_free(f);
    return status;
}

static SrStatus storage_bytes(const SrWeights *w, const SrPickleStorage *s, uint64_t *bytes) {
    if (__builtin_mul_overflow((uint64_t)s->count, (uint64_t)sr_dtype_bytes(s->dtype), bytes))
        SR_FAIL(SR_ERR_CONFIG, "%s: storage '%.80s' claims an impossible number of elements",
                w->path, s->key);
    return SR_OK;
}

// ---- zip ----------------------------------------------------------------------------------------

// Finds data.pkl, which lies in a folder named after the saved file, and storages in
// "<folder>/data/".
static const SrZipEntry *find_pickle(const SrWeights *w, size_t *folder) {
    for (int i = 0; i < w->zip.n; i++) {
        const char *name = w->zip.entries[i].name, *slash = strrchr(name, '/');
        *folder = slash ? (size_t)(slash + 1 - name) : 0;
        if (strcmp(name + *folder, "data.pkl") == 0)
            return &w->zip.entries[i];
    }
    return NULL;
}

static SrStatus find_storage(const SrWeights *w, const char *prefix, int prefix_len,
                             SrPickleStorage *s) {
    char name[MAX_PATH];
    uint64_t bytes = 0;
    SR_TRY(storage_bytes(w, s, &bytes));
    snprintf(name, sizeof name, "%.*sdata/%.200s", prefix_len, prefix, s->key);
    const SrZipEntry *e = sr_zip_find(&w->zip, name);
    if (!e)
        SR_FAIL(SR_ERR_CONFIG, "%s: storage '%.200s' is not in the archive", w->path, name);
    if (e->deflated || e->bytes < bytes)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: storage '%.200s' has %" PRIu64 " bytes%s, its tensors need %" PRIu64, w->path,
                name, e->bytes, e->deflated ? " compressed" : "", bytes);
    s->data = e->data;
    return SR_OK;
}

SrStatus sr__torch_zip_open(SrWeights *w) {
    size_t folder = 0, used = 0;
    SrPickleValue *root = NULL;
    SrPickle p = {.arena = &w->arena, .path = w->path};
    const SrZipEntry *e = find_pickle(w, &folder);
    w->format = SR_WEIGHTS_TORCH;
    if (!e || e->deflated)
        SR_FAIL(SR_ERR_CONFIG, "%s: data.pkl is compressed, but torch.save stores it uncompressed",
                w->path);
    if (folder > MAX_PATH / 2)
        SR_FAIL(SR_ERR_CONFIG, "%s: a folder name of %zu bytes", w->path, folder);
    SR_TRY(sr_pickle_read(&p, e->data, (size_t)e->bytes, &used, &root));
    for (int i = 0; i < p.n_storages; i++)
        SR_TRY(find_storage(w, e->name, (int)folder, p.storages[i]->storage));
    return flatten_root(w, root);
}

// ---- legacy -------------------------------------------------------------------------------------

bool sr__torch_is_legacy(const void *map, size_t bytes) {
    return bytes >= sizeof magic && memcmp(map, magic, sizeof magic) == 0;
}

static int by_key(const void *a, const void *b) {
    const SrPickleValue *const *x = a, *const *y = b;
    return strcmp((*x)->storage->key, (*y)->storage->key);
}

// Returns the first index of `key` among the sorted storages; p->n_storages: no such key.
static int find_key(const SrPickle *p, const char *key) {
    int low = 0, high = p->n_storages;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(p->storages[middle]->storage->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Reads the storages after the pickles: for each key, an element count of 8 bytes and the elements.
static SrStatus place_storages(const SrWeights *w, SrPickle *p, const SrPickleValue *keys,
                               size_t at) {
    const uint8_t *map = w->map;
    if (keys->kind != SR_PICKLE_LIST)
        SR_FAIL(SR_ERR_CONFIG, "%s: damaged: no list of storages", w->path);
    if (p->n_storages > 1)
        qsort(p->storages, (size_t)p->n_storages, sizeof(SrPickleValue *), by_key);
    for (int k = 0; k < keys->n; k++) {
        const char *key = keys->items[k]->kind == SR_PICKLE_TEXT ? keys->items[k]->text : "";
        int i = find_key(p, key);
        int64_t count;
        uint64_t bytes = 0;
        if (i == p->n_storages || strcmp(p->storages[i]->storage->key, key) != 0)
            SR_FAIL(SR_ERR_CONFIG, "%s: damaged: storage '%.80s' belongs to no tensor", w->path,
                    key);
        SrPickleStorage *s = p->storages[i]->storage;
        SR_TRY(storage_bytes(w, s, &bytes));
        if (w->file_bytes - at < 8 || w->file_bytes - at - 8 < bytes)
            SR_FAIL(SR_ERR_CONFIG, "%s: storage '%.80s' lies beyond the end (truncated?)", w->path,
                    key);
        memcpy(&count, map + at, 8);
        if (count != s->count)
            SR_FAIL(SR_ERR_CONFIG, "%s: storage '%.80s' has %" PRId64 " elements, not %" PRId64,
                    w->path, key, count, s->count);
        for (; i < p->n_storages && strcmp(p->storages[i]->storage->key, key) == 0; i++) {
            if (p->storages[i]->storage->count != s->count ||
                p->storages[i]->storage->dtype != s->dtype)
                SR_FAIL(SR_ERR_CONFIG, "%s: two tensors disagree about storage '%.80s'", w->path,
                        key);
            p->storages[i]->storage->data = map + at + 8;
        }
        at += 8 + (size_t)bytes;
    }
    return SR_OK;
}

SrStatus sr__torch_legacy_open(SrWeights *w) {
    SrPickle p = {.arena = &w->arena, .path = w->path};
    SrPickleValue *parts[5] = {NULL}; // magic, protocol, system, the object, storage keys
    const uint8_t *map = w->map;
    size_t at = 0;
    w->format = SR_WEIGHTS_TORCH_LEGACY;
    for (int i = 0; i < SR_COUNT(parts); i++) {
        size_t used = 0;
        SR_TRY(sr_pickle_read(&p, map + at, w->file_bytes - at, &used, &parts[i]));
        at += used;
    }
    if (parts[1]->kind != SR_PICKLE_INT || parts[1]->i != 1001)
        SR_FAIL(SR_ERR_CONFIG, "%s: the file has PyTorch's old format, but not version 1001",
                w->path);
    SR_TRY(place_storages(w, &p, parts[4], at));
    return flatten_root(w, parts[3]);
}
