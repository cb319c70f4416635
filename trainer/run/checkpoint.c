// Writes and reads checkpoint files: gathers tensors, checksums and writes them; reads, verifies,
// compares and copies them.
//
// Metadata keys: format, format_version, sslrun_version, run, started, epoch, batch, iteration,
// batch_size, images, stopped, after_epoch, kernels, loss_sum, loss_min, loss_max, best,
// finished, config (JSON), checksums (JSON: name -> CRC-32), metadata_checksum (CRC-32 over all
// the others).
#include "trainer/run/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/ranks/comm.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "base/text/yaml_print.h"
#include "base/version.h"

#define MAX_LISTED 3 // tensors that an error message names

// Returns the bytes of the data; 0-d tensors hold one number.
static size_t tensor_bytes(const SrTensor *t) {
    return (size_t)sr_shape_count(t->shape) * sr_dtype_bytes(t->dtype);
}

// ---- the list of tensors ------------------------------------------------------------------------

typedef struct {
    SrArena arena;
    SrNamedTensor *tensors;
    int n;
} TensorList;

// Names are the arena's; the tensors themselves belong to the tables and stay.
static void list_deinit(TensorList *list) { sr_arena_deinit(&list->arena); }

// A NULL name means that the arena had no memory for it, so callers need no check.
static SrStatus list_add(TensorList *list, const char *name, SrTensor tensor) {
    if (!name)
        SR_FAIL(SR_ERR_MEMORY, "checkpoint: out of memory for tensor names");
    list->tensors[list->n++] = (SrNamedTensor){name, tensor};
    return SR_OK;
}

// Adds the optimiser's state of a parameter, and its number of updates.  Adam's bias correction
// and the first step of SGD's momentum depend on that number, which is smaller than the run's for
// a parameter that was frozen for a while.
static SrStatus list_add_optimizer(TensorList *list, SrOptim *optim, int index,
                                   const SrParam *param) {
    int64_t *steps = NULL;
    const char *state = NULL;
    for (int k = 0;; k++) {
        float *values = sr_optim_state(optim, index, k, &state, &steps);
        if (!values)
            break;
        SR_TRY(list_add(list, sr_arena_printf(&list->arena, "optimizer.%s.%s", param->name, state),
                        (SrTensor){param->shape, SR_F32, values}));
    }
    if (!steps)
        return SR_OK;
    return list_add(list, sr_arena_printf(&list->arena, "optimizer.%s.step", param->name),
                    (SrTensor){SR_SCALAR, SR_I64, steps});
}

// Lists views of every tensor that belongs in the file, in the table's order: parameters, then
// optimiser state.  Saving, comparing and loading use one list, so they cannot disagree.
static SrStatus list_init(TensorList *list, const SrCheckpointParts *parts) {
    const int per_param = 6; // value, up to four states, step count
    int n = sr_params_count(parts->params);
    *list = (TensorList){0};
    list->tensors =
        sr_arena_alloc(&list->arena, (size_t)(n * per_param + 1) * sizeof *list->tensors);
    if (!list->tensors)
        SR_FAIL(SR_ERR_MEMORY, "checkpoint: out of memory for %d tensors", n);
    for (int i = 0; i < n; i++) {
        const SrParam *p = sr_params_at(parts->params, i);
        SR_TRY(list_add(list, p->name, (SrTensor){p->shape, p->dtype, p->value}));
    }
    for (int i = 0; parts->optim && i < n; i++)
        SR_TRY(list_add_optimizer(list, parts->optim, i, sr_params_at(parts->params, i)));
    return SR_OK;
}

// ---- saving -------------------------------------------------------------------------------------

#define META_MAX 24
typedef struct {
    SrArena *arena;
    const char *keys[META_MAX], *values[META_MAX];
    int n;
    bool failed;
} Meta;

// A NULL value marks the whole set as failed; the caller looks once at the end.
static void meta_add(Meta *m, const char *key, const char *value) {
    m->failed |= !value;
    m->keys[m->n] = key;
    m->values[m->n++] = value ? value : "";
}

// Metadata of safetensors is strings only; numbers go in as decimal text.
static void meta_int(Meta *m, const char *key, int64_t value) {
    meta_add(m, key, sr_arena_printf(m->arena, "%lld", (long long)value));
}

// The running sums of a resumed epoch must be the same doubles.
static void meta_float(Meta *m, const char *key, double value) {
    meta_add(m, key, sr_arena_printf(m->arena, "%.17g", value)); // 17 digits read back equal
}

