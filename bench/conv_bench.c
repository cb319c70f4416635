// Speed of every convolution of the benchmark ResNets: GFLOP/s of each pass and its share of this
// processor's peak. The peak is measured again before each layer, since clocks drift and cores
// are shared.
//
//   make bench-conv                   all lists
//   build/conv-bench r50-224 [mask]   one list; mask as in SrMachine.conv_designs: 1 direct,
//                                     2 F(4x4), 4 F(2x2), 8 F(3x3), 16 tile registers
//   build/conv-bench r50-224 31 bf16  in bfloat16, with the peak of that type; x6, x3, ieee:
//                                     floats as so many products on tile registers, or without
//                                     them (MACHINE.FP32)
//
// FLOPs are those of the plain definition (taps in the padding counted), so Winograd exceeds 100
// %. Times are processor time over the number of threads, so that other programs do not count.
// After each list come the times of its passes, and the share of the peak over all of its direct
// passes together and over its Winograd passes on maps of 8 and more, each layer as often as the
// network has it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bf16.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/conv_peak.h"

typedef struct {
    int N, H, C, K, R, stride, times;
} Layer;

// clang-format off
#define RESNET50(N, A) /* images, side of the first stage */ \
    {N, 4 * A, 3, 64, 7, 2, 1}, {N, A, 64, 64, 1, 1, 1}, {N, A, 256, 64, 1, 1, 2}, {N, A, 64, 64, 3, 1, 3}, \
    {N, A, 64, 256, 1, 1, 4}, {N, A, 256, 128, 1, 1, 1}, {N, A, 128, 128, 3, 2, 1}, {N, A, 256, 512, 1, 2, 1}, \
    {N, A / 2, 512, 128, 1, 1, 3}, {N, A / 2, 128, 128, 3, 1, 3}, {N, A / 2, 128, 512, 1, 1, 4}, \
    {N, A / 2, 512, 256, 1, 1, 1}, {N, A / 2, 256, 256, 3, 2, 1}, {N, A / 2, 512, 1024, 1, 2, 1}, \
    {N, A / 4, 1024, 256, 1, 1, 5}, {N, A / 4, 256, 256, 3, 1, 5}, {N, A / 4, 256, 1024, 1, 1, 6}, \
    {N, A / 4, 1024, 512, 1, 1, 1}, {N, A / 4, 512, 512, 3, 2, 1}, {N, A / 4, 1024, 2048, 1, 2, 1}, \
    {N, A / 8, 2048, 512, 1, 1, 2}, {N, A / 8, 512, 512, 3, 1, 2}, {N, A / 8, 512, 2048, 1, 1, 3}
static const Layer r50_224[] = {RESNET50(16, 56)}, r50_96[] = {RESNET50(48, 24)};
static const Layer r18_cifar[] = {
    {128, 32, 3, 64, 3, 1, 1}, {128, 32, 64, 64, 3, 1, 4}, {128, 32, 64, 128, 3, 2, 1}, {128, 32, 64, 128, 1, 2, 1},
    {128, 16, 128, 128, 3, 1, 3}, {128, 16, 128, 256, 3, 2, 1}, {128, 16, 128, 256, 1, 2, 1},
    {128, 8, 256, 256, 3, 1, 3}, {128, 8, 256, 512, 3, 2, 1}, {128, 8, 256, 512, 1, 2, 1}, {128, 4, 512, 512, 3, 1, 3},
};
static const Layer r18_quarter[] = { // the trunk of the small recipes, two views of 128 images
    {256, 32, 3, 16, 3, 1, 1}, {256, 32, 16, 16, 3, 1, 4}, {256, 32, 16, 32, 3, 2, 1}, {256, 32, 16, 32, 1, 2, 1},
    {256, 16, 32, 32, 3, 1, 3}, {256, 16, 32, 64, 3, 2, 1}, {256, 16, 32, 64, 1, 2, 1},
    {256, 8, 64, 64, 3, 1, 3}, {256, 8, 64, 128, 3, 2, 1}, {256, 8, 64, 128, 1, 2, 1}, {256, 4, 128, 128, 3, 1, 3},
};
static const struct { const char *name; const Layer *layer; int n; } lists[] = {
    {"r50-224", r50_224, SR_COUNT(r50_224)}, {"r50-96", r50_96, SR_COUNT(r50_96)},
    {"r18-cifar", r18_cifar, SR_COUNT(r18_cifar)},
    {"r18-quarter", r18_quarter, SR_COUNT(r18_quarter)},
};
// clang-format on

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec) / sr_parallel_threads();
}

