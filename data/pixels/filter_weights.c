// The resampling filters and their weights, in double precision.
#include "data/pixels/filter_weights.h"

#include <math.h>

#include "base/compiler.h"

typedef struct {
    double support; // in source pixels at scale 1
    double (*weight)(double x);
} Kernel;

static double sinc(double x) { return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x); }

// Three lobes.
static double lanczos(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

static double bilinear(double x) { return fabs(x) < 1 ? 1 - fabs(x) : 0; }

// Keys' cubic with a = -0.5.
static double bicubic(double x) {
    x = fabs(x);
    if (x < 1)
        return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
}

static double box(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

// A sinc under a Hamming window: sharper than the triangle at the same support.
static double hamming(double x) {
    return fabs(x) < 1 ? sinc(x) * (0.54 + 0.46 * cos(M_PI * x)) : 0;
}

static const Kernel kernels[] = {
    [SR_FILTER_LANCZOS] = {3, lanczos}, [SR_FILTER_BILINEAR] = {1, bilinear},
    [SR_FILTER_BICUBIC] = {2, bicubic}, [SR_FILTER_BOX] = {0.5, box},
    [SR_FILTER_HAMMING] = {1, hamming},
};

int sr__filter_width(SrFilter filter, SrFilterSpan span, int out) {
    return (int)ceil(kernels[filter].support * SR_MAX(span.length / out, 1)) * 2 + 1;
}

// The order of the operations is PIL's, so that weights have its bits.
int sr__filter_weights(SrFilter filter, SrFilterSpan span, int out, int i, int *first, double *w) {
    const Kernel *kernel = &kernels[filter];
    double scale = span.length / out;
    double stretch = SR_MAX(scale, 1), support = kernel->support * stretch;
    double center = span.start + (i + 0.5) * scale, sum = 0;
    *first = SR_MAX((int)(center - support + 0.5), 0);
    int count = SR_MIN((int)(center + support + 0.5), span.in) - *first;
    for (int t = 0; t < count; t++) {
        w[t] = kernel->weight((t + *first - center + 0.5) * (1 / stretch));
        sum += w[t];
    }
    for (int t = 0; t < count && sum != 0; t++)
        w[t] /= sum;
    return count;
}