// Writes the position.  Sample order, augmentation and schedules depend on it and the seed alone.
static void meta_position(Meta *m, const SrPosition *at) {
    meta_add(m, "run", at->run.id);
    meta_int(m, "started", at->run.started);
    meta_int(m, "epoch", at->epoch);
    meta_int(m, "batch", at->batch);
    meta_int(m, "iteration", at->iteration);
    meta_int(m, "batch_size", at->batch_size);
    meta_int(m, "images", at->images);
    meta_int(m, "stopped", at->stopped);
    meta_int(m, "after_epoch", at->after_epoch);
    meta_add(m, "kernels", at->kernels);
    meta_float(m, "loss_sum", at->loss_sum);
    meta_float(m, "loss_min", at->loss_min);
    meta_float(m, "loss_max", at->loss_max);
    meta_float(m, "best", at->best);
    meta_int(m, "finished", at->finished);
}

// Writes a checksum per tensor, so that an error can name the damaged one.
static void meta_checksums(Meta *m, const TensorList *list) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < list->n; i++) {
        const SrTensor *t = &list->tensors[i].tensor;
        sr_text_printf(&text, "%s\"%s\":%u", i ? "," : "{", list->tensors[i].name,
                       sr_checkpoint_sum(0, t->data, tensor_bytes(t)));
    }
    sr_text_add(&text, list->n ? "}" : "{}");
    meta_add(m, "checksums", text.failed ? NULL : sr_arena_strdup(m->arena, text.s));
    sr_text_deinit(&text);
}

// Writes the configuration as JSON on one line: resuming compares it, `sslrun inspect --config`
// prints it.
static void meta_config(Meta *m, const SrYaml *config) {
    SrText text = SR_TEXT_INIT;
    sr_json_print(config, &text);
    meta_add(m, "config", text.failed || !text.s ? NULL : sr_arena_strdup(m->arena, text.s));
    sr_text_deinit(&text);
}

// The metadata's own checksum comes last because it covers all entries before it.
SrStatus sr_checkpoint_save(const char *path, const SrCheckpointParts *parts,
                            const SrPosition *at) {
    TensorList list;
    SrStatus status;
    SR_TRY_GOTO(list_init(&list, parts));
    Meta meta = {.arena = &list.arena};
    meta_add(&meta, "format", SR_CHECKPOINT_NAME);
    meta_int(&meta, "format_version", SR_CHECKPOINT_FORMAT);
    meta_add(&meta, "sslrun_version", SR_VERSION);
    meta_position(&meta, at);
    if (parts->config)
        meta_config(&meta, parts->config);
    meta_checksums(&meta, &list);
    meta_int(&meta, "metadata_checksum",
             sr_checkpoint_metadata_sum(meta.keys, meta.values, meta.n));
    if (meta.failed)
        status = sr_fail(SR_ERR_MEMORY, "%s: out of memory while writing the checkpoint", path);
    else
        status = sr_safetensors_save(path, list.tensors, list.n, meta.keys, meta.values, meta.n);
done:
    list_deinit(&list);
    return status;
}

// A file the format itself refuses is damaged, not a question of configuration.
// SR_ERR_IO with errno 0: the file is damaged.  Otherwise errno says what the system refused.
static SrStatus open_file(SrSafetensors *st, const char *path) {
    SrStatus status = sr_safetensors_open(st, path);
    if (status != SR_ERR_CONFIG)
        return status;
    sr_fail_prefix(SR_ERR_IO, "damaged checkpoint");
    errno = 0;
    return SR_ERR_IO;
}

// ---- reading ------------------------------------------------------------------------------------

// A key that an older program did not write reads as 0.
static double meta_number(const SrSafetensors *st, const char *key) {
    const char *text = sr_safetensors_meta(st, key);
    return text ? sr_number_parse(text, NULL) : 0;
}

// A key that an older program did not write reads as "".
static void meta_text(const SrSafetensors *st, const char *key, char *out, size_t bytes) {
    const char *text = sr_safetensors_meta(st, key);
    snprintf(out, bytes, "%s", text ? text : "");
}

