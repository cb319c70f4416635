// Loads initial weights.  Optimiser state and position in the file are ignored: resuming a run is
// trainer/run/run_folder.h's work.
#include "trainer/model/weights_init.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/number.h"
#include "base/text/text.h"
#include "formats/names/naming.h"
#include "formats/names/naming_parts.h"
#include "formats/weights/nested_dict.h"
#include "formats/weights/weights.h"
#include "trainer/model/trunk_difference.h"
#include "trainer/model/weights_fit.h"

typedef struct {
    const SrWeightsSource *source;
    SrParams *params;
    SrWeights w;
    const char **names; // (w.n) names after the prefixes were changed
    bool *used;         // (w.n) an entry took the tensor
    int width;          // characters of the longest parameter name
    bool extractor;     // the model's trunk is under trunk.base_model.
    int trunk, trunk_loaded, heads, heads_loaded, missing, skipped, misshapen, refused;
    SrText difference; // sentence about the trunks of file and model; empty: no difference known
    char first_refused[512]; // message about the first tensor whose shape is wrong
} Load;

// Logs a line of the table of tensors, with which users find a misnamed layer.  Lines about tensors
// that fit are a detail (-v), and so is the whole table if the trunks are known to differ.
// Evaluation needs no table, because it insists on the whole trunk.
SR_PRINTF(3, 4) static void say(const Load *l, bool fits, const char *fmt, ...) {
    char line[512];
    va_list args;
    if (l->source->quiet)
        return;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    sr_log(fits || l->difference.len > 0 ? SR_LOG_DEBUG : SR_LOG_INFO, "%s", line);
}

#define BASE "trunk.base_model."

// Turns names under trunk.base_model. (linear evaluation) into names under trunk. or back, so
// that a file of one kind fits a model of the other.
static const char *in_model(Load *l, const char *name) {
    bool has = sr_text_starts(name, BASE);
    if (has && !l->extractor)
        return sr_arena_printf(&l->w.arena, "trunk.%s", name + strlen(BASE));
    if (!has && l->extractor && sr_text_starts(name, "trunk."))
        return sr_arena_printf(&l->w.arena, BASE "%s", name + strlen("trunk."));
    return name;
}

// Enters the nested dicts of STATE_DICT_KEY_NAME.  The default and "" need no work:
// without_containers recognises those dicts.
static SrStatus descend(Load *l) {
    SrStrings keys = l->source->keys;
    bool usual = keys.n == 1 && (!*keys.v[0] || strcmp(keys.v[0], "classy_state_dict") == 0);
    for (int i = 0; i < keys.n && !usual; i++)
        if (sr_weights_descend(&l->w, keys.v[i]) != SR_OK)
            return sr_fail_prefix(SR_ERR_CONFIG, "MODEL.WEIGHTS_INIT.STATE_DICT_KEY_NAME");
    return SR_OK;
}

// Removes the names of dicts that nearly every file has, so that users need not name them.
static const char *without_containers(const char *name) {
    static const char *const containers[] = {"classy_state_dict.base_model.model.", "state_dict.",
                                             "model_state_dict."};
    for (int i = 0; i < SR_COUNT(containers); i++)
        if (sr_text_starts(name, containers[i]))
            return name + strlen(containers[i]);
    return name;
}

static bool model_has(Load *l, const char *name) {
    const char *own = in_model(l, name), *prefix = l->source->prefix ? l->source->prefix : "";
    char whole[2048];
    snprintf(whole, sizeof whole, "%s%s", prefix, own ? own : "");
    return sr_params_find(l->params, whole) >= 0;
}

// Translates the name of a trunk's tensor into the model's names; if the model has none, into
// VISSL's.
static bool foreign_name(Load *l, const SrNaming *naming, const char *name, char *out,
                         size_t bytes) {
    static const char *const trunks[] = {"trunk._feature_blocks.", "trunk."};
    static const SrNames words[] = {SR_NAMES_VISSL, SR_NAMES_TORCHVISION, SR_NAMES_TIMM};
    char bare[1024];
    for (int i = 0; i < SR_COUNT(words) * SR_COUNT(trunks); i++) {
        SrNames to = words[i / SR_COUNT(trunks)];
        if (!sr_naming_bare(naming, name, to, bare, sizeof bare) ||
            sr_naming_is_classifier(naming, bare, to))
            continue;
        snprintf(out, bytes, "%s%s", trunks[i % SR_COUNT(trunks)], bare);
        if (model_has(l, out))
            return true;
    }
    if (!sr_naming_bare(naming, name, SR_NAMES_VISSL, bare, sizeof bare) ||
        sr_naming_is_classifier(naming, bare, SR_NAMES_VISSL))
        return false;
    snprintf(out, bytes, "%s%s", trunks[0], bare);
    return true;
}

