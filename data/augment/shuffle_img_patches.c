// ShuffleImgPatches: puts an image's patches into the order of a permutation drawn from a table.
// The permutation's number becomes the label (jigsaw, arXiv:1603.09246; VISSL).
//
// VISSL fetches its tables from the network.  Here such an address gives a table of equally many
// permutations, made by the same algorithm, and a log line says so.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/text/text.h"
#include "data/augment/shared/permutations.h"
#include "data/transform.h"

typedef struct {
    const char *perm_file;
    int num_permutations, num_patches;
    SrPermutations table;
} Params;

// clang-format off
static const SrOption options[] = {
    {"perm_file", SR_OPT_STRING, offsetof(Params, perm_file), "",
     .help = "A .npy file with one permutation per row; empty: a table is made."},
    {"num_permutations", SR_OPT_INT, offsetof(Params, num_permutations), "100", 1, 1 << 16,
     .help = "Number of permutations in a table that is made, which is the number of classes."},
    {"num_patches", SR_OPT_INT, offsetof(Params, num_patches), "9", 2, 64,
     .help = "Number of patches in a table that is made."},
    SR_OPTION_END};
// clang-format on

static bool is_address(const char *path) { return strstr(path, "://") != NULL; }

// "hamming_perms_10000_patches_9_max_avg.npy": the last two numbers of the name.
static SrStatus read_address(Params *p, const char *where) {
    const char *name = strrchr(p->perm_file, '/') + 1, *at = strstr(name, "perms_");
    if (!at || sscanf(at, "perms_%d_patches_%d", &p->num_permutations, &p->num_patches) != 2)
        SR_FAIL(SR_ERR_CONFIG,
                "%s.perm_file: sslrun downloads nothing, and %s is a URL; give a .npy file, or "
                "num_permutations and no file",
                where, p->perm_file);
    sr_info(
        "%s.perm_file: sslrun downloads nothing; %d permutations of %d patches are made instead",
        where, p->num_permutations, p->num_patches);
    return SR_OK;
}

static SrStatus prepare(void *params, const char *where, uint32_t stage, SrArena *arena) {
    (void)stage;
    Params *p = params;
    if (is_address(p->perm_file))
        SR_TRY(read_address(p, where));
    else if (*p->perm_file)
        return sr__permutations_load(p->perm_file, arena, &p->table);
    return sr__permutations_make(p->num_permutations, p->num_patches, arena, &p->table);
}

static SrStatus shape(const void *params, int *n, int h[SR_MAX_VIEWS], int w[SR_MAX_VIEWS]) {
    const Params *p = params;
    for (int v = 1; v < *n; v++)
        if (h[v] != h[0] || w[v] != w[0])
            SR_FAIL(SR_ERR_CONFIG, "needs views of equal size, but view %d differs from the first",
                    v);
    if (*n != p->table.n)
        SR_FAIL(SR_ERR_CONFIG,
                "num_patches: the permutations have %d patches, but there are %d views; put "
                "ImgPatchesFromTensor with as many patches before it",
                p->table.n, *n);
    return SR_OK;
}

static SrStatus apply(const void *params, const SrTransformContext *ctx, SrViews *views) {
    const Params *p = params;
    SrRng rng = sr__transform_rng(ctx, 0);
    int row = (int)sr_rng_below(&rng, (uint32_t)p->table.count);
    SrImage from[64];
    memcpy(from, views->view, (size_t)views->n * sizeof *from);
    for (int v = 0; v < views->n; v++) {
        int place = p->table.rows[(int64_t)row * p->table.n + v];
        sr__tell(ctx, v, "patch %d", place);
        views->view[v] = from[place];
    }
    if (ctx->label)
        *ctx->label = row;
    return SR_OK;
}

static int classes(const void *params) { return ((const Params *)params)->table.count; }

const SrTransform sr_transform_shuffle_img_patches = {
    .name = "ShuffleImgPatches",
    .help = "Shuffles patches by a random permutation, whose index becomes the label.",
    .stands_on = "{name: ToTensor}, {name: ImgPatchesFromTensor}",
    .options = options,
    .params_bytes = sizeof(Params),
    .takes_floats = true,
    .gives_floats = true,
    .prepare = prepare,
    .shape = shape,
    .classes = classes,
    .pixels = SR_PIXELS_ANY,
    .apply = apply,
};
