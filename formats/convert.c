// Plans the list of values to be written, then streams one tensor at a time.
#include "formats/convert.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/names/naming_parts.h"
#include "formats/naming_huggingface.h"
#include "formats/weights/weights.h"

enum { CLASSES = 1000, NAME_BYTES = 1024, EXTRA_ITEMS = 16 };

#define HEAD "0.clf.0" // VISSL's only layer of a linear head
#define VISSL_MODEL "classy_state_dict/base_model/model/"

typedef struct {
    SrWeights w;
    const SrConvertOptions *options;
    SrConvertResult *result;
    SrSaveItem *items;
    int *source; // (n) index in w; -1: zeros
    int n;
    void *zeros;
} Convert;

static SrStatus out_of_memory(const Convert *c) {
    SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", c->w.path);
}

static SrStatus add(Convert *c, const char *name, SrShape shape, SrDtype dtype, int source) {
    char *copy = sr_arena_strdup(&c->w.arena, name);
    if (!copy)
        return out_of_memory(c);
    c->source[c->n] = source;
    c->items[c->n++] = (SrSaveItem){.name = copy, .shape = shape, .dtype = dtype};
    c->result->tensors++;
    return SR_OK;
}

static void add_value(Convert *c, const char *name, SrSaveKind kind, const char *text) {
    c->source[c->n] = -1;
    c->items[c->n++] = (SrSaveItem){.name = name, .kind = kind, .text = text};
}

// Returns the part of a head's name that VISSL and this program share; NULL: no head, such as the
// classifier of torchvision's transformers.
static const char *head_name(const char *name) {
    static const char *const prefixes[] = {"classy_state_dict.base_model.model.heads.", "heads."};
    if (sr_text_starts(name, "heads.head."))
        return NULL;
    for (int i = 0; i < SR_COUNT(prefixes); i++)
        if (sr_text_starts(name, prefixes[i]))
            return name + strlen(prefixes[i]);
    return NULL;
}

static SrStatus add_trunk(Convert *c, bool vissl) {
    char bare[NAME_BYTES], name[NAME_BYTES + 64];
    for (int i = 0; i < c->w.n; i++) {
        const SrWeightsTensor *t = &c->w.tensors[i];
        bool keep =
            !(vissl && head_name(t->name)) && // add_heads adds these
            sr_naming_bare(&c->result->naming, t->name, c->options->names, bare, sizeof bare);
        bool classifier =
            keep && sr_naming_is_classifier(&c->result->naming, bare, c->options->names);
        keep = keep && !(c->options->only_trunk && classifier) && !(vissl && classifier);
        c->result->left_out += !keep;
        if (!keep)
            continue;
        snprintf(name, sizeof name, "%s%s%s", vissl ? VISSL_MODEL "trunk/" : "",
                 vissl ? sr_naming_vissl_prefix(&c->result->naming) : "",
                 c->options->rename ? bare : sr_weights_origin(t));
        SrShape shape =
            c->options->rename ? sr_naming_shape(bare, t->shape, c->options->names) : t->shape;
        SR_TRY(add(c, name, shape, t->dtype, i));
    }
    return SR_OK;
}

// Renames a classifier to the eval_mlp head that VISSL would have trained.
static SrStatus add_heads(Convert *c) {
    char name[NAME_BYTES + 64], bare[NAME_BYTES];
    int before = c->n;
    for (int i = 0; i < c->w.n && !c->options->only_trunk; i++) {
        const SrWeightsTensor *t = &c->w.tensors[i];
        const char *head = head_name(t->name);
        if (head && strlen(head) < NAME_BYTES)
            snprintf(name, sizeof name, VISSL_MODEL "heads/%s", head);
        else if (sr_naming_bare(&c->result->naming, t->name, SR_NAMES_VISSL, bare, sizeof bare) &&
                 sr_naming_is_classifier(&c->result->naming, bare, SR_NAMES_VISSL))
            snprintf(name, sizeof name, VISSL_MODEL "heads/" HEAD "%s", strrchr(bare, '.'));
        else
            continue;
        SR_TRY(add(c, name, t->shape, t->dtype, i));
        c->result->left_out--;
    }
    if (c->n == before)
        add_value(c, VISSL_MODEL "heads", SR_SAVE_DICT, NULL);
    return SR_OK;
}

