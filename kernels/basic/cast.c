// Conversions between element types and sums over whole tensors.  They go element by element, so
// the number of threads cannot change a bit.  The vector loop is in rows.h.
#include "kernels/basic/cast.h"

#include <string.h>

#include "kernels/core/op_util.h"
#include "kernels/core/rows.h"

static void run(const SrMachine *machine, SrDtype to, void *y, SrDtype from, const void *x,
                int64_t n, bool add) {
    const SrRows *k = sr__rows(machine);
#pragma omp parallel for schedule(static) if (n > SR_CHUNK)
    for (int64_t i = 0; i < n; i += SR_CHUNK) {
        int64_t count = SR_MIN(SR_CHUNK, n - i);
        if (to == from && !add)
            memcpy(sr__at(to, y, i), sr__at(from, x, i), (size_t)count * sr_dtype_bytes(to));
        else
            k->cast(to, sr__at(to, y, i), from, sr__at(from, x, i), count, add);
    }
}

void sr_cast(const SrMachine *machine, SrDtype to, void *y, SrDtype from, const void *x,
             int64_t n) {
    if (y != x)
        run(machine, to, y, from, x, n, false);
}

void sr_accumulate(const SrMachine *machine, SrDtype to, void *y, SrDtype from, const void *x,
                   int64_t n) {
    run(machine, to, y, from, x, n, true);
}
