// The golden runner: computes every CASE.json (with CASE.safetensors) of a folder with the
// program's own code and compares the results with the recorded ones.
//
//   run-golden DIR [CASE ...]      prints a line per case and "N passed, M failed, K skipped"
#include "tests/golden/golden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/plugin/plugin.h"
#include "base/text/json.h"

#include "gen/golden.def"

SR_PLUGIN_LIST(SrGolden, golden, kinds)

enum { MAX_MANIFEST = 64 << 20 };

// ---- functions that the kinds of cases share

const SrTensor *golden_tensor(SrGoldenCase *c, const char *name) {
    return sr_safetensors_find(c->tensors, name);
}

static double element(const SrTensor *t, int64_t i) {
    switch (t->dtype) {
    case SR_F32: return ((const float *)t->data)[i];
    case SR_F64: return ((const double *)t->data)[i];
    case SR_I64: return (double)((const int64_t *)t->data)[i];
    case SR_I32: return ((const int32_t *)t->data)[i];
    case SR_I16: return ((const int16_t *)t->data)[i];
    case SR_I8: return ((const int8_t *)t->data)[i];
    case SR_F16:
    case SR_BF16: return NAN; // no case holds bfloat16; a comparison with NaN fails
    default: return ((const uint8_t *)t->data)[i]; // U8, BOOL
    }
}

float *golden_floats(SrGoldenCase *c, const char *name, int64_t *n) {
    const SrTensor *t = golden_tensor(c, name);
    if (!t) {
        sr_fail(SR_ERR_RUN, "the case has no tensor '%s'", name);
        return NULL;
    }
    int64_t count = sr_shape_count(t->shape);
    float *out = sr_arena_alloc(c->arena, (size_t)(count + 1) * sizeof *out);
    for (int64_t i = 0; out && i < count; i++)
        out[i] = (float)element(t, i);
    if (n)
        *n = count;
    return out;
}

static void record(SrGoldenCase *c, const char *name, double error, double tolerance) {
    double share = error <= tolerance ? (error > 0 ? error / tolerance : 0) : INFINITY;
    if (error > tolerance && tolerance > 0)
        share = error / tolerance;
    if (c->compared && share <= c->worst)
        return;
    c->worst = share;
    c->error = error;
    c->tolerance = tolerance;
    snprintf(c->where, sizeof c->where, "%s", name);
}

static SrStatus find_of_size(SrGoldenCase *c, const char *name, int64_t n, const SrTensor **out) {
    *out = golden_tensor(c, name);
    if (!*out)
        SR_FAIL(SR_ERR_RUN, "the case has no tensor '%s'", name);
    if (sr_shape_count((*out)->shape) != n)
        SR_FAIL(SR_ERR_RUN, "'%s' has %lld numbers, ours %lld", name,
                (long long)sr_shape_count((*out)->shape), (long long)n);
    return SR_OK;
}

// Compares one of ours32 and ours64 (the other is NULL) with the tensor. A reference of zeros is
// compared absolutely.
static SrStatus compare(SrGoldenCase *c, const char *name, const float *ours32,
                        const double *ours64, int64_t n, double relative) {
    const SrTensor *t;
    SR_TRY(find_of_size(c, name, n, &t));
    double largest = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        double a = ours32 ? (double)ours32[i] : ours64[i], b = element(t, i);
        double d = a == b ? 0 : fabs(a - b); // equal infinities have no difference
        largest = isnan(largest) || d <= largest ? largest : d; // NaN stays the largest
        scale = fmax(scale, fabs(b));
    }
    record(c, name, largest / (scale > 0 && isfinite(scale) ? scale : 1), relative);
    c->compared += (int)(n < 1000000 ? n : 1000000);
    return SR_OK;
}

SrStatus golden_compare(SrGoldenCase *c, const char *name, const float *ours, int64_t n,
                        double relative) {
    return compare(c, name, ours, NULL, n, relative);
}