// Adds fc.weight and fc.bias, which load_state_dict(strict=True) of torchvision's ResNets needs:
// VISSL's linear head, else zeros.
static SrStatus add_classifier(Convert *c) {
    char name[NAME_BYTES];
    bool found = false;
    int features = 0;
    for (int i = 0; i < c->n; i++) {
        if (sr_naming_is_classifier(&c->result->naming, c->items[i].name, SR_NAMES_TORCHVISION))
            return SR_OK;
        if (sr_text_starts(c->items[i].name, "layer4.") &&
            sr_text_ends(c->items[i].name, ".weight"))
            features = SR_MAX(features, c->items[i].shape.d[0]);
    }
    if (features == 0)
        return SR_OK;
    for (int i = 0; i < c->w.n; i++) {
        const SrWeightsTensor *t = &c->w.tensors[i];
        const char *head = head_name(t->name);
        if (!head || !sr_text_starts(head, HEAD "."))
            continue;
        snprintf(name, sizeof name, "fc%s", head + strlen(HEAD));
        SR_TRY(add(c, name, t->shape, t->dtype, i));
        found = true;
    }
    if (found)
        return SR_OK;
    c->zeros = sr_calloc((size_t)features * CLASSES, sizeof(float));
    if (!c->zeros)
        return out_of_memory(c);
    c->result->blank_classifier = true;
    SR_TRY(add(c, "fc.weight", SR_SHAPE(CLASSES, features), SR_F32, -1));
    return add(c, "fc.bias", SR_SHAPE(CLASSES), SR_F32, -1);
}

static SrStatus make_room(Convert *c) {
    size_t room = (size_t)c->w.n + EXTRA_ITEMS;
    c->items = sr_arena_alloc(&c->w.arena, room * sizeof *c->items);
    c->source = sr_arena_alloc(&c->w.arena, room * sizeof *c->source);
    return c->items && c->source ? SR_OK : out_of_memory(c);
}

static bool has_classifier(const Convert *c) {
    const SrNaming *n = &c->result->naming;
    char bare[NAME_BYTES];
    for (int i = 0; i < c->w.n; i++)
        if (sr_naming_bare(n, c->w.tensors[i].name, SR_NAMES_VISSL, bare, sizeof bare) &&
            sr_naming_is_classifier(n, bare, SR_NAMES_VISSL))
            return true;
    return false;
}

// Returns the family of the file's trunk.  ConvNeXt has two sets of names: files without a
// classifier get DINOv3's.
static const SrHuggingface *family_of(const Convert *c) {
    const SrNaming *n = &c->result->naming;
    if (n->huggingface)
        return n->huggingface;
    if (n->kind == SR_TRUNK_RESNET || n->kind == SR_TRUNK_SEQUENTIAL)
        return sr_huggingface_of("resnet", false);
    if (n->kind == SR_TRUNK_LAYOUT)
        return sr_huggingface_of(n->trunk, has_classifier(c));
    return sr_huggingface_of(n->family, n->gated);
}

// Gives every tensor of the trunk its authors' name under the prefix that splitting expects.
static SrStatus rename_to_authors(Convert *c) {
    char bare[NAME_BYTES];
    bool *none = sr_arena_alloc(&c->w.arena, ((size_t)c->w.n + 1) * sizeof *none);
    if (!none)
        return out_of_memory(c);
    for (int i = 0; i < c->w.n; i++) {
        SrWeightsTensor *t = &c->w.tensors[i];
        if (!sr_naming_bare(&c->result->naming, t->name, SR_NAMES_VISSL, bare, sizeof bare))
            continue;
        t->shape = sr_naming_shape(bare, t->shape, SR_NAMES_VISSL);
        t->name = sr_arena_printf(&c->w.arena, SR_HUGGINGFACE "%s", bare);
        if (!t->name)
            return out_of_memory(c);
    }
    return sr_weights_exchange(&c->w, none, NULL, 0); // sorts the new names
}

