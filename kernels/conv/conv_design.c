// Runs the forward pass of a design, and what follows on the output.
#include "kernels/conv/conv_design.h"

#include "base/compiler.h"
#include "base/parallel.h"

typedef struct {
    const SrConvShape *s;
    const SrConvEnd *end;
    char *y;
} Activation;

static void activate_row(void *arg, int64_t i, int thread) {
    (void)thread;
    const Activation *a = arg;
    int64_t row = (int64_t)a->s->Q * a->s->K;
    char *y = a->y + i * row * (int64_t)sr_dtype_bytes(a->s->type);
    a->end->activate(a->s->type, y, y, row);
}

void sr__conv_design_forward(const SrConvDesign *d, const SrConvShape *s, const void *x,
                             const float *w, const SrConvEnd *end, void *y, void *scratch) {
    SrConvEnd taken = *end;
    SR_ASSERT(!end->sums.unit || !(end->bias || end->residual || end->relu || end->activate));
    SR_ASSERT((uintptr_t)scratch % SR_ALIGN == 0);
    if (d->ends_with_relu_only)
        taken.activate = NULL;
    bool nothing =
        !taken.bias && !taken.residual && !taken.relu && !taken.sums.unit && !taken.activate;
    d->forward(s, x, w, nothing ? NULL : &taken, y, scratch);
    Activation a = {s, end, y};
    if (end->activate && !taken.activate)
        sr_parallel_for((int64_t)s->N * s->P, activate_row, &a);
}