typedef struct {
    void *x, *y; // of the measured type
    float *w, *dw;
    void *scratch, *prepared;
} Buffers;

static void run_pass(const SrConv *s, SrConvPass pass, const Buffers *b) {
    const float *w = sr_conv_prepared(s, pass).bytes ? b->prepared : b->w;
    // A network whose passes share prepared weights prepares them once.
    sr_conv_prepare(s, pass, b->w, b->prepared);
    if (pass == SR_CONV_FORWARD)
        sr_conv_forward(s, b->x, w, NULL, b->y, b->scratch);
    else if (pass == SR_CONV_BACKWARD_DATA)
        sr_conv_backward_data(s, b->y, w, b->x, false, b->scratch);
    else
        sr_conv_backward_weight(s, b->x, b->y, b->dw, NULL, b->scratch);
}

// Returns the least time of a few calls, in at most about a third of a second.
static double time_pass(const SrConv *s, SrConvPass pass, Buffers *b) {
    size_t prepared_bytes = sr_conv_prepared(s, pass).bytes + SR_ALIGN; // at least one byte
    b->scratch = sr_map(sr_conv_scratch_bytes(s, pass));
    b->prepared = sr_map(prepared_bytes);
    run_pass(s, pass, b);
    double best = 1e9, start = now();
    for (int i = 0; i < 8 && (i < 2 || now() - start < 0.3); i++) {
        double t = now();
        run_pass(s, pass, b);
        best = SR_MIN(best, now() - t);
    }
    sr_unmap(b->scratch, sr_conv_scratch_bytes(s, pass));
    sr_unmap(b->prepared, prepared_bytes);
    return best;
}

static void fill(SrDtype type, void *a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float v = (float)(i * 2654435761u >> 16 & 1023) / 512.0f - 1.0f;
        if (type == SR_BF16)
            ((SrBf16 *)a)[i] = sr_bf16_round(v);
        else
            ((float *)a)[i] = v;
    }
}

// Seconds spent, and seconds that the same work would take at the peak.
typedef struct {
    double spent, ideal;
} Time;

typedef struct {
    double pass[3];              // all designs together
    Time direct[3], winograd[3]; // Winograd: on maps of 8 and more
    Time tiles[3];
} Totals;

static void add_time(Totals *total, const SrConv *c, SrConvPass pass, Time t) {
    const char *design = sr_conv_design(c, pass);
    total->pass[pass] += t.spent;
    Time *sum = strcmp(design, "direct") == 0                            ? total->direct
                : strcmp(design, "tiles") == 0                           ? total->tiles
                : strncmp(design, "winograd", 8) == 0 && c->shape.H >= 8 ? total->winograd
                                                                         : NULL;
    if (sum) {
        sum[pass].spent += t.spent;
        sum[pass].ideal += t.ideal;
    }
}

static void print_share(const char *name, const Time t[3]) {
    static const char *const passes[] = {"forward", "data", "weight"};
    Time all = {0};
    printf("  %-22s", name);
    for (int pass = 0; pass < 3; pass++) {
        all.spent += t[pass].spent;
        all.ideal += t[pass].ideal;
        printf(" %s %3.0f%%", passes[pass],
               t[pass].spent > 0 ? 100 * t[pass].ideal / t[pass].spent : 0);
    }
    printf(" all %3.0f%% of the peak in %.3f s\n", all.spent > 0 ? 100 * all.ideal / all.spent : 0,
           all.spent);
}

static void print_totals(const char *name, const Totals *t) {
    printf("%s: %.3f + %.3f + %.3f = %.3f s\n", name, t->pass[0], t->pass[1], t->pass[2],
           t->pass[0] + t->pass[1] + t->pass[2]);
    print_share("direct", t->direct);
    print_share("Winograd, maps >= 8", t->winograd);
    print_share("tiles", t->tiles);
}