SrStatus golden_compare_f64(SrGoldenCase *c, const char *name, const double *ours, int64_t n,
                            double relative) {
    return compare(c, name, NULL, ours, n, relative);
}

SrStatus golden_compare_u8(SrGoldenCase *c, const char *name, const uint8_t *ours, int64_t n,
                           double levels) {
    const SrTensor *t;
    SR_TRY(find_of_size(c, name, n, &t));
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(ours[i] - element(t, i)));
    record(c, name, largest, levels);
    c->compared += (int)n;
    return SR_OK;
}

SrStatus golden_number(SrGoldenCase *c, const char *name, double ours, double reference,
                       double relative) {
    double scale = fabs(reference) > 0 ? fabs(reference) : 1;
    record(c, name, fabs(ours - reference) / scale, relative);
    c->compared++;
    return SR_OK;
}

// Returns the folder of the source tree with a slash: the one that holds build/run-golden, so
// that the runner may start anywhere. "" (the current folder) if the system does not tell.
static const char *tree_folder(SrGoldenCase *c) {
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = '\0';
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(self, '/');
        if (!slash)
            return "";
        *slash = '\0';
    }
    const char *folder = sr_arena_printf(c->arena, "%s/", self);
    return folder ? folder : "";
}

const char *golden_recipe(SrGoldenCase *c, const char *name) {
    const char *path =
        sr_arena_printf(c->arena, "%stests/vissl/configs/config/%s.yaml", tree_folder(c), name);
    if (path && sr_file_exists(path))
        return path;
    path = sr_arena_printf(c->arena, "%sconfigs/%s.yaml", tree_folder(c), name);
    return path && sr_file_exists(path) ? path : name;
}

bool golden_is_noise(const SrGoldenCase *c, const char *name) {
    const SrYaml *names = sr_yaml_find(c->values, "gradients_zero_up_to_rounding");
    for (int i = 0; names && i < names->n; i++)
        if (strcmp(names->items[i]->text, name) == 0)
            return true;
    return false;
}

// Exchanges the axes of length a (slow) and b (fast) of each of n blocks; converts between (N, C,
// H, W) and (N, H, W, C).
static float *swap_axes(SrGoldenCase *c, const float *in, int64_t n, int64_t a, int64_t b) {
    float *out = sr_arena_alloc(c->arena, (size_t)(n * a * b + 1) * sizeof *out);
    for (int64_t i = 0; out && i < n; i++)
        for (int64_t j = 0; j < a; j++)
            for (int64_t k = 0; k < b; k++)
                out[(i * b + k) * a + j] = in[(i * a + j) * b + k];
    return out;
}

float *golden_to_nhwc(SrGoldenCase *c, const float *nchw, SrShape s) {
    if (s.rank != 4)
        return sr_arena_copy(c->arena, nchw, (size_t)sr_shape_count(s) * sizeof *nchw);
    return swap_axes(c, nchw, s.d[0], s.d[1], (int64_t)s.d[2] * s.d[3]);
}

float *golden_to_nchw(SrGoldenCase *c, const float *nhwc, SrShape s) {
    if (s.rank != 4)
        return sr_arena_copy(c->arena, nhwc, (size_t)sr_shape_count(s) * sizeof *nhwc);
    return swap_axes(c, nhwc, s.d[0], (int64_t)s.d[1] * s.d[2], s.d[3]);
}

// ---- the runner

static const SrGolden *kind_of(const char *name) {
    const SrGolden *best = NULL;
    size_t longest = 0;
    for (int k = 0; kinds[k]; k++)
        for (int p = 0; p < SR_COUNT(kinds[k]->prefixes) && kinds[k]->prefixes[p]; p++) {
            const char *prefix = kinds[k]->prefixes[p];
            if (strlen(prefix) <= longest || !sr_text_starts(name, prefix))
                continue;
            best = kinds[k];
            longest = strlen(prefix);
        }
    return best;
}

