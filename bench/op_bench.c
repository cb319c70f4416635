// Speed of one op on one input: least time of its forward and backward pass, GFLOP/s of the plain
// definition (the backward pass counts twice the forward) and the share of the peak that
// convolutions reach, measured in the same run.
//
//   make build/op-bench && build/op-bench attention '{num_heads: 6}' 16,197,1152 [bf16]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/yaml_load.h"
#include "kernels/basic/cast.h"
#include "kernels/conv/conv_peak.h"
#include "kernels/op.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *fill(SrShape shape) {
    int64_t n = sr_shape_count(shape);
    float *a = sr_map((size_t)n * sizeof *a);
    for (int64_t i = 0; a && i < n; i++)
        a[i] = (float)((uint64_t)i * 2654435761u >> 16 & 1023) / 512.0f - 1.0f;
    return a;
}

// Returns numbers of either type, for inputs, outputs and their gradients.
static void *fill_as(SrDtype type, SrShape shape) {
    float *a = fill(shape);
    if (a && type == SR_BF16)
        sr_cast(sr_machine_default(), SR_BF16, a, SR_F32, a,
                sr_shape_count(shape)); // bfloat16 is narrower, so a write never overtakes the read
    return a;
}

// Parses a shape such as "16,197,1152".
static SrShape parse_shape(const char *text) {
    SrShape s = {0};
    for (char *end = (char *)text; *text && s.rank < SR_MAX_RANK; text = *end ? end + 1 : end)
        s.d[s.rank++] = (int)strtol(text, &end, 10);
    return s;
}

static double least_time(void (*pass)(const SrOpCall *), const SrOpCall *call) {
    double best = 1e9, start = now();
    pass(call);
    for (int i = 0; i < 200 && (i < 3 || now() - start < 1); i++) {
        double t = now();
        pass(call);
        best = SR_MIN(best, now() - t);
    }
    return best;
}

// Prepares weights as the pass reads them, packed once as in a step; this is not timed.
static void prepare(const SrOp *op, const SrOpSite *site, SrOpPass pass, SrOpCall *call) {
    SrOpPrepared p = {0};
    if (op->prepared)
        p = op->prepared(site, pass);
    call->prepared = p.bytes ? sr_map(p.bytes) : NULL;
    if (p.bytes)
        op->prepare[pass](call);
}

static SrStatus bench(const SrOp *op, SrDtype type, const char *text, SrShape x, SrArena *arena) {
    SrYaml *map_of_params = NULL;
    SrShape y;
    SrSlot slots[SR_OP_MAX_SLOTS];
    SrTensor w[SR_OP_MAX_SLOTS];
    float *dw[SR_OP_MAX_SLOTS];
    void *params = sr_arena_alloc(arena, op->params_bytes + 1);
    SR_TRY(sr_yaml_parse(arena, text, strlen(text), op->name, &map_of_params));
    SR_TRY(op->options ? sr_options_parse(op->options, map_of_params, op->name, arena, params)
                       : SR_OK);
    SR_TRY(op->infer(params, &x, 1, &y));
    int n_w = op->slots ? op->slots(params, &x, 1, slots) : 0;
    for (int i = 0; i < n_w; i++) {
        w[i] = (SrTensor){slots[i].shape, slots[i].dtype, fill(slots[i].shape)};
        dw[i] = fill(slots[i].shape);
    }
    SrOpSite site = {sr_machine_default(), params, &x, 1, type, NULL};
    void *design = sr_arena_alloc(arena, op->design_bytes + 1);
    if (op->design) {
        op->design(&site, design);
        site.design = design;
    }
    SrTensor in = {x, type, fill_as(type, x)};
    float *dx = fill_as(type, x);
    SrOpCall call = {.machine = site.machine,
                     .params = params,
                     .design = site.design,
                     .train = true,
                     .n_in = 1,
                     .x = &in,
                     .y = {y, type, fill_as(type, y)},
                     .n_w = n_w,
                     .w = w,
                     .saved = op->saved_bytes ? sr_map(op->saved_bytes(params, &x, 1)) : NULL,
                     .scratch = op->scratch_bytes ? sr_map(op->scratch_bytes(&site)) : NULL};
    double gflop = op->flops ? 1e-9 * (double)op->flops(params, &x, 1, y) : 0,
           peak = sr_conv_peak_gflops(site.machine, type);
    prepare(op, &site, SR_PASS_FORWARD, &call);
    double forward = least_time(op->forward, &call);
    printf("%s %s: %d threads; forward %.3f ms, %.0f GFLOP/s, %.0f %% of peak", op->name, text,
           sr_parallel_threads(), 1e3 * forward, gflop / forward, 100 * gflop / forward / peak);
    if (op->backward) {
        call.dy = fill_as(type, y), call.dw = dw, call.dx = &dx;
        prepare(op, &site, SR_PASS_BACKWARD, &call);
        double backward = least_time(op->backward, &call);
        printf("; backward %.3f ms, %.0f GFLOP/s, %.0f %%", 1e3 * backward, 2 * gflop / backward,
               200 * gflop / backward / peak);
    }
    printf("\n");
    return SR_OK;
}

int main(int argc, char **argv) {
    const SrOp *op = NULL;
    bool half = argc == 5 && strcmp(argv[4], "bf16") == 0;
    if (argc != 4 + half || sr_op_find(argv[1], &op) != SR_OK || op->min_in != 1 ||
        (half && !(op->flags & SR_OP_BF16))) {
        fprintf(stderr,
                "usage: op-bench OP '{params}' N,..,C [bf16]   (an op of one input; got %s)\n",
                argc > 1 ? argv[1] : "none");
        return 2;
    }
    sr_parallel_init();
    SrArena arena = SR_ARENA_INIT;
    SrStatus status = bench(op, half ? SR_BF16 : SR_F32, argv[2], parse_shape(argv[3]), &arena);
    if (status != SR_OK)
        fprintf(stderr, "%s\n", sr_status_message());
    sr_arena_deinit(&arena);
    return status == SR_OK ? 0 : 2;
}
