// Loads a trunk strictly: finds out how the file names its tensors, matches every entry, and
// reports all mistakes in one message.
#include "trainer/model/trunk_weights.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text/number.h"
#include "base/text/text.h"
#include "formats/names/naming.h"
#include "formats/names/naming_parts.h"
#include "formats/naming_huggingface.h"
#include "formats/weights/weights.h"
#include "trainer/model/weights_fit.h"

enum { MAX_LISTED = 8 }; // further tensors are counted: another width differs in hundreds

// Prefixes before torchvision's names, in plain files and in parameter tables.
static const char *const prefixes[] = {
    "",
    "trunk._feature_blocks.",
    "_feature_blocks.",
    "trunk.",
    "module.",
    "model.",
    "module.trunk._feature_blocks.",
    "base_model.trunk._feature_blocks.",
};
enum { N_PREFIXES = SR_COUNT(prefixes), N_READINGS = N_PREFIXES + SR_N_NAMES, KEY_BYTES = 1024 };

typedef struct {
    const SrTrunkWeights *source;
    SrParams *whole, *params;
    SrWeights w;
    SrNaming naming;
    SrNames names;     // whose words the names in `bare` are
    const char **bare; // (w.n) torchvision's name of each key.  NULL: not part of the trunk
    bool *used;        // (w.n) an entry took the tensor
    SrText missing, unexpected, misshapen;
    int n_missing, n_unexpected, n_misshapen;
    int n_wanted, n_used; // tensors that the trunk has, and those that the file gives it
    SrText *verdict;      // text of sr_trunk_weights_compare; NULL: loading
} Load;

// Returns torchvision's name of a table entry.
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

// Inception's and GoogLeNet's second heads, which torchvision's aux_logits=False leaves out.
static bool is_auxiliary(const char *bare) {
    return sr_text_starts(bare, "AuxLogits.") || sr_text_starts(bare, "aux1.") ||
           sr_text_starts(bare, "aux2.");
}

// Reads a key in one of several ways: without one of the prefixes, or, in the last readings, with
// the names of SwAV, MoCo, timm and others turned into torchvision's, VISSL's or timm's.  NULL:
// in this reading the key is not part of the trunk.
static const char *read_key(const Load *l, int reading, const char *key, char buffer[KEY_BYTES]) {
    if (reading >= N_PREFIXES) {
        SrNames to = (SrNames)(reading - N_PREFIXES);
        return sr_naming_bare(&l->naming, key, to, buffer, KEY_BYTES) ? buffer : NULL;
    }
    if (!sr_text_starts(key, prefixes[reading]))
        return NULL;
    return sr_naming_without_groups(key + strlen(prefixes[reading]), buffer, KEY_BYTES);
}

static bool in_table(const Load *l, const char *bare) {
    for (int i = 0; i < sr_params_count(l->whole); i++)
        if (strcmp(bare_name(sr_params_at(l->whole, i)->name), bare) == 0)
            return true;
    return false;
}

// Chooses the reading in which most keys are part of the trunk.
static SrStatus choose_reading(Load *l) {
    char buffer[KEY_BYTES];
    int best = 0, most = 0;
    for (int k = 0; k < N_READINGS; k++) {
        int matches = 0;
        for (int i = 0; i < l->w.n; i++) {
            const char *bare = read_key(l, k, l->w.tensors[i].name, buffer);
            matches += bare && in_table(l, bare);
        }
        if (matches > most) {
            most = matches;
            best = k;
        }
    }
    if (most == 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: none of its %d tensors belongs to this trunk (the first is '%s', the trunk's "
                "is '%s'); `sslrun inspect` lists them",
                l->source->path, l->w.n, l->w.n ? l->w.tensors[0].name : "none",
                bare_name(sr_params_at(l->whole, 0)->name));
    l->names = best < N_PREFIXES ? SR_NAMES_TORCHVISION : (SrNames)(best - N_PREFIXES);
    for (int i = 0; i < l->w.n; i++) {
        const char *bare = read_key(l, best, l->w.tensors[i].name, buffer);
        l->bare[i] = bare ? sr_arena_printf(&l->w.arena, "%s", bare) : NULL;
        if (bare && !l->bare[i])
            SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->source->path);
    }
    return SR_OK;
}

