// VISSL's Sinkhorn in one precision.  sinkhorn_simd.c includes this file twice, with REAL, NAME(f)
// and EXP(x) defined.
//
// The order of roundings is VISSL's (losses/distibuted_sinkhornknopp.py): Q / sum, Q * (r / u), Q *
// (c / column sum), each stored in REAL.  Only the sums are made in double.  Q is (samples, P)
// here, the transpose of VISSL's.

typedef struct {
    const SrSinkhorn *s;
    int rows, chunks;
    REAL *q;         // (rows, P)
    REAL *factor;    // (P)
    double *partial; // (chunks, P)
    double *sums;    // (P)
    double *total;   // (chunks)
} NAME(Work);

static size_t NAME(bytes)(const SrSinkhorn *s) {
    size_t rows = (size_t)(s->n + s->n_queue), P = (size_t)s->P, chunks = (size_t)chunk_count(s);
    return (chunks * P + P + chunks) * sizeof(double) + (rows + 1) * P * sizeof(REAL);
}

static NAME(Work) NAME(work)(const SrSinkhorn *s, void *scratch) {
    NAME(Work) w = {.s = s, .rows = s->n + s->n_queue, .chunks = chunk_count(s)};
    w.partial = scratch;
    w.sums = w.partial + (int64_t)w.chunks * s->P;
    w.total = w.sums + s->P;
    w.factor = (REAL *)(w.total + w.chunks);
    w.q = w.factor + s->P;
    return w;
}

static double NAME(sum)(const REAL *q, int P) {
    double lane[LANES] = {0};
    int k = 0;
    for (; k + LANES <= P; k += LANES)
        for (int i = 0; i < LANES; i++)
            lane[i] += (double)q[k + i];
    for (int i = 0; k < P; k++, i++)
        lane[i] += (double)q[k];
    return add_lanes(lane);
}

// Writes q = exp(scores / epsilon - shift) for a chunk; returns the sum.
static double NAME(exponentials)(const NAME(Work) * w, int row, REAL epsilon, REAL shift) {
    int P = w->s->P;
    const float *x = row_scores(w->s, row);
    REAL *q = w->q + (int64_t)row * P;
    for (int k = 0; k < P; k++)
        q[k] = EXP((REAL)x[k] / epsilon - shift);
    return NAME(sum)(q, P);
}

static void NAME(collect)(double *restrict sums, const REAL *restrict q, int P) {
    for (int k = 0; k < P; k++)
        sums[k] += (double)q[k];
}

// Computes q / total + plus, and the column sums of the chunk.
static void NAME(shift_rows)(const NAME(Work) * w, int chunk, REAL total, REAL plus) {
    int P = w->s->P;
    double *sums = w->partial + (int64_t)chunk * P;
    memset(sums, 0, (size_t)P * sizeof(double));
    for (int row = first_row(w->rows, chunk, w->chunks);
         row < first_row(w->rows, chunk + 1, w->chunks); row++) {
        REAL *q = w->q + (int64_t)row * P;
        for (int k = 0; k < P; k++)
            q[k] = q[k] / total + plus;
        NAME(collect)(sums, q, P);
    }
}

// Makes one iteration on the rows of a chunk: scales prototypes by `factor`, brings samples to the
// mass c, and sums the new columns.  Returns false when a sample's row has no mass that REAL can
// scale.
static bool NAME(balance_rows)(const NAME(Work) * w, int chunk, REAL c) {
    int P = w->s->P;
    double *sums = w->partial + (int64_t)chunk * P;
    memset(sums, 0, (size_t)P * sizeof(double));
    for (int row = first_row(w->rows, chunk, w->chunks);
         row < first_row(w->rows, chunk + 1, w->chunks); row++) {
        REAL *q = w->q + (int64_t)row * P;
        for (int k = 0; k < P; k++)
            q[k] *= w->factor[k];
        REAL by = c / (REAL)NAME(sum)(q, P);
        if (!isfinite(by))
            return false;
        for (int k = 0; k < P; k++)
            q[k] *= by;
        NAME(collect)(sums, q, P);
    }
    return true;
}

// Adds the chunks' sums to sums (P), in order, over all ranks.  Returns false if a prototype has
// none.
static bool NAME(add_up)(const NAME(Work) * w) {
    int P = w->s->P;
    memset(w->sums, 0, (size_t)P * sizeof(double));
    for (int chunk = 0; chunk < w->chunks; chunk++)
        for (int k = 0; k < P; k++)
            w->sums[k] += w->partial[(int64_t)chunk * P + k];
    bool all = true;
    for (int k = 0; k < P; k++)
        all = all && w->sums[k] != 0;
    return all;
}