// Returns a tensor's name in the model: removes REMOVE_PREFIX, then adds APPEND_PREFIX (VISSL's
// order).  If neither is set, another writer's names of a trunk are translated.
static const char *model_name(Load *l, const SrNaming *naming, const char *name) {
    const char *cut = l->source->remove_prefix, *add = l->source->append_prefix;
    char bare[1200];
    bool ours = sr_text_starts(without_containers(name), "trunk.");
    if (!*cut && !*add && !ours && foreign_name(l, naming, name, bare, sizeof bare))
        return sr_arena_printf(&l->w.arena, "%s", bare);
    if (!*cut || !sr_text_starts(name, cut))
        name = without_containers(name);
    if (*cut && sr_text_starts(name, cut))
        name += strlen(cut);
    return sr_arena_printf(&l->w.arena, "%s%s", add,
                           sr_naming_without_groups(name, bare, sizeof bare));
}

// Renames all tensors.  Like VISSL, refuses a file in which no name then starts with trunk. or
// heads.; the message suggests the prefix for torchvision's files, the most common case.
static SrStatus rename_keys(Load *l) {
    SrNaming naming;
    SR_TRY(sr_naming_open(&l->w, &naming));
    SR_TRY(sr_naming_parts(&l->w, &naming, SR_NAMES_TORCHVISION));
    size_t n = (size_t)l->w.n + 1;
    l->names = sr_arena_alloc(&l->w.arena, n * sizeof *l->names);
    l->used = sr_arena_alloc(&l->w.arena, n * sizeof *l->used);
    if (!l->names || !l->used)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->source->path);
    bool any = false;
    for (int i = 0; i < l->w.n; i++) {
        const char *name = model_name(l, &naming, l->w.tensors[i].name);
        l->names[i] = name ? in_model(l, name) : NULL;
        if (!l->names[i])
            SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", l->source->path);
        any |= sr_text_starts(l->names[i], "trunk.") || sr_text_starts(l->names[i], "heads.");
    }
    if (any)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%s: no tensor begins with trunk. or heads. (the first is '%s'); set "
            "MODEL.WEIGHTS_INIT.APPEND_PREFIX (\"trunk._feature_blocks.\" for torchvision's "
            "names) or REMOVE_PREFIX",
            l->source->path, l->w.n ? l->names[0] : "(none)");
}

// True if the name contains one of SKIP_LAYERS ([num_batches_tracked] by default).
static bool is_skipped(const SrWeightsSource *c, const char *name) {
    for (int i = 0; i < c->skip_layers.n; i++)
        if (strstr(name, c->skip_layers.v[i]))
            return true;
    return false;
}

// Finds a tensor by its new name; of two with this name, the one that lost a prefix.  A linear
// search is enough: a few hundred names, once per run.
static int find_key(const Load *l, const char *name) {
    int found = -1;
    for (int i = 0; i < l->w.n; i++) {
        bool cut = *l->source->remove_prefix &&
                   sr_text_starts(l->w.tensors[i].name, l->source->remove_prefix);
        if (strcmp(l->names[i], name) == 0 && (found < 0 || cut))
            found = i;
    }
    return found;
}

// Fails if the averaged model is asked for and missing: the model itself must not take its place.
static SrStatus check_averaged(const Load *l) {
    if (strcmp(l->source->remove_prefix, SR_EMA_PREFIX) != 0)
        return SR_OK;
    for (int i = 0; i < l->w.n; i++)
        if (sr_text_starts(l->w.tensors[i].name, SR_EMA_PREFIX))
            return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "MODEL.WEIGHTS_INIT.REMOVE_PREFIX=" SR_EMA_PREFIX
            ": %s holds no averaged model; HOOKS.EMA_MODEL.SAVE_EMA_MODEL=True keeps one",
            l->source->path);
}

