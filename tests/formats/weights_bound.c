#include "tests/formats/weights_bound.h"

#include "base/file.h"
#include "base/mem.h"
#include "formats/weights/weights.h"
#include "tests/check.h"

SrStatus weights_bound_check(const char *path, SrStatus *read) {
    SrWeights w;
    SrTensor t;
    const void *map;
    size_t bytes;
    CHECK_OK(sr_file_map(path, &map, &bytes));
    sr_file_unmap(map, bytes);
    int64_t before = sr_mem_bytes();
    sr_mem_peak_reset();
    SrStatus opened = sr_weights_open(&w, path), status = opened;
    for (int i = 0; status == SR_OK && i < w.n; i++)
        status = sr_weights_read(&w, i, &t);
    if (opened == SR_OK)
        sr_weights_close(&w);
    CHECK(sr_mem_peak() - before <= (int64_t)bytes + (64 << 20));
    CHECK_INT(sr_mem_bytes(), before);
    CHECK(status == SR_OK || status == SR_ERR_CONFIG);
    if (read)
        *read = status;
    return opened;
}