static SrStatus add_huggingface(Convert *c) {
    const SrHuggingface *family = family_of(c);
    char name[NAME_BYTES];
    if (!family)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: Hugging Face's names of a %s are not known; known are DINOv3, DINOv2, ViT, "
                "CLIP, SigLIP, ConvNeXt and ResNet",
                c->w.path, c->result->naming.trunk);
    SR_TRY(rename_to_authors(c));
    SR_TRY(sr_huggingface_split(&c->w, family, SR_HUGGINGFACE));
    SR_TRY(make_room(c));
    for (int i = 0; i < c->w.n; i++) {
        const SrWeightsTensor *t = &c->w.tensors[i];
        if (sr_text_starts(t->name, SR_HUGGINGFACE) &&
            sr_huggingface_name(family, t->name + strlen(SR_HUGGINGFACE), name, sizeof name))
            SR_TRY(add(c, name,
                       sr_huggingface_shape(family, t->name + strlen(SR_HUGGINGFACE), t->shape),
                       t->dtype, i));
        else
            c->result->left_out++;
    }
    return SR_OK;
}

static SrStatus plan(Convert *c) {
    const SrConvertOptions *o = c->options;
    if (!o->rename && !o->only_trunk) {
        SR_TRY(make_room(c));
        for (int i = 0; i < c->w.n; i++)
            SR_TRY(add(c, c->w.tensors[i].name, c->w.tensors[i].shape, c->w.tensors[i].dtype, i));
        return SR_OK;
    }
    if (c->result->naming.kind == SR_TRUNK_UNKNOWN)
        SR_FAIL(SR_ERR_CONFIG,
                "%s holds no trunk of a known kind (ResNet, RegNet, DenseNet, EfficientNet, "
                "MobileNet, ConvNeXt, Swin, vision transformer) among its %d tensors; convert "
                "without --to and --only keeps all names",
                c->w.path, c->w.n);
    if (o->rename && o->names == SR_NAMES_VISSL && !o->huggingface && c->result->naming.timm_alone)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: a %s has names of timm and Hugging Face only; convert to timm or huggingface",
                c->w.path, c->result->naming.trunk);
    if (o->rename) {
        SR_TRY(sr_naming_check(&c->result->naming, c->w.path, o->names));
        SR_TRY(sr_naming_parts(&c->w, &c->result->naming, o->names));
    }
    if (o->rename && o->huggingface)
        return add_huggingface(c);
    if (o->rename && o->plain)
        SR_TRY(sr_naming_constants(&c->w, &c->result->naming));
    SR_TRY(make_room(c));
    bool vissl = o->rename && o->names == SR_NAMES_VISSL && !o->plain;
    SR_TRY(add_trunk(c, vissl));
    if (vissl) {
        SR_TRY(add_heads(c));
        add_value(c, "classy_state_dict/base_model/meta", SR_SAVE_DICT, NULL);
        add_value(c, "type", SR_SAVE_TEXT, "consolidated");
        return SR_OK;
    }
    bool blank = o->names == SR_NAMES_TORCHVISION && !o->only_trunk;
    return blank ? add_classifier(c) : SR_OK;
}

static SrStatus read_item(void *arg, int i, const void **data) {
    Convert *c = arg;
    SrTensor t;
    if (c->source[i] < 0) {
        *data = c->zeros;
        return SR_OK;
    }
    SR_TRY(sr_weights_read(&c->w, c->source[i], &t));
    *data = t.data;
    return SR_OK;
}

SrStatus sr_convert(const char *in, const char *out, const SrConvertOptions *options,
                    SrConvertResult *result) {
    Convert c = {.options = options, .result = result};
    *result = (SrConvertResult){.tensors = 0};
    SR_TRY(sr_save_check(out));
    SR_TRY(sr_weights_open(&c.w, in));
    SrStatus status = sr_weights_verify_sums(&c.w);
    if (status == SR_OK && (options->rename || options->only_trunk))
        status = sr_naming_open(&c.w, &result->naming);
    else
        sr_naming_detect(&c.w, &result->naming);
    if (status == SR_OK && c.w.n == 0)
        status = sr_fail(SR_ERR_CONFIG, "%s: no tensors to convert", in);
    if (status == SR_OK)
        status = plan(&c);
    if (status == SR_OK) {
        SrSave save = {c.items, c.n, read_item, &c};
        status = sr_save(out, &save);
    }
    sr_free(c.zeros);
    sr_weights_close(&c.w);
    return status;
}
