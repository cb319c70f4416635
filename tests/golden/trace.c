// Records the values of training steps and compares them with a golden case, with tolerances from
// shaken runs (trace.h).
#include "tests/golden/trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "tests/golden/table.h"

enum { RUNS = 4 }; // the first run is not shaken

SrStatus golden_trace_keep(SrGoldenCase *c, GoldenTrace *trace, const char *tensor,
                           const float *values, int64_t n) {
    if (!tensor || trace->n == GOLDEN_TRACE_ROWS)
        SR_FAIL(SR_ERR_RUN, "too many tensors to compare");
    GoldenTraceRow *row = &trace->rows[trace->n++];
    *row = (GoldenTraceRow){.tensor = tensor,
                            .values = sr_arena_copy(c->arena, values, (size_t)n * sizeof *values),
                            .n = n};
    if (!row->values)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %s", tensor);
    return SR_OK;
}

SrStatus golden_trace_number(SrGoldenCase *c, GoldenTrace *trace, const char *name, double ours,
                             double reference) {
    float value = (float)ours;
    SR_TRY(golden_trace_keep(c, trace, name, &value, 1));
    trace->rows[trace->n - 1].is_number = true;
    trace->rows[trace->n - 1].reference = (float)reference;
    return SR_OK;
}

static double largest_move(const float *a, const float *b, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)a[i] - (b ? (double)b[i] : 0)));
    return largest;
}

// Factor from the effect of shaking to the tolerance: rounding happens at every operation, the
// shaking only at the start.
static const double margin = 16;

// Returns whether a gradient is rounding noise. The bias of a Linear before a batch norm has no
// other gradient, in the reference too, and LARC multiplies it by trust / weight_decay, so that
// its digits are arbitrary.
static bool is_noise(SrGoldenCase *c, const char *gradient, double largest_grad) {
    int64_t n = 0;
    const float *grad = golden_floats(c, gradient, &n);
    return grad && largest_move(grad, NULL, n) < 1e-6 * largest_grad;
}

static bool moves_by_noise(SrGoldenCase *c, const char *tensor, double largest_grad) {
    return sr_text_starts(tensor, "final.") &&
           is_noise(c, sr_arena_printf(c->arena, "grad0.%s", tensor + strlen("final.")),
                    largest_grad);
}

static double base_tolerance(SrGoldenCase *c, const char *tensor, double largest_grad) {
    if (moves_by_noise(c, tensor, largest_grad))
        return 2e-3;
    bool tap = sr_text_starts(tensor, "emb") || sr_text_starts(tensor, "scores") ||
               sr_text_starts(tensor, "target") || sr_text_starts(tensor, "teacher") ||
               sr_text_starts(tensor, "queue");
    return tap ? GOLDEN_TAP : GOLDEN_GRAD;
}

static double largest_gradient(const GoldenTrace *t) {
    double largest = 0;
    for (int k = 0; k < t->n; k++)
        if (sr_text_starts(t->rows[k].tensor, "grad0."))
            largest = fmax(largest, largest_move(t->rows[k].values, NULL, t->rows[k].n));
    return largest;
}

// Largest tolerance that shaking can cause. A tensor that needs more is listed in left_out.
static const double widest = 0.05;

#define FEW "statistics over two images at 1 x 1 after updates whose gradients cancel almost whole"
// Tensors that float32 does not determine to 5 % in these cases, neither in PyTorch nor here.
static const struct {
    const char *case_name, *pattern, *reason;
} left_out[] = {
    {"swav_steps_r50", "final.trunk._feature_blocks.layer4.0.bn3.running_var", FEW},
    {"swav_steps_r50", "final.trunk._feature_blocks.layer4.1.bn1.running_mean", FEW},
    {"swav_steps_r50", "final.trunk._feature_blocks.layer4.1.bn1.running_var", FEW},
    {"swav_steps_r50", "final.trunk._feature_blocks.layer4.1.bn3.running_var", FEW},
    {"swav_steps_r50", "final.trunk._feature_blocks.layer4.2.bn1.running_mean", FEW},
    {"swav_steps_r50", "final.trunk._feature_blocks.layer4.2.bn1.running_var", FEW},
    {"swav_steps_r50", "final.trunk._feature_blocks.layer4.2.bn3.running_var", FEW},
    {"swav_steps_r50", "final.heads.0.projection_head.1.running_mean", FEW},
    {"swav_steps_r50", "final.heads.0.projection_head.1.running_var", FEW},
};

