// Loads tensors of a golden case into a parameter table and compares entries with tensors
// (table.h).
#include "tests/golden/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text/text.h"
#include "formats/names/naming.h"

enum { NAME_BYTES = 512 };

// Returns the entry of a tensor of this kind, or -1. Prototypes that VISSL normalises by hand are
// the directions of a weight norm here.
static int entry_of(SrParams *params, const char *tensor, const char *kind, const char *prefix) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", prefix, tensor + strlen(kind));
    int index = sr_params_find(params, name);
    if (index >= 0)
        return index;
    snprintf(name, sizeof name, "%s%s.weight_v", prefix, tensor + strlen(kind));
    return sr_params_find(params, name);
}

static SrStatus copy_into(const SrParam *entry, const SrNamedTensor *from) {
    if (entry->dtype != from->tensor.dtype ||
        sr_shape_count(entry->shape) != sr_shape_count(from->tensor.shape))
        SR_FAIL(SR_ERR_RUN, "%s does not fit the parameter %s", from->name, entry->name);
    memcpy(entry->value, from->tensor.data,
           (size_t)sr_shape_count(entry->shape) * sr_dtype_bytes(entry->dtype));
    return SR_OK;
}

SrStatus golden_load_table(SrGoldenCase *c, SrParams *params, const char *kind, const char *prefix,
                           bool whole) {
    int loaded = 0;
    for (int i = 0; i < c->tensors->n; i++) {
        const SrNamedTensor *t = &c->tensors->tensors[i];
        if (!sr_text_starts(t->name, kind) || sr_naming_is_constant(t->name))
            continue;
        int index = entry_of(params, t->name, kind, prefix);
        if (index < 0 && whole)
            SR_FAIL(SR_ERR_RUN, "%s has no counterpart in our table", t->name);
        if (index < 0)
            continue;
        SR_TRY(copy_into(sr_params_at(params, index), t));
        loaded++;
    }
    if (whole && loaded != sr_params_count(params))
        SR_FAIL(SR_ERR_RUN, "the case sets %d of our %d parameters", loaded,
                sr_params_count(params));
    return SR_OK;
}

static double largest_of(SrGoldenCase *c, const char *tensor) {
    int64_t n = 0;
    const float *v = golden_floats(c, tensor, &n);
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)v[i]));
    return largest;
}

// A gradient that is zero in exact arithmetic (the bias of a Linear before a batch norm) is
// rounding noise in the reference too. A millionth of the largest gradient counts as zero, and
// sslrun's must be as small.
static const double noise = 1e-6;

static SrStatus compare_grad(SrGoldenCase *c, const char *tensor, const SrParam *entry,
                             double largest, double relative) {
    int64_t n = sr_shape_count(entry->shape), m;
    if (!golden_is_noise(c, tensor) && largest_of(c, tensor) >= noise * largest)
        return golden_compare(c, tensor, entry->grad, n, relative);
    const float *reference = golden_floats(c, tensor, &m);
    double error = m == n ? 0 : INFINITY;
    for (int64_t i = 0; i < n && m == n; i++)
        error = fmax(error, fabs((double)entry->grad[i] - (double)reference[i]) / largest);
    return golden_number(c, tensor, 1 + error, 1, noise);
}

static SrStatus compare_value(SrGoldenCase *c, const char *tensor, const SrParam *entry,
                              double relative) {
    int64_t n = sr_shape_count(entry->shape), m;
    if (entry->dtype == SR_F32)
        return golden_compare(c, tensor, entry->value, n, relative);
    const float *reference = golden_floats(c, tensor, &m);
    for (int64_t i = 0; i < n; i++)
        SR_TRY(golden_number(c, tensor, (double)((const int64_t *)entry->value)[i],
                             (double)reference[i], relative));
    return SR_OK;
}

static SrStatus find_entry(SrParams *params, const char *tensor, const char *kind,
                           const char *prefix, const SrParam **out) {
    int index = entry_of(params, tensor, kind, prefix);
    if (index < 0)
        SR_FAIL(SR_ERR_RUN, "%s has no counterpart in our table", tensor);
    *out = sr_params_at(params, index);
    return SR_OK;
}

// Returns the recorded difference of a rerun of the reference in float64 for this kind of
// tensors.
static double rerun_difference(const SrGoldenCase *c, const char *kind) {
    const SrYaml *kinds = sr_yaml_find(c->values, "float64_rerun_max_relative_difference");
    for (int i = 0; kinds && i < kinds->n; i++)
        if (sr_text_starts(kind, kinds->keys[i]))
            return kinds->items[i]->f;
    return 0;
}

SrStatus golden_compare_grads(SrGoldenCase *c, SrParams *params, const char *kind,
                              const char *prefix, double relative) {
    double largest = 0;
    int matched = 0;
    relative = fmax(relative, 4 * rerun_difference(c, kind));
    for (int i = 0; i < c->tensors->n; i++)
        if (sr_text_starts(c->tensors->tensors[i].name, kind))
            largest = fmax(largest, largest_of(c, c->tensors->tensors[i].name));
    for (int i = 0; i < c->tensors->n; i++) {
        const char *tensor = c->tensors->tensors[i].name;
        const SrParam *entry = NULL;
        if (!sr_text_starts(tensor, kind))
            continue;
        SR_TRY(find_entry(params, tensor, kind, prefix, &entry));
        if (!entry->grad)
            SR_FAIL(SR_ERR_RUN, "%s: our parameter has no gradient", tensor);
        SR_TRY(compare_grad(c, tensor, entry, largest, relative));
        matched++;
    }
    if (matched == 0)
        SR_FAIL(SR_ERR_RUN, "the case has no tensor '%s...' to compare with", kind);
    return SR_OK;
}

SrStatus golden_compare_values(SrGoldenCase *c, SrParams *params, const char *kind,
                               const char *prefix, double relative) {
    for (int i = 0; i < c->tensors->n; i++) {
        const char *tensor = c->tensors->tensors[i].name;
        const SrParam *entry = NULL;
        if (!sr_text_starts(tensor, kind))
            continue;
        SR_TRY(find_entry(params, tensor, kind, prefix, &entry));
        SR_TRY(compare_value(c, tensor, entry, relative));
    }
    return SR_OK;
}