static int find_key(const Load *l, const char *bare) {
    for (int i = 0; i < l->w.n; i++)
        if (l->bare[i] && strcmp(l->bare[i], bare) == 0)
            return i;
    return -1;
}

SR_PRINTF(3, 4) static void note(SrText *list, int *n, const char *fmt, ...) {
    char line[1200];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    if (++*n <= MAX_LISTED)
        sr_text_printf(list, "%s%s", *n > 1 ? ", " : "", line);
}

// Writes Hugging Face's name of a table entry, which has its authors' name or torchvision's.
static bool huggingface_name(const Load *l, const char *bare, char *out, size_t bytes) {
    SrNaming ours = l->naming;
    char authors[KEY_BYTES];
    const SrHuggingface *family = l->naming.huggingface;
    if (!family || sr_huggingface_name(family, bare, out, bytes))
        return family != NULL;
    *ours.prefix = '\0';
    ours.side = SR_NAMES_TORCHVISION;
    if (ours.kind == SR_TRUNK_VIT_TIMM)
        ours.kind = SR_TRUNK_VIT;
    return sr_naming_bare(&ours, bare, SR_NAMES_VISSL, authors, sizeof authors) &&
           sr_huggingface_name(family, authors, out, bytes);
}

static void note_missing(Load *l, const char *bare) {
    char theirs[KEY_BYTES];
    if (huggingface_name(l, bare, theirs, sizeof theirs))
        note(&l->missing, &l->n_missing, "%s (%s)", theirs, bare);
    else
        note(&l->missing, &l->n_missing, "%s", bare);
}

// Looks up one entry of the whole trunk in the file.  If that entry is wanted, copies its value.
static SrStatus load_entry(Load *l, const SrParam *p) {
    const char *bare = bare_name(p->name);
    int key = find_key(l, bare), to = sr_params_find(l->params, p->name);
    char a[SR_SHAPE_TEXT_BYTES], b[SR_SHAPE_TEXT_BYTES];
    bool counter = sr_text_ends(bare, "num_batches_tracked");
    bool unneeded = (to < 0 || l->verdict) && (is_classifier(l, bare) || is_auxiliary(bare));
    l->n_wanted += !counter && !(key < 0 && unneeded);
    if (key < 0) {
        if (!counter && !unneeded)
            note_missing(l, bare);
        return SR_OK;
    }
    const SrWeightsTensor *t = &l->w.tensors[key];
    l->used[key] = true;
    if (!sr_weights_fits(bare, t->shape, p->shape, l->source->channels) ||
        !sr_weights_fits_type(t->dtype, p->dtype)) {
        note(&l->misshapen, &l->n_misshapen, "%s (%s %s in the file, %s %s here)",
             sr_weights_origin(t), sr_dtype_name(t->dtype), sr_shape_text(t->shape, a, sizeof a),
             sr_dtype_name(p->dtype), sr_shape_text(p->shape, b, sizeof b));
        return SR_OK;
    }
    l->n_used += !counter;
    if (to < 0)
        return SR_OK;
    return sr_weights_fit_read(&l->w, key, bare, sr_params_at(l->params, to)->value, p->dtype,
                               p->shape);
}

// A trunk without a classifier leaves that of the file's writer alone, whatever its name.
static bool is_any_classifier(const Load *l, const char *bare) {
    return is_classifier(l, bare) || (l->naming.kind != SR_TRUNK_UNKNOWN &&
                                      sr_naming_is_classifier(&l->naming, bare, l->names));
}

// Notes unused keys of the trunk.  Other keys are legal: whole checkpoints have heads, losses,
// optimisers.
static void note_unexpected(Load *l) {
    bool classifier_known = false;
    for (int i = 0; i < sr_params_count(l->whole); i++)
        classifier_known |= is_classifier(l, bare_name(sr_params_at(l->whole, i)->name));
    for (int i = 0; i < l->w.n; i++)
        if (!l->used[i] && l->bare[i] && !sr_naming_is_constant(l->bare[i]) &&
            (classifier_known || !is_any_classifier(l, l->bare[i])))
            note(&l->unexpected, &l->n_unexpected, "%s", sr_weights_origin(&l->w.tensors[i]));
}