// Computes factor = r / u, with VISSL's largest finite factor where the division overflows.
static void NAME(factors)(const NAME(Work) * w, const double *r) {
    REAL largest = 0;
    for (int k = 0; k < w->s->P; k++) {
        w->factor[k] = (REAL)r[k] / (REAL)w->sums[k];
        if (isfinite(w->factor[k]) && w->factor[k] > largest)
            largest = w->factor[k];
    }
    for (int k = 0; k < w->s->P; k++)
        if (!isfinite(w->factor[k]))
            w->factor[k] = largest;
}

// Computes the exponentials of all rows and their sum.
static double NAME(start)(const NAME(Work) * w, REAL epsilon, REAL shift) {
#pragma omp parallel for schedule(static)
    for (int chunk = 0; chunk < w->chunks; chunk++) {
        uint64_t mode = sr__denormals_keep();
        w->total[chunk] = 0;
        for (int row = first_row(w->rows, chunk, w->chunks);
             row < first_row(w->rows, chunk + 1, w->chunks); row++)
            w->total[chunk] += NAME(exponentials)(w, row, epsilon, shift);
        sr__denormals_restore(mode);
    }
    double total = 0;
    for (int chunk = 0; chunk < w->chunks; chunk++)
        total += w->total[chunk];
    return total;
}

static void NAME(shift_all)(const NAME(Work) * w, REAL total, REAL plus) {
#pragma omp parallel for schedule(static)
    for (int chunk = 0; chunk < w->chunks; chunk++) {
        uint64_t mode = sr__denormals_keep();
        NAME(shift_rows)(w, chunk, total, plus);
        sr__denormals_restore(mode);
    }
}

static bool NAME(balance_all)(const NAME(Work) * w, REAL c) {
    double bad = 0;
#pragma omp parallel for schedule(static) reduction(max : bad)
    for (int chunk = 0; chunk < w->chunks; chunk++) {
        uint64_t mode = sr__denormals_keep();
        bad = NAME(balance_rows)(w, chunk, c) ? bad : 1;
        sr__denormals_restore(mode);
    }
    return bad == 0;
}

// Divides the rows of the batch by their sums.
static bool NAME(finish)(const NAME(Work) * w, float *codes) {
    int P = w->s->P;
    double bad = 0;
#pragma omp parallel for schedule(static) reduction(max : bad)
    for (int row = 0; row < w->s->n; row++) {
        uint64_t mode = sr__denormals_keep();
        const REAL *q = w->q + (int64_t)row * P;
        float *out = codes + (int64_t)row * P;
        REAL by = (REAL)NAME(sum)(q, P);
        bad = by > 0 && isfinite(by) ? bad : 1;
        for (int k = 0; k < P; k++)
            out[k] = (float)(q[k] / by);
        sr__denormals_restore(mode);
    }
    return bad == 0;
}

static bool NAME(iterate)(const NAME(Work) * w, const double *r, double total, float *codes) {
    NAME(shift_all)(w, (REAL)total, 0);
    REAL c = (REAL)1 / (REAL)((double)w->rows);
    for (int i = 0; i < w->s->params.num_iters; i++) {
        // a prototype without near samples: VISSL adds a little mass everywhere
        if (!NAME(add_up)(w)) {
            NAME(shift_all)(w, 1, (REAL)1e-12);
            NAME(add_up)(w);
        }
        NAME(factors)(w, r);
        if (!NAME(balance_all)(w, c))
            return false;
    }
    return NAME(finish)(w, codes);
}

static bool NAME(scale)(const SrSinkhorn *s, const double *r, float *codes, void *scratch) {
    NAME(Work) w = NAME(work)(s, scratch);
    double largest = largest_score(s), in_units = largest / s->params.epsilon;
    double room = log(s->P * (double)w.rows), limit = sizeof(REAL) == 4 ? 88 : 709;
    bool unshifted = (s->params.no_shift || sizeof(REAL) == 8) && in_units + room < limit;
    REAL epsilon = (REAL)s->params.epsilon, shift = unshifted ? 0 : (REAL)largest / epsilon;
    if (!isfinite(shift))
        return false;
    uint64_t mode = sr__denormals_keep();
    double total = NAME(start)(&w, epsilon, shift);
    bool ok = total > 0 && isfinite((REAL)total) && NAME(iterate)(&w, r, total, codes);
    sr__denormals_restore(mode);
    return ok;
}
