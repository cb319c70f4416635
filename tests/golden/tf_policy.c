// Runs golden cases tf_randaugment_ops* and tf_autoaugment_policies*: each operation at recorded
// arguments, the meaning of magnitudes, and whole calls with their draws.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/text.h"
#include "data/augment/shared/policy_ops.h"
#include "data/image_pool.h"
#include "tests/golden/images.h"

typedef struct {
    SrGoldenCase *c;
    SrImagePool *pool;
} Run;

static const char *text(const SrYaml *map, const char *key) {
    const SrYaml *y = sr_yaml_find(map, key);
    return y && y->type == SR_YAML_STRING ? y->text : "";
}

static SrFilter filter_of(const char *name) {
    return strcmp(name, "BICUBIC") == 0 ? SR_FILTER_BICUBIC : SR_FILTER_BILINEAR;
}

// Checks one call {tensor, op, magnitude, args: [x], resample}. The sign of x is the direction
// that was drawn.
static SrStatus run_call(Run r, const SrYaml *call) {
    const SrYaml *args = sr_yaml_find(call, "args"), *m = sr_yaml_find(call, "magnitude");
    SrPolicyStep step = {.op = sr__policy_op(text(call, "op")),
                         .magnitude = m->f,
                         .filter = filter_of(text(call, "resample"))};
    SrImage image;
    if (!step.op)
        SR_FAIL(SR_ERR_RUN, "%s: unknown operation %s", r.c->name, text(call, "op"));
    if (args->n > 0) {
        double want = args->items[0]->f, got = sr__policy_argument(&step);
        step.negate = got > want + 1e-9 || got < want - 1e-9;
        SR_TRY(golden_number(r.c, text(call, "tensor"), sr__policy_argument(&step), want, 1e-12));
    }
    SR_TRY(golden_image(r.c, "img", r.pool, &image));
    SR_TRY(sr__policy_apply(&step, &image, r.pool));
    return golden_compare_image(r.c, text(call, "tensor"), &image);
}

// Checks a table "level_to_arg_at_0_1_2.5_...": {op: [[kept sign, negated], ...]}.
static SrStatus run_levels(Run r, const char *name, const SrYaml *table) {
    for (int o = 0; o < table->n; o++) {
        const char *at = strstr(name, "_at_") + 3;
        SrPolicyStep step = {.op = sr__policy_op(table->keys[o])};
        if (!step.op)
            SR_FAIL(SR_ERR_RUN, "%s: unknown operation %s", r.c->name, table->keys[o]);
        for (int i = 0; i < table->items[o]->n; i++) {
            step.magnitude = strtod(at + 1, (char **)&at);
            for (int s = 0; s < 2; s++) {
                step.negate = s;
                SR_TRY(golden_number(r.c, table->keys[o], sr__policy_argument(&step),
                                     table->items[o]->items[i]->items[s]->f, 1e-12));
            }
        }
    }
    return SR_OK;
}

static SrStatus run_ops(Run r) {
    const SrYaml *values = r.c->values;
    for (int k = 0; k < values->n; k++) {
        const SrYaml *list = values->items[k];
        if (strncmp(values->keys[k], "level_to_arg_at_", 16) == 0)
            SR_TRY(run_levels(r, values->keys[k], list));
        for (int i = 0; sr__policy_op(values->keys[k]) && i < list->n; i++)
            SR_TRY(run_call(r, list->items[i]));
    }
    return SR_OK;
}

// ---- whole calls ----

// Recorded draws in VISSL's order: coin, magnitude, sign, filter, each only where the operation
// needs it.
typedef struct {
    const SrYaml *list;
    int at;
} Draws;

static bool next_is(const Draws *d, const char *kind) {
    return d->at < d->list->n && strcmp(d->list->items[d->at]->items[0]->text, kind) == 0;
}

static const SrYaml *take(Draws *d) { return d->list->items[d->at++]->items[1]; }