static void add_list(SrText *out, const char *what, int n, const SrText *list) {
    if (n > 0)
        sr_text_printf(out, "%s%d %s: %s", out->len ? "; " : "", n, what, list->s ? list->s : "");
    if (n > MAX_LISTED)
        sr_text_printf(out, " and %d more", n - MAX_LISTED);
}

// Writes the lists one below the other, after the counts.
static SrStatus compare(const Load *l) {
    const char *what[] = {"missing", "left over", "of another shape or type"};
    const SrText *lists[] = {&l->missing, &l->unexpected, &l->misshapen};
    const int n[] = {l->n_missing, l->n_unexpected, l->n_misshapen};
    sr_text_printf(l->verdict, "%d of %d tensors used, %d left over\n", l->n_used, l->n_wanted,
                   l->n_unexpected);
    for (int i = 0; i < SR_COUNT(n); i++) {
        if (n[i] == 0)
            continue;
        sr_text_printf(l->verdict, "  %d %s: %s", n[i], what[i], lists[i]->s);
        if (n[i] > MAX_LISTED)
            sr_text_printf(l->verdict, " and %d more", n[i] - MAX_LISTED);
        sr_text_add(l->verdict, "\n");
    }
    if (n[0] + n[1] + n[2] == 0)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG, "%s is no complete set of weights for this trunk", l->source->path);
}

// Reports everything in one line, also tensors that were left out on purpose.
static SrStatus report(Load *l) {
    bool bad = l->n_misshapen > 0 || (!l->source->lax && l->n_missing + l->n_unexpected > 0);
    SrText lists = SR_TEXT_INIT;
    add_list(&lists, "missing", l->n_missing, &l->missing);
    add_list(&lists, "unexpected", l->n_unexpected, &l->unexpected);
    add_list(&lists, "of another shape or type", l->n_misshapen, &l->misshapen);
    SrStatus status = SR_OK;
    if (bad)
        status = sr_fail(SR_ERR_CONFIG,
                         "%s does not fit the trunk (--lax ignores missing and unexpected): %s",
                         l->source->path, lists.s);
    else if (lists.len > 0)
        fprintf(stderr, "%s: %s\n", l->source->path, lists.s);
    sr_text_deinit(&lists);
    return status;
}

static SrStatus load(Load *l) {
    SR_TRY(sr_naming_open(&l->w, &l->naming));
    SR_TRY(sr_naming_parts(&l->w, &l->naming, SR_NAMES_TORCHVISION));
    size_t n = (size_t)l->w.n + 1;
    l->used = sr_arena_alloc(&l->w.arena, n * sizeof *l->used);
    l->bare = sr_arena_alloc(&l->w.arena, n * sizeof *l->bare);
    if (!l->used || !l->bare)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->source->path);
    SR_TRY(sr_params_allocate(l->params));
    SR_TRY(choose_reading(l));
    for (int i = 0; i < sr_params_count(l->whole); i++)
        SR_TRY(load_entry(l, sr_params_at(l->whole, i)));
    note_unexpected(l);
    return l->verdict ? compare(l) : report(l);
}

static SrStatus run(Load l) {
    SR_TRY(sr_weights_open(&l.w, l.source->path));
    SrStatus status = sr_weights_verify_sums(&l.w);
    if (status == SR_OK)
        status = load(&l);
    sr_text_deinit(&l.missing);
    sr_text_deinit(&l.unexpected);
    sr_text_deinit(&l.misshapen);
    sr_weights_close(&l.w);
    return status;
}

SrStatus sr_trunk_weights_load(const SrTrunkWeights *source, SrParams *whole, SrParams *params) {
    return run((Load){.source = source, .whole = whole, .params = params});
}

SrStatus sr_trunk_weights_compare(const SrTrunkWeights *source, SrParams *whole, SrText *out) {
    return run((Load){.source = source, .whole = whole, .params = whole, .verdict = out});
}
