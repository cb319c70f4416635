// Finds the pieces of a set of features by the names that `sslrun extract`, VISSL and NumPy give
// them.
#include "trainer/eval/extract/feature_files_internal.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text/text.h"
#include "formats/weights/weights.h"

enum { MAX_LAYERS = 64 };

// ---- which layer --------------------------------------------------------------------------------

typedef struct {
    char name[MAX_LAYERS][256];
    int n;
} Layers;

static void add_layer(Layers *l, const char *s, size_t len) {
    for (int i = 0; i < l->n; i++)
        if (strlen(l->name[i]) == len && strncmp(l->name[i], s, len) == 0)
            return;
    if (l->n < MAX_LAYERS && len > 0 && len < sizeof l->name[0])
        snprintf(l->name[l->n++], sizeof l->name[0], "%.*s", (int)len, s);
}

// Chooses the layer asked for, or the only one.
static SrStatus choose_layer(SrFeaturePieces *l, const Layers *layers) {
    const char *path = l->from->path, *wanted = l->from->layer;
    const char *names[MAX_LAYERS];
    SrText all = SR_TEXT_INIT;
    for (int i = 0; i < layers->n; i++) {
        names[i] = layers->name[i];
        sr_text_printf(&all, "%s%s", i ? ", " : "", names[i]);
        if (layers->n == 1 ? !wanted : false)
            wanted = names[i];
        if (wanted && strcmp(wanted, names[i]) == 0)
            l->layer = sr_arena_printf(&l->arena, "%s", names[i]);
    }
    SrStatus status = SR_OK;
    if (!wanted)
        status = sr_fail(SR_ERR_CONFIG, "%s holds several layers: choose one with --layer: %s",
                         path, all.s);
    else if (!l->layer) {
        int near = sr_text_nearest(wanted, names, layers->n);
        status = sr_fail(SR_ERR_CONFIG, "%s has no layer '%s'%s%s%s; it has: %s", path, wanted,
                         near >= 0 ? "; did you mean '" : "", near >= 0 ? names[near] : "",
                         near >= 0 ? "'?" : "", all.s);
    }
    sr_text_deinit(&all);
    return status;
}