// Runs one step of a policy. A magnitude with a deviation is drawn.
static SrStatus run_step(Run r, Draws *d, const char *op, double p, double magnitude,
                         SrImage *image) {
    SrPolicyStep step = {.op = sr__policy_op(op)};
    if (!step.op || (p < 1 && !next_is(d, "random")))
        SR_FAIL(SR_ERR_RUN, "%s: no operation %s, or no draw for it", r.c->name, op);
    if (p < 1 && take(d)->f > p)
        return SR_OK;
    double m = next_is(d, "gauss") ? take(d)->f : magnitude;
    step.magnitude = SR_MAX(0.0, SR_MIN(10.0, m));
    // Operations that have a direction draw it; a magnitude other than 0 shows whether they do.
    SrPolicyStep one = {.op = step.op, .magnitude = 5}, other = one;
    other.negate = true;
    if (sr__policy_argument(&other) != sr__policy_argument(&one) && next_is(d, "random"))
        step.negate = take(d)->f > 0.5;
    if (next_is(d, "choice"))
        step.filter = filter_of(take(d)->text);
    return sr__policy_apply(&step, image, r.pool);
}

// Returns operation i of VISSL's list, or of its list of increasing severity where the two
// differ.
static const char *operation(const SrYaml *config, int64_t i) {
    // clang-format off
    static const char *const names[] = {
        "AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "Solarize", "SolarizeAdd", "Color", "Contrast",
        "Brightness", "Sharpness", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel"};
    static const char *const increasing[SR_COUNT(names)] = {
        [4] = "PosterizeIncreasing", "SolarizeIncreasing", [7] = "ColorIncreasing", "ContrastIncreasing",
        "BrightnessIncreasing", "SharpnessIncreasing"};
    // clang-format on
    const SrYaml *grows = sr_yaml_find(config, "increasing_severity");
    if (i < 0 || i >= SR_COUNT(names))
        return "of no name";
    return grows && grows->b && increasing[i] ? increasing[i] : names[i];
}

static SrStatus run_rand_augment(Run r, Draws *d, const SrYaml *config, SrImage *image) {
    const SrYaml *which = take(d), *magnitude = sr_yaml_find(config, "magnitude");
    for (int i = 0; i < which->n; i++)
        SR_TRY(run_step(r, d, operation(config, which->items[i]->i), 0.5,
                        magnitude ? magnitude->f : 10, image));
    return SR_OK;
}

static SrStatus run_auto_augment(Run r, Draws *d, const char *policy, SrImage *image) {
    int pair = -1;
    const char *chosen = take(d)->text;
    sscanf(chosen, "sub-policy %d", &pair);
    const SrYaml *table = sr_yaml_find(r.c->values, policy);
    if (pair < 0 || !table || pair >= table->n)
        SR_FAIL(SR_ERR_RUN, "%s: no pair '%s' of %s", r.c->name, chosen, policy);
    for (int i = 0; i < 2; i++) {
        const SrYaml *e = table->items[pair]->items[i];
        SR_TRY(run_step(r, d, e->items[0]->text, e->items[1]->f, e->items[2]->f, image));
    }
    return SR_OK;
}

static SrStatus run_policies(Run r) {
    for (int k = 0; k < r.c->values->n; k++) {
        const SrYaml *value = r.c->values->items[k], *draws;
        SrImage image;
        if (value->type != SR_YAML_MAP || !(draws = sr_yaml_find(value, "draws_in_order")))
            continue;
        Draws d = {.list = draws};
        const SrYaml *config = sr_yaml_find(value, "config");
        bool pairs =
            sr_yaml_find(config, "policy_name") || sr_text_starts(r.c->values->keys[k], "Auto");
        const char *policy = *text(config, "policy_name") ? text(config, "policy_name") : "v0";
        SR_TRY(golden_image(r.c, "img", r.pool, &image));
        SR_TRY(pairs ? run_auto_augment(r, &d, policy, &image)
                     : run_rand_augment(r, &d, config, &image));
        if (d.at != draws->n)
            SR_FAIL(SR_ERR_RUN, "%s: %s used %d of %d draws", r.c->name, r.c->values->keys[k], d.at,
                    draws->n);
        SR_TRY(golden_compare_image(r.c, r.c->values->keys[k], &image));
    }
    return SR_OK;
}

static SrStatus run(SrGoldenCase *c) {
    SrImagePool *pool;
    SR_TRY(sr_image_pool_new(&pool));
    Run r = {c, pool};
    SrStatus status = strncmp(c->name, "tf_rand", 7) == 0 ? run_ops(r) : run_policies(r);
    sr_image_pool_free(pool);
    return status;
}

const SrGolden sr_golden_tf_policy = {.prefixes = {"tf_randaugment", "tf_autoaugment"}, .run = run};
