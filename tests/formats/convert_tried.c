#include "tests/formats/convert_tried.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/weights/save_item.h"
#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/failures.h"

enum { MOST_TENSORS = 500, MOST_ODD = 12, MOST_ALLOCATIONS = 400 };

typedef struct {
    const char *in;
    char out[200];
    const SrConvertOptions *options;
} Try;

static SrStatus convert(void *arg) {
    const Try *t = arg;
    SrConvertResult result;
    return sr_convert(t->in, t->out, t->options, &result);
}

// ---- odd copies ---------------------------------------------------------------------------------

typedef enum { LEFT_OUT, RENAMED, FLAT, WIDER, HALF, N_ODD } Odd;

typedef struct {
    SrWeights w;
    SrSaveItem items[MOST_TENSORS];
    int from[MOST_TENSORS]; // tensors of the items
    int odd_item;           // item that has more numbers than its tensor; -1: none
    char name[300];
} Copy;

static SrStatus read_copied(void *arg, int i, const void **data) {
    static const char zeros[1 << 16];
    Copy *c = arg;
    SrTensor t;
    SR_TRY(sr_weights_read(&c->w, c->from[i], &t));
    *data = i == c->odd_item ? zeros : t.data;
    return SR_OK;
}

static int64_t bytes_of(const SrSaveItem *item) {
    return sr_shape_count(item->shape) * (int64_t)sr_dtype_bytes(item->dtype);
}

static void change(Copy *c, SrSaveItem *item, Odd odd) {
    SrShape *s = &item->shape;
    if (odd == RENAMED) {
        snprintf(c->name, sizeof c->name, "%.290s_odd", item->name);
        item->name = c->name;
    } else if (odd == FLAT) {
        *s = SR_SHAPE((int)sr_shape_count(*s));
    } else if (odd == WIDER && s->rank > 0) {
        s->d[s->rank - 1]++;
    } else if (odd == HALF) {
        item->dtype = SR_F16;
    }
}

// Writes a copy of `in` whose tensor k is odd. Returns false if it has none, or one too large.
static bool write_odd(const char *in, const char *path, int k, Odd odd) {
    static Copy copy;
    Copy *c = &copy;
    int n = 0;
    CHECK_OK(sr_weights_open(&c->w, in));
    CHECK(c->w.n <= MOST_TENSORS);
    c->odd_item = -1;
    for (int i = 0; i < c->w.n; i++) {
        const SrWeightsTensor *t = &c->w.tensors[i];
        if (i == k && odd == LEFT_OUT)
            continue;
        c->from[n] = i;
        c->items[n] = (SrSaveItem){.name = t->name, .shape = t->shape, .dtype = t->dtype};
        if (i == k) {
            change(c, &c->items[n], odd);
            c->odd_item = n;
        }
        n++;
    }
    bool good =
        n > 0 && k < c->w.n && (c->odd_item < 0 || bytes_of(&c->items[c->odd_item]) <= 1 << 16);
    if (good) {
        SrSave save = {c->items, n, read_copied, c};
        CHECK_OK(sr_save(path, &save));
    }
    sr_weights_close(&c->w);
    return good;
}

static void try_odd(const Try *whole, int tensors) {
    Try t = *whole;
    char odd_path[220];
    snprintf(odd_path, sizeof odd_path, "%.190s.odd.safetensors", whole->out);
    t.in = odd_path;
    int step = tensors > MOST_ODD ? tensors / MOST_ODD : 1;
    for (int k = 0; k < tensors; k += step)
        for (int odd = 0; odd < N_ODD; odd++) {
            if (!write_odd(whole->in, odd_path, k, (Odd)odd))
                continue;
            int64_t live = sr_mem_live();
            SrStatus status = convert(&t);
            CHECK(status == SR_OK || status == SR_ERR_CONFIG);
            CHECK_INT(sr_mem_live(), live);
            CHECK(sr_file_exists(t.out) == (status == SR_OK));
            if (status == SR_OK)
                CHECK_OK(sr_file_remove(t.out));
            CHECK_OK(sr_file_remove(odd_path));
        }
}

SrStatus convert_tried(const char *in, const char *out, const SrConvertOptions *options,
                       SrConvertResult *result) {
    Try t = {.in = in, .options = options};
    SrWeights w;
    const char *slash = strrchr(out, '/'), *ending = strrchr(out, '.');
    CHECK(slash && ending > slash);
    snprintf(t.out, sizeof t.out, "%.*s/tried%s", (int)(slash - out), out, ending);
    CHECK_OK(convert(&t));
    fail_writes(convert, &t, t.out, 8);
    int64_t calls = sr_mem_calls();
    CHECK_OK(convert(&t));
    if (sr_mem_calls() - calls <= MOST_ALLOCATIONS)
        CHECK(fail_allocations(convert, &t) > 0);
    CHECK_OK(sr_file_remove(t.out));
    CHECK_OK(sr_weights_open(&w, in));
    int tensors = w.n;
    sr_weights_close(&w);
    try_odd(&t, tensors);
    return sr_convert(in, out, options, result);
}