// Doubles hold whole numbers exactly up to 2^53, far beyond any count of updates.
static void read_position(const SrSafetensors *st, SrPosition *at) {
    *at = (SrPosition){
        .epoch = (int64_t)meta_number(st, "epoch"),
        .batch = (int64_t)meta_number(st, "batch"),
        .iteration = (int64_t)meta_number(st, "iteration"),
        .run = {.started = (int64_t)meta_number(st, "started")},
        .batch_size = (int)meta_number(st, "batch_size"),
        .images = (int64_t)meta_number(st, "images"),
        .stopped = meta_number(st, "stopped") != 0,
        .after_epoch = (int)meta_number(st, "after_epoch"),
        .loss_sum = meta_number(st, "loss_sum"),
        .loss_min = meta_number(st, "loss_min"),
        .loss_max = meta_number(st, "loss_max"),
        .best = meta_number(st, "best"),
        .finished = meta_number(st, "finished") != 0,
    };
    meta_text(st, "run", at->run.id, sizeof at->run.id);
    meta_text(st, "kernels", at->kernels, sizeof at->kernels);
}

// Each difference between the file and the model, the first few in words.  Returns their number.
static int list_differences(const SrSafetensors *st, const TensorList *list, SrText *out) {
    int n = 0;
    char a[SR_SHAPE_TEXT_BYTES], b[SR_SHAPE_TEXT_BYTES];
    for (int i = 0; i < list->n; i++) {
        // Tensors of the model that the file lacks or holds in another shape.
        const SrNamedTensor *want = &list->tensors[i];
        const SrTensor *have = sr_safetensors_find(st, want->name);
        if (have && sr_shape_equal(have->shape, want->tensor.shape) &&
            have->dtype == want->tensor.dtype)
            continue;
        if (n++ >= MAX_LISTED)
            continue;
        sr_shape_text(want->tensor.shape, b, sizeof b);
        sr_text_printf(out, "%s%s: %s%s, model %s", n > 1 ? "; " : "", want->name,
                       have ? "checkpoint " : "absent from the checkpoint",
                       have ? sr_shape_text(have->shape, a, sizeof a) : "", b);
    }
    for (int i = 0; i < st->n; i++) {
        // Tensors of the file that the model lacks.
        bool known = false;
        for (int j = 0; j < list->n && !known; j++)
            known = strcmp(st->tensors[i].name, list->tensors[j].name) == 0;
        if (!known && n++ < MAX_LISTED)
            sr_text_printf(out, "%s%s: not in the model", n > 1 ? "; " : "", st->tensors[i].name);
    }
    return n;
}

// The likeliest cause is an override of the model's shape in a folder that already holds a run, so
// the message offers both ways out.
static SrStatus check_same_tensors(const SrSafetensors *st, const TensorList *list,
                                   const char *path) {
    SrText text = SR_TEXT_INIT;
    int n = list_differences(st, list, &text);
    SrStatus status = SR_OK;
    if (n > 0)
        status = sr_fail(SR_ERR_CONFIG,
                         "%s belongs to another model; use another CHECKPOINT.DIR, or the "
                         "configuration that made the checkpoint (%d tensor%s differ%s: %s%s)",
                         path, n, n == 1 ? "" : "s", n == 1 ? "s" : "", text.s ? text.s : "",
                         n > MAX_LISTED ? "; ..." : "");
    sr_text_deinit(&text);
    return status;
}

// Checks come first and copies last: on any failure the model is as it was.
SrStatus sr_checkpoint_load(const char *path, const SrCheckpointParts *parts, SrPosition *at) {
    SrSafetensors st;
    SR_TRY(open_file(&st, path));
    TensorList list = {0};
    SrStatus status;
    SR_TRY_GOTO(sr_checkpoint_verify(&st, path));
    SR_TRY_GOTO(list_init(&list, parts));
    SR_TRY_GOTO(check_same_tensors(&st, &list, path));
    for (int i = 0; i < list.n; i++) {
        SrTensor *to = &list.tensors[i].tensor;
        const SrTensor *from = sr_safetensors_find(&st, list.tensors[i].name);
        if (tensor_bytes(to) > 0)
            memcpy(to->data, from->data, tensor_bytes(to));
    }
    read_position(&st, at);
done:
    list_deinit(&list);
    sr_safetensors_close(&st);
    return status;
}

// Reads the header alone: a folder of large checkpoints is listed in milliseconds.
SrStatus sr_checkpoint_position(const char *path, SrPosition *at) {
    SrSafetensors st;
    SR_TRY(open_file(&st, path));
    SrStatus status = sr_checkpoint_verify_metadata(&st, path);
    if (status == SR_OK)
        read_position(&st, at);
    sr_safetensors_close(&st);
    return status;
}

// ---- what changed in the configuration ----------------------------------------------------------

