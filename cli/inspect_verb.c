// sslrun inspect FILE: what a safetensors file holds - metadata, tensors, shapes, and what their
// numbers look like.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/safetensors.h"
#include "cli/args.h"
#include "cli/verb.h"
#include "trainer/checkpoint.h"

typedef struct {
    double min, max, mean, deviation;
    int64_t nonfinite;
} Stats;

// Statistics of a float tensor's finite numbers; false for other types.
static bool tensor_stats(const SrTensor *t, Stats *s) {
    int64_t n = sr_shape_count(t->shape), finite = 0;
    const float *x = t->data; // t->shape
    double sum = 0, squares = 0;
    *s = (Stats){.min = INFINITY, .max = -INFINITY};
    if (t->dtype != SR_F32)
        return false;
    for (int64_t i = 0; i < n; i++) {
        double v = (double)x[i];
        if (!isfinite(v)) {
            s->nonfinite++;
            continue;
        }
        finite++;
        sum += v;
        squares += v * v;
        s->min = fmin(s->min, v);
        s->max = fmax(s->max, v);
    }
    if (finite == 0)
        return false;
    s->mean = sum / (double)finite;
    s->deviation = sqrt(fmax(squares / (double)finite - s->mean * s->mean, 0));
    return true;
}

// Counters are shown as the number they hold; everything else by its distribution.
static void print_tensor(const SrNamedTensor *t, SrText *out) {
    char shape[SR_SHAPE_TEXT_BYTES];
    Stats s;
    sr_text_printf(out, "  %-64s %-4s %-20s", t->name, sr_dtype_name(t->tensor.dtype),
                   sr_shape_text(t->tensor.shape, shape, sizeof shape));
    if (tensor_stats(&t->tensor, &s))
        sr_text_printf(out, " mean %11.4g  std %10.4g  min %11.4g  max %11.4g", s.mean, s.deviation,
                       s.min, s.max);
    else if (t->tensor.dtype == SR_I64 && sr_shape_count(t->tensor.shape) == 1)
        sr_text_printf(out, " %lld", (long long)*(const int64_t *)t->tensor.data);
    if (s.nonfinite > 0)
        sr_text_printf(out, "  %lld NaN or infinite", (long long)s.nonfinite);
    sr_text_add(out, "\n");
}

// The configuration and the checksums are long; their length is what a person wants here.
static void print_meta(const SrSafetensors *st, SrText *out) {
    for (int i = 0; i < st->n_meta; i++) {
        size_t len = strlen(st->meta_values[i]);
        if (len <= 80)
            sr_text_printf(out, "  %s: %s\n", st->meta_keys[i], st->meta_values[i]);
        else
            sr_text_printf(out, "  %s: (%zu bytes; --config prints the configuration)\n",
                           st->meta_keys[i], len);
    }
}

// Checksums are verified here rather than believed.
static void print_file(const SrSafetensors *st, const char *path, SrText *out) {
    int64_t numbers = 0;
    for (int i = 0; i < st->n; i++)
        numbers += sr_shape_count(st->tensors[i].tensor.shape);
    sr_text_printf(out, "%s: %d tensors, %lld numbers, %zu bytes\n", path, st->n,
                   (long long)numbers, st->map_bytes);
    print_meta(st, out);
    if (sr_safetensors_meta(st, "checksums"))
        sr_text_printf(out, "  checksums: %s\n",
                       sr_checkpoint_verify(st, path) == SR_OK ? "all agree" : sr_status_message());
    for (int i = 0; i < st->n; i++)
        print_tensor(&st->tensors[i], out);
}

// As YAML that loads again.
static SrStatus print_config(const SrSafetensors *st, const char *path, SrText *out) {
    const char *text = sr_safetensors_meta(st, "config");
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree;
    if (!text)
        return sr_fail(SR_ERR_CONFIG, "%s holds no configuration", path);
    SrStatus status = sr_json_parse(&arena, text, strlen(text), path, &tree);
    if (status == SR_OK)
        sr_yaml_print(tree, out);
    sr_arena_deinit(&arena);
    return status;
}

static SrStatus run_verb(int argc, char **argv) {
    bool config = false;
    const SrFlag flags[] = {
        {"--config", &config, NULL, "prints the configuration a checkpoint was made with", NULL},
        {0}};
    SrArgs args;
    SrSafetensors st;
    SrText out = SR_TEXT_INIT;
    SR_TRY(sr_args_parse(argc, argv, flags, &args));
    if (args.n_names != 1)
        return sr_fail(SR_ERR_CONFIG, "sslrun inspect: which file? Give one .safetensors file");
    SR_TRY(sr_safetensors_open(&st, args.names[0]));
    SrStatus status = SR_OK;
    if (config)
        status = print_config(&st, args.names[0], &out);
    else
        print_file(&st, args.names[0], &out);
    sr_safetensors_close(&st);
    SrStatus printed = sr_args_print(&out);
    return status != SR_OK ? status : printed;
}

const SrVerb sr_verb_inspect = {
    .name = "inspect",
    .usage = "sslrun inspect FILE.safetensors [--config]",
    .help = "Lists a checkpoint's metadata and tensors with their statistics, and verifies its "
            "checksums.",
    .run = run_verb,
};