// Log lines are VISSL's, here and above, so that logs of the two programs can be compared.
static SrStatus copy_tensor(Load *l, int key, const SrParam *to) {
    char shape[SR_SHAPE_TEXT_BYTES];
    const SrWeightsTensor *from = &l->w.tensors[key];
    if (!sr_weights_fits_type(from->dtype, to->dtype))
        SR_FAIL(SR_ERR_CONFIG, "%s: %s holds %s, the model needs %s", to->name, l->source->path,
                sr_dtype_name(from->dtype), sr_dtype_name(to->dtype));
    SR_TRY(sr_weights_fit_read(&l->w, key, to->name, to->value, to->dtype, to->shape));
    say(l, true, "Loaded: %-*s of shape: torch.Size(%s) from checkpoint", l->width, to->name,
        sr_shape_text(from->shape, shape, sizeof shape));
    return SR_OK;
}

// Notes a wrong shape.  Loading fails after all are listed: the list shows which part differs.
static void note_shape(Load *l, const SrWeightsTensor *from, const SrParam *to, bool allowed) {
    char line[sizeof l->first_refused], a[SR_SHAPE_TEXT_BYTES], b[SR_SHAPE_TEXT_BYTES];
    snprintf(line, sizeof line, "%s have different shapes: checkpoint: %s, model: %s", to->name,
             sr_shape_text(from->shape, a, sizeof a), sr_shape_text(to->shape, b, sizeof b));
    say(l, false, "%s%s", allowed ? "Ignored layer:\t" : "", line);
    l->misshapen++;
    if (!allowed && l->refused++ == 0)
        memcpy(l->first_refused, line, sizeof line);
}

// Returns an entry's name without the source's prefix; "" if the entry belongs to another model.
static const char *own_name(const Load *l, const SrParam *p) {
    const char *prefix = l->source->prefix ? l->source->prefix : "";
    return sr_text_starts(p->name, prefix) ? p->name + strlen(prefix) : "";
}

// Loads an entry and counts it for trunk or heads.  The loss's own state is in no other writer's
// file.
static SrStatus load_param(Load *l, const SrParam *p) {
    const char *name = own_name(l, p);
    bool trunk = sr_text_starts(name, "trunk."), heads = sr_text_starts(name, "heads.");
    if (!trunk && !heads)
        return SR_OK; // state of the loss, or another model's entry
    int key = find_key(l, name);
    if (key >= 0)
        l->used[key] = true;
    if (is_skipped(l->source, p->name) || (heads && l->source->skip_heads)) {
        say(l, true, "Ignored layer:\t%s", p->name);
        l->skipped++;
        return SR_OK;
    }
    l->trunk += trunk;
    l->heads += heads;
    if (key < 0) {
        say(l, heads, "Not found:\t\t%s, not initialized", p->name); // heads are often new
        l->missing++;
        return SR_OK;
    }
    if (!sr_weights_fits(p->name, l->w.tensors[key].shape, p->shape, l->source->channels)) {
        note_shape(l, &l->w.tensors[key], p, heads && l->source->lax_head_shapes);
        return SR_OK;
    }
    SR_TRY(copy_tensor(l, key, p));
    l->trunk_loaded += trunk;
    l->heads_loaded += heads;
    return SR_OK;
}

// Logs names that look like the model's and fit nothing: nearly always another depth, or one
// prefix too many.
static void say_extra(const Load *l) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < l->w.n; i++)
        if (!l->used[i] &&
            (sr_text_starts(l->names[i], "trunk.") || sr_text_starts(l->names[i], "heads.")))
            sr_text_printf(&text, "%s%s", text.len ? ", " : "", l->names[i]);
    if (text.len > 0)
        sr_log(l->difference.len > 0 ? SR_LOG_DEBUG : SR_LOG_INFO,
               "Extra layers not loaded from checkpoint: [%s]", text.s);
    sr_text_deinit(&text);
}

// Returns ", which are a resnet50's": most often the configuration asks for another trunk.
static const char *whose_names(const Load *l, char text[128]) {
    SrNaming naming;
    sr_naming_detect(&l->w, &naming);
    text[0] = '\0';
    if (*naming.trunk)
        snprintf(text, 128, ", which are %s's%s", naming.trunk,
                 *naming.unlike ? " (of another width or kind)" : "");
    return text;
}