// Returns the highest peak so far: a disturbed measurement is too low and would make shares too
// high.
static double measured_peak(const SrMachine *machine, SrDtype type) {
    static double best;
    for (int i = 0; i < 3; i++)
        best = SR_MAX(best, sr_conv_peak_gflops(machine, type));
    return best;
}

static void bench_layer(const SrMachine *machine, const Layer *l, SrDtype type, Totals *total) {
    SrConvShape s = {.N = l->N,
                     .H = l->H,
                     .W = l->H,
                     .C = l->C,
                     .K = l->K,
                     .R = l->R,
                     .S = l->R,
                     .stride_h = l->stride,
                     .stride_w = l->stride,
                     .pad_h = l->R / 2,
                     .pad_w = l->R / 2,
                     .dilation_h = 1,
                     .dilation_w = 1,
                     .groups = 1,
                     .type = type,
                     .machine = machine};
    sr_conv_shape(&s);
    SrConv c = sr_conv_choose(&s);
    size_t x = (size_t)s.N * s.H * s.W * s.C, y = (size_t)s.N * s.P * s.Q * s.K,
           w = (size_t)s.K * s.C * s.R * s.S;
    Buffers b = {sr_map(x * 4), sr_map(y * 4), sr_map(w * 4), sr_map(w * 4), NULL, NULL};
    fill(type, b.x, x), fill(type, b.y, y), fill(SR_F32, b.w, w);
    double gflop = 2e-9 * (double)y * s.C * s.R * s.S, peak = measured_peak(machine, type);
    printf("%3d %3d %4d>%-4d %dx%d/%d x%d peak %4.0f", s.N, s.H, s.C, s.K, s.R, s.S, s.stride_h,
           l->times, peak);
    for (int pass = 0; pass < 3; pass++) {
        if (pass == SR_CONV_BACKWARD_DATA && s.C == 3) { // the gradient of the images is not needed
            printf(" |                       ");
            continue;
        }
        double t = time_pass(&c, (SrConvPass)pass, &b);
        add_time(total, &c, (SrConvPass)pass, (Time){t * l->times, gflop / peak * l->times});
        printf(" | %4.0f %3.0f%% %-9s %3.0fM", gflop / t, 100 * gflop / t / peak,
               sr_conv_design(&c, (SrConvPass)pass),
               (double)sr_conv_scratch_bytes(&c, (SrConvPass)pass) / 1e6);
    }
    printf("\n");
    fflush(stdout);
    sr_unmap(b.x, x * 4), sr_unmap(b.y, y * 4), sr_unmap(b.w, w * 4), sr_unmap(b.dw, w * 4);
}

int main(int argc, char **argv) {
    sr_parallel_init();
    SrMachine machine = *sr_machine_default();
    SrDtype type = argc > 3 && strcmp(argv[3], "bf16") == 0 ? SR_BF16 : SR_F32;
    static const char *const fp32[] = {"ieee", "x6", "x3"};
    for (int i = 0; argc > 3 && i < SR_COUNT(fp32); i++)
        if (strcmp(argv[3], fp32[i]) == 0)
            machine.fp32 = (SrConvFp32)i;
    if (argc > 2)
        machine.conv_designs = (unsigned)atoi(argv[2]);
    printf("%s, %s, %d threads\n", sr_machine_name(&machine), sr_dtype_name(type),
           sr_parallel_threads());
    for (int i = 0; i < SR_COUNT(lists); i++) {
        if (argc > 1 && strcmp(argv[1], lists[i].name) != 0)
            continue;
        printf(
            "\n%s: images side C>K kernel/stride times | forward | backward data | backward weight"
            " (GFLOP/s, of peak, design, scratch)\n",
            lists[i].name);
        Totals total = {0};
        for (int j = 0; j < lists[i].n; j++)
            bench_layer(&machine, &lists[i].layer[j], type, &total);
        print_totals(lists[i].name, &total);
    }
    return 0;
}