static const char *reason_to_leave_out(const SrGoldenCase *c, const char *tensor) {
    for (int i = 0; i < SR_COUNT(left_out); i++)
        if (strcmp(c->name, left_out[i].case_name) == 0 &&
            sr_text_glob(left_out[i].pattern, tensor))
            return left_out[i].reason;
    return NULL;
}

// Effects of the shaking on one case, for the line that the runner prints.
typedef struct {
    int widened, beyond_1, left_out;
    double largest_grad;
} Widened;

// Returns whether the case lists the tensor as noise, or the reference's own values are as small
// as noise.
static bool is_rounding_noise(SrGoldenCase *c, const char *tensor, double largest_grad) {
    return golden_is_noise(c, tensor) ||
           (sr_text_starts(tensor, "grad0.") && is_noise(c, tensor, largest_grad));
}

// Returns the largest change of row k by the shaken runs.
static double moved_by(const GoldenTrace *runs, int k) {
    const GoldenTraceRow *plain = &runs[0].rows[k];
    double moved = 0;
    for (int i = 1; i < RUNS; i++)
        moved = fmax(moved, largest_move(plain->values, runs[i].rows[k].values, plain->n));
    return moved;
}

static SrStatus compare_row(SrGoldenCase *c, const GoldenTraceRow *plain, double moved, double base,
                            Widened *w) {
    int64_t m = 0;
    const char *reason = reason_to_leave_out(c, plain->tensor);
    if (reason) {
        printf("  %s: left out: %s\n", plain->tensor, reason);
        w->left_out++;
        return SR_OK;
    }
    // This value must also be small compared with the other gradients.
    if (is_rounding_noise(c, plain->tensor, w->largest_grad))
        return golden_number(c, plain->tensor,
                             1 + largest_move(plain->values, NULL, plain->n) / w->largest_grad, 1,
                             GOLDEN_GRAD / 10);
    const float *reference =
        plain->is_number ? &plain->reference : golden_floats(c, plain->tensor, &m);
    m = plain->is_number ? 1 : m;
    double scale = reference ? largest_move(reference, NULL, m) : 0;
    double wanted = scale > 0 ? margin * moved / scale : 0;
    double tolerance = fmax(base, fmin(wanted, widest));
    w->widened += wanted > base;
    w->beyond_1 += tolerance > 0.01;
    if (tolerance > 0.01)
        printf("  %s: tolerance %.3g (shaking asks for %.3g)\n", plain->tensor, tolerance, wanted);
    if (plain->is_number)
        return golden_number(c, plain->tensor, (double)plain->values[0], (double)plain->reference,
                             tolerance);
    return golden_compare(c, plain->tensor, plain->values, plain->n, tolerance);
}

static SrStatus compare_runs(SrGoldenCase *c, const GoldenTrace *runs) {
    const GoldenTrace *plain = &runs[0];
    double largest_grad = largest_gradient(plain);
    Widened w = {.largest_grad = largest_grad};
    for (int k = 0; k < plain->n; k++)
        SR_TRY(compare_row(c, &plain->rows[k], moved_by(runs, k),
                           base_tolerance(c, plain->rows[k].tensor, largest_grad), &w));
    printf("  %d of %d tolerances widened by the shaking, %d beyond 1 %%, none beyond 5 %%; %d "
           "tensors left out\n",
           w.widened, plain->n, w.beyond_1, w.left_out);
    return SR_OK;
}

SrStatus golden_trace_run(SrGoldenCase *c, GoldenTraceRun *once) {
    GoldenTrace *runs = sr_calloc(RUNS, sizeof *runs);
    SrStatus status;
    if (!runs)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for what is compared");
    for (int i = RUNS; i-- > 0;)
        SR_TRY_GOTO(once(c, i, &runs[i]));
    SR_TRY_GOTO(compare_runs(c, runs));
done:
    sr_free(runs);
    return status;
}

void golden_shake(float *x, int64_t n, int shaking, uint64_t key) {
    SrRng rng = sr_rng((uint64_t)shaking, SR_RNG_TEST, 0, key, 0, 0);
    for (int64_t i = 0; i < n && shaking; i++)
        x[i] = nextafterf(x[i], sr_rng_below(&rng, 2) ? INFINITY : -INFINITY);
}

void golden_shake_table(SrParams *params, int shaking) {
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        if (p->kind == SR_SLOT_PARAM)
            golden_shake(p->value, sr_shape_count(p->shape), shaking, (uint64_t)i);
    }
}