// Fails if too little was loaded.  VISSL goes on with random weights, which shows only after
// training.
static SrStatus check_counts(const Load *l) {
    char whose[128];
    const char *path = l->source->path;
    if (!l->source->quiet)
        sr_info("%s: trunk %d of %d, heads %d of %d, %d skipped, %d missing, %d of another shape: "
                "%d of %d tensors loaded",
                path, l->trunk_loaded, l->trunk, l->heads_loaded, l->heads, l->skipped, l->missing,
                l->misshapen, l->trunk_loaded + l->heads_loaded, l->trunk + l->heads);
    bool too_few = l->trunk_loaded == 0 || (l->source->whole_trunk && l->trunk_loaded < l->trunk) ||
                   l->trunk_loaded < l->source->min_trunk_share * l->trunk;
    if ((too_few || l->refused > 0) && l->difference.len > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %s; set MODEL.TRUNK as in the checkpoint's train_config.yaml, or name another "
                "PARAMS_FILE (-v lists the tensors)",
                path, l->difference.s);
    if (l->refused > 0)
        SR_FAIL(SR_ERR_CONFIG,
                "%s (%d such tensors); MODEL.WEIGHTS_INIT.SKIP_LAYERS leaves tensors out, and "
                "MODEL.FEATURE_EVAL_SETTINGS.ASSERT_HEAD_LAYER_SHAPE_INIT=False those of heads",
                l->first_refused, l->refused);
    if (too_few)
        SR_FAIL(SR_ERR_CONFIG,
                "%s: %d of the trunk's %d tensors were found in it; see its names with `sslrun "
                "inspect %s`%s, and MODEL.WEIGHTS_INIT.APPEND_PREFIX and REMOVE_PREFIX to change "
                "them (or MIN_TRUNK_SHARE to accept fewer)",
                path, l->trunk_loaded, l->trunk, path, whose_names(l, whose));
    return SR_OK;
}

// Returns whether the averaged model is asked for; the dot of its prefix is easily left out.
static bool averaged(const SrConfig *config) {
    const char *prefix = config->model.remove_prefix;
    return strcmp(prefix, SR_EMA_PREFIX) == 0 || strcmp(prefix, "ema_model") == 0;
}

SrWeightsSource sr_weights_of_checkpoint(const SrConfig *config, const char *path) {
    return (SrWeightsSource){
        .path = path, .remove_prefix = averaged(config) ? SR_EMA_PREFIX : "", .append_prefix = ""};
}

// The source borrows the configuration's strings.
SrWeightsSource sr_weights_source(const SrConfig *whole) {
    const SrModelConfig *config = &whole->model;
    if (config->own_checkpoint)
        return sr_weights_of_checkpoint(whole, config->params_file);
    return (SrWeightsSource){.path = config->params_file,
                             .model = config,
                             .channels = whole->channels,
                             .keys = config->state_dict_keys,
                             .remove_prefix =
                                 averaged(whole) ? SR_EMA_PREFIX : config->remove_prefix,
                             .append_prefix = config->append_prefix,
                             .skip_heads = config->eval_mode_on && !config->eval_trunk_and_head,
                             .lax_head_shapes = !config->assert_head_shapes,
                             .min_trunk_share = config->min_trunk_share,
                             .skip_layers = config->skip_layers};
}

// Tensors are copied one by one, so an error may leave a model half loaded; callers drop it then.
SrStatus sr_weights_load(const SrWeightsSource *source, SrParams *params) {
    Load l = {.source = source, .params = params};
    if (strstr(source->path, "://"))
        SR_FAIL(SR_ERR_CONFIG,
                "MODEL.WEIGHTS_INIT.PARAMS_FILE: sslrun downloads nothing; fetch the file with "
                "`curl -LO %s` and name it",
                source->path);
    SR_TRY(sr_weights_open(&l.w, source->path));
    SrStatus status = SR_OK;
    int n = sr_params_count(params);
    for (int i = 0; i < n; i++) {
        l.extractor |= sr_text_starts(own_name(&l, sr_params_at(params, i)), BASE);
        l.width = SR_MAX(l.width, (int)strlen(sr_params_at(params, i)->name));
    }
    SR_TRY_GOTO(sr_weights_verify_sums(&l.w));
    SR_TRY_GOTO(descend(&l));
    SR_TRY_GOTO(check_averaged(&l));
    SR_TRY_GOTO(rename_keys(&l));
    if (source->model)
        sr_trunk_difference(&l.w, source->model, &l.difference);
    for (int i = 0; i < n; i++)
        SR_TRY_GOTO(load_param(&l, sr_params_at(params, i)));
    if (!source->quiet)
        say_extra(&l);
    status = check_counts(&l);
done:
    sr_text_deinit(&l.difference);
    sr_weights_close(&l.w);
    return status;
}