// Subtrees that say how a run is watched and stored, not what it computes.
static bool is_bookkeeping(const char *path) {
    static const char *const prefixes[] = {"CHECKPOINT.",
                                           "HOOKS.",
                                           "MONITORING.",
                                           "PROFILING.",
                                           "NEAREST_NEIGHBOR.",
                                           "DATA.TEST.",
                                           "LOG_FREQUENCY",
                                           "TEST_",
                                           "VERBOSE",
                                           "MACHINE.DEVICE",
                                           "DATA.NUM_DATALOADER_WORKERS",
                                           "METERS.",
                                           "EXTRACT_FEATURES."};
    for (int i = 0; i < SR_COUNT(prefixes); i++)
        if (sr_text_starts(path, prefixes[i]))
            return true;
    return sr_text_ends(path, ".output_dir"); // folder of a loss, which writes nothing
}

// Values in flow style keep a changed list of transforms on the one line.
static void add_change(const char *path, const SrYaml *old, const SrYaml *now, SrText *out) {
    if (is_bookkeeping(path))
        return;
    sr_text_printf(out, "%s%s: ", out->len ? ", " : "", path);
    if (old)
        sr_yaml_print_flow(old, out);
    sr_text_add(out, old ? " -> " : "(none) -> ");
    if (now)
        sr_yaml_print_flow(now, out);
    else
        sr_text_add(out, "(none)");
}

// Depth first over the union of both maps; anything but two maps is compared whole.
static SrStatus compare_trees(SrArena *arena, const char *path, const SrYaml *old,
                              const SrYaml *now, SrText *out) {
    if (!old || !now || old->type != SR_YAML_MAP || now->type != SR_YAML_MAP) {
        if (!old || !now || !sr_yaml_equal(old, now))
            add_change(path, old, now, out);
        return SR_OK;
    }
    for (int side = 0; side < 2; side++) {
        const SrYaml *keys = side ? old : now;
        for (int i = 0; i < keys->n; i++) {
            const SrYaml *before = sr_yaml_find(old, keys->keys[i]);
            const SrYaml *after = sr_yaml_find(now, keys->keys[i]);
            if (side && after)
                continue; // seen in the first round
            const char *sub =
                sr_arena_printf(arena, "%s%s%s", path, *path ? "." : "", keys->keys[i]);
            if (!sub)
                SR_FAIL(SR_ERR_MEMORY, "checkpoint: out of memory while comparing configurations");
            SR_TRY(compare_trees(arena, sub, before, after, out));
        }
    }
    return SR_OK;
}

// Compares resolved configurations, not files: a value that was written before and is inferred
// now is no change.
SrStatus sr_checkpoint_changes(const char *path, const SrYaml *config, SrText *out) {
    SrSafetensors st;
    SrArena arena = SR_ARENA_INIT;
    SR_TRY(open_file(&st, path));
    const char *text = sr_safetensors_meta(&st, "config");
    SrYaml *old = NULL, *now = NULL;
    SrStatus status = SR_OK;
    if (!text || !config)
        goto done;
    SR_TRY_GOTO(sr_json_parse(&arena, text, strlen(text), path, &old));
    // The current tree goes through the same printer, so that only values differ, not their
    // spelling.
    SrText here = SR_TEXT_INIT;
    sr_json_print(config, &here);
    status =
        here.s ? sr_json_parse(&arena, here.s, here.len, path, &now)
               : sr_fail(SR_ERR_MEMORY, "checkpoint: out of memory while comparing configurations");
    sr_text_deinit(&here);
    if (status == SR_OK)
        status = compare_trees(&arena, "", old, now, out);
done:
    sr_arena_deinit(&arena);
    sr_safetensors_close(&st);
    return status;
}

// A pass over all parameters costs less than writing them, and a checkpoint of NaNs would replace
// the last one that is of use.
const char *sr_params_nonfinite(SrParams *params) {
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->dtype == SR_F32 && p->value &&
            sr_floats_nonfinite(p->value, sr_shape_count(p->shape)) >= 0)
            return p->name;
    }
    return NULL;
}

// ---- to other ranks

static void share_state(SrOptim *optim, int index, size_t bytes) {
    int64_t *steps = NULL;
    float *state;
    for (int k = 0; (state = sr_optim_state(optim, index, k, NULL, &steps)); k++)
        sr_comm_broadcast(state, bytes, 0);
    if (steps)
        sr_comm_broadcast(steps, sizeof *steps, 0);
}

void sr_checkpoint_share(const SrCheckpointParts *parts) {
    for (int i = 0; i < sr_params_count(parts->params); i++) {
        const SrParam *p = sr_params_at(parts->params, i);
        size_t bytes = (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
        sr_comm_broadcast(p->value, bytes, 0);
        if (parts->optim)
            share_state(parts->optim, i, bytes);
    }
}