static SrStatus load_and_run(const SrGolden *kind, const char *json, const char *tensors,
                             SrGoldenCase *c, SrSafetensors *st) {
    SrYaml *manifest;
    SR_TRY(sr_json_load(c->arena, json, MAX_MANIFEST, &manifest));
    if (sr_file_exists(tensors))
        SR_TRY(sr_safetensors_open(st, tensors));
    c->manifest = manifest;
    c->config = sr_yaml_find(manifest, "config");
    c->values = sr_yaml_find(manifest, "values");
    c->tensors = st;
    SR_TRY(kind->run(c));
    if (!c->compared && !c->not_offered)
        SR_FAIL(SR_ERR_RUN, "nothing was compared");
    return SR_OK;
}

// Returns whether the error names a plugin that is not built; such a case is skipped and the line
// names the plugin.
static bool names_unbuilt(SrStatus status) {
    static const char *const kinds_of[] = {"unknown trunk '", "unknown head '", "unknown loss '"};
    for (int i = 0; status == SR_ERR_CONFIG && i < SR_COUNT(kinds_of); i++)
        if (strstr(sr_status_message(), kinds_of[i]))
            return true;
    return false;
}

// Prints the unbuilt plugin from the message, such as "trunk 'xcit'".
static void print_unbuilt(const char *name) {
    const char *what = strstr(sr_status_message(), "unknown ") + strlen("unknown ");
    const char *quote = strchr(strchr(what, '\'') + 1, '\'');
    int n = quote ? (int)(quote - what) + 1 : (int)strlen(what);
    printf("%-36s skip: %.*s is not built\n", name, n, what);
}

static int report(const SrGoldenCase *c, SrStatus status) {
    bool ok = status == SR_OK && c->worst <= 1;
    if (names_unbuilt(status)) {
        print_unbuilt(c->name);
        return -1;
    }
    if (status == SR_OK && !c->compared) {
        printf("%-36s skip: %s\n", c->name, c->not_offered);
        return -1;
    }
    if (status != SR_OK)
        printf("%-36s FAIL  %s\n", c->name, sr_status_message());
    else
        printf("%-36s %.3g  %.3g  %s%s\n", c->name, c->error, c->tolerance, ok ? "ok" : "FAIL at ",
               ok ? "" : c->where);
    return ok;
}

// Runs one case. Returns 1: passed, 0: failed, -1: skipped.
static int run_case(const char *dir, const char *name) {
    const SrGolden *kind = kind_of(name);
    if (!kind) {
        printf("%-36s skip: kind not built\n", name);
        return -1;
    }
    char json[4096], tensors[4096];
    snprintf(json, sizeof json, "%s/%s.json", dir, name);
    snprintf(tensors, sizeof tensors, "%s/%s.safetensors", dir, name);
    SrArena arena = SR_ARENA_INIT;
    SrSafetensors st = {0};
    SrGoldenCase c = {.folder = dir, .name = name, .arena = &arena};
    int result = report(&c, load_and_run(kind, json, tensors, &c, &st));
    fflush(stdout);
    sr_safetensors_close(&st);
    sr_arena_deinit(&arena);
    return result;
}

static bool wanted(const char *name, int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return argc < 3;
}

int main(int argc, char **argv) {
    char **files;
    int n;
    if (argc < 2 || sr_file_list(argv[1], &files, &n) != SR_OK) {
        fprintf(stderr, "%s\nusage: run-golden DIR [CASE ...]\n",
                argc < 2 ? "no folder given" : sr_status_message());
        return 2;
    }
    sr_parallel_init();
    sr_log_set_level(SR_LOG_ERROR);
    int passed = 0, failed = 0, skipped = 0;
    for (int i = 0; i < n; i++) {
        if (!sr_text_ends(files[i], ".json"))
            continue;
        files[i][strlen(files[i]) - 5] = '\0';
        if (!wanted(files[i], argc, argv))
            continue;
        int result = run_case(argv[1], files[i]);
        passed += result == 1;
        failed += result == 0;
        skipped += result < 0;
    }
    sr_file_list_free(files, n);
    printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
    return failed != 0 || passed == 0;
}