// True for tensors that describe the images and are no features.
bool sr__feature_is_labels(const char *name) {
    static const char *const names[] = {"labels", "targets", "label", "target", "y"};
    for (int i = 0; i < SR_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool is_layer(const char *name) {
    return !sr__feature_is_labels(name) && strcmp(name, "valid") != 0 &&
           strcmp(name, "inds") != 0 && strcmp(name, "files") != 0 && strcmp(name, "classes") != 0;
}

// ---- which files --------------------------------------------------------------------------------

static char *in_folder(SrFeaturePieces *l, const char *name) {
    return sr_arena_printf(&l->arena, "%s/%s", l->from->path, name);
}

// Returns the path of a file of the folder, "" if it does not exist.
static char *beside(SrFeaturePieces *l, const char *fmt, const char *a, const char *b) {
    char *path = in_folder(l, sr_arena_printf(&l->arena, fmt, a, b));
    return path && sr_file_exists(path) ? path : "";
}

static SrStatus add_piece(SrFeaturePieces *l, SrFeaturePiece piece) {
    if (!l->pieces)
        l->pieces = sr_arena_alloc(&l->arena, sizeof piece * (size_t)(l->n_names + 1));
    SR_TRY_MEMORY(l->pieces && piece.features, "%s", l->from->path);
    l->pieces[l->n++] = piece;
    return SR_OK;
}

// Returns the length of the stem of "flatten-00000.npy"; 0: another name.
static size_t npy_stem(const char *name) {
    size_t len = strlen(name);
    if (len <= 10 || !sr_text_glob("*-?????.npy", name) ||
        strspn(name + len - 9, "0123456789") != 5)
        return 0;
    return len - 10;
}

static SrStatus find_npy(SrFeaturePieces *l) {
    Layers layers = {.n = 0};
    for (int i = 0; i < l->n_names; i++) {
        char stem[256];
        snprintf(stem, sizeof stem, "%.*s", (int)npy_stem(l->names[i]), l->names[i]);
        if (is_layer(stem))
            add_layer(&layers, stem, strlen(stem));
    }
    if (layers.n == 0)
        return SR_OK;
    SR_TRY(choose_layer(l, &layers));
    for (int i = 0; i < l->n_names; i++) {
        const char *name = l->names[i], *shard = name + npy_stem(name);
        if (npy_stem(name) == strlen(l->layer) && sr_text_starts(name, l->layer))
            SR_TRY(add_piece(l, (SrFeaturePiece){in_folder(l, name),
                                                 beside(l, "labels%s%s", shard, ""), "",
                                                 beside(l, "valid%s%s", shard, ""),
                                                 beside(l, "files%s%s", shard, ""),
                                                 beside(l, "classes.npy%s%s", "", "")}));
    }
    return SR_OK;
}

// Finds the layer in "rank0_chunk0_train_res5_features.npy".
static bool vissl_name(const char *name, const char *split, const char **layer, size_t *len) {
    char pattern[64];
    snprintf(pattern, sizeof pattern, "rank*_chunk*_%s_*_features.npy", split);
    if (!sr_text_glob(pattern, name))
        return false;
    snprintf(pattern, sizeof pattern, "_%s_", split);
    *layer = strstr(name, pattern) + strlen(pattern);
    *len = strlen(*layer) - strlen("_features.npy");
    return true;
}

static SrStatus find_vissl(SrFeaturePieces *l) {
    Layers layers = {.n = 0};
    const char *at;
    size_t len;
    for (int i = 0; i < l->n_names; i++)
        if (vissl_name(l->names[i], l->from->split, &at, &len))
            add_layer(&layers, at, len);
    if (layers.n == 0)
        return SR_OK;
    SR_TRY(choose_layer(l, &layers));
    l->by_split = true;
    for (int i = 0; i < l->n_names; i++) {
        if (!vissl_name(l->names[i], l->from->split, &at, &len) || len != strlen(l->layer) ||
            strncmp(at, l->layer, len) != 0)
            continue;
        char *stem = sr_arena_printf(&l->arena, "%.*s", (int)(at + len - l->names[i]), l->names[i]);
        SR_TRY(add_piece(l, (SrFeaturePiece){in_folder(l, l->names[i]),
                                             beside(l, "%s_targets.npy%s", stem, ""),
                                             beside(l, "%s_inds.npy%s", stem, ""), "", "", ""}));
    }
    return SR_OK;
}

// Lists the tensors of a file that could be a layer.
static SrStatus layers_of_file(SrFeaturePieces *l, const char *path) {
    SrWeights w;
    Layers layers = {.n = 0};
    SrStatus status = sr_weights_open(&w, path);
    if (status == SR_OK && sr_weights_meta(&w, "checksums"))
        status = sr_fail(SR_ERR_CONFIG,
                         "%s is a checkpoint, not features: name its run's folder, and the file "
                         "with --weights",
                         path);
    for (int i = 0; status == SR_OK && i < w.n; i++)
        if (is_layer(w.tensors[i].name) && w.tensors[i].shape.rank >= 1)
            add_layer(&layers, w.tensors[i].name, strlen(w.tensors[i].name));
    sr_weights_close(&w);
    SR_TRY(status);
    if (layers.n == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s holds no features", path);
    return choose_layer(l, &layers);
}

// Finds files that hold layers, labels and names together.
static SrStatus find_containers(SrFeaturePieces *l, const char *pattern) {
    for (int i = 0; i < l->n_names; i++) {
        if (!sr_text_glob(pattern, l->names[i]))
            continue;
        char *path = in_folder(l, l->names[i]);
        SR_TRY(add_piece(l, (SrFeaturePiece){path, path, "", path, path, path}));
    }
    return l->n > 0 ? layers_of_file(l, l->pieces[0].features) : SR_OK;
}

SrStatus sr__feature_pieces_find(SrFeaturePieces *l) {
    char *path = (char *)l->from->path;
    if (!sr_file_exists(path))
        SR_FAIL(SR_ERR_CONFIG, "%s: no such file or folder of features", path);
    if (!sr_file_is_dir(path)) {
        char *beside_them = sr_text_ends(path, ".npy") ? "" : path;
        SR_TRY(add_piece(
            l, (SrFeaturePiece){path, beside_them, "", beside_them, beside_them, beside_them}));
        return layers_of_file(l, path);
    }
    SR_TRY(sr_file_list(path, &l->names, &l->n_names));
    SR_TRY(find_containers(l, "features-?????.safetensors"));
    if (l->n == 0)
        SR_TRY(find_containers(l, "features-?????.npz"));
    if (l->n == 0)
        SR_TRY(find_npy(l));
    if (l->n == 0)
        SR_TRY(find_vissl(l));
    return l->n > 0
               ? SR_OK
               : sr_fail(SR_ERR_CONFIG,
                         "%s holds no features of %s images: expected what `sslrun extract --data` "
                         "writes, or VISSL's rank0_chunk0_%s_LAYER_features.npy",
                         path, l->from->split, l->from->split);
}

void sr__feature_pieces_close(SrFeaturePieces *l) {
    if (l->names)
        sr_file_list_free(l->names, l->n_names);
    sr_arena_deinit(&l->arena);
}
