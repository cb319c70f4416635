// Feeds arbitrary bytes to the readers of weights (weights_fuzz.h). make fuzz-pth and its like
// link this file with base/ and formats/ only; the tests run it over the corpora.
#include "tests/fuzz/weights_fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "formats/names/naming.h"
#include "formats/stats.h"
#include "formats/weights/weights.h"

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", what, sr_status_message());
    abort();
}

// Reads every number of every tensor. Equal names would be ambiguous.
static void read_tensors(SrWeights *w) {
    SrTensor t;
    SrTensorStats stats;
    for (int i = 0; i < w->n; i++) {
        require(sr_weights_find(w, w->tensors[i].name) == i, "a tensor is not found by its name");
        if (i >= 64 || w->tensors[i].bytes > 1 << 20)
            continue; // a file that unfolds within the memory bound is legal, but slow to read
        SrStatus status = sr_weights_read(w, i, &t);
        require(status == SR_OK || status == SR_ERR_CONFIG, "not the file's fault");
        if (status == SR_OK) {
            require(w->tensors[i].bytes == 0 || (uintptr_t)t.data % sr_dtype_bytes(t.dtype) == 0,
                    "numbers at an odd address");
            sr_tensor_stats(&t, &stats);
        }
    }
}

// Reads with formats/weights/safetensors.h, which checkpoints use: it must refuse what
// formats/weights/weights.h refuses, and align all tensors.
static void open_safetensors(const char *path) {
    SrSafetensors st;
    if (sr_safetensors_open(&st, path) != SR_OK)
        return;
    for (int i = 0; i < st.n; i++) {
        const SrTensor *t = &st.tensors[i].tensor;
        require((uintptr_t)t->data % sr_dtype_bytes(t->dtype) == 0, "numbers at an odd address");
        require(sr_safetensors_find(&st, st.tensors[i].name) == t, "a tensor is not found");
    }
    sr_safetensors_close(&st);
}

static void open_file(const void *file, size_t bytes) {
    char path[64];
    SrWeights w;
    SrNaming naming;
    int fd = memfd_create("fuzz", MFD_CLOEXEC), checked;
    require(fd >= 0 && write(fd, file, bytes) == (ssize_t)bytes, "no memory file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int64_t before = sr_mem_bytes();
    sr_mem_peak_reset();
    SrStatus status = sr_weights_open(&w, path);
    require(status == SR_OK || (status == SR_ERR_CONFIG && *sr_status_message()), "a bad refusal");
    if (status == SR_OK) {
        sr_naming_detect(&w, &naming);
        (void)sr_weights_verify(&w, &checked);
        read_tensors(&w);
        if (w.format == SR_WEIGHTS_SAFETENSORS)
            open_safetensors(path);
        sr_weights_close(&w);
    }
    require(sr_mem_peak() - before <= (int64_t)bytes + (64 << 20), "too much memory");
    require(sr_mem_bytes() == before, "memory is left over");
    close(fd);
}

// Writes and opens a file made of a beginning, the input, and an end.
static void open_between(const void *begin, size_t begin_bytes, const void *data, size_t bytes,
                         const void *end, size_t end_bytes) {
    uint8_t *file = malloc(begin_bytes + bytes + end_bytes + 1);
    require(file != NULL, "no memory");
    memcpy(file, begin, begin_bytes);
    if (bytes)
        memcpy(file + begin_bytes, data, bytes);
    if (end_bytes)
        memcpy(file + begin_bytes + bytes, end, end_bytes);
    open_file(file, begin_bytes + bytes + end_bytes);
    free(file);
}

static void put(uint8_t *out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

// ---- safetensors: JSON, and a header up to the first zero followed by its data

static void check_json(const uint8_t *data, size_t bytes) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree, *back;
    SrText text = SR_TEXT_INIT;
    // Exact size, so that a sanitizer sees a read past the end.
    char *exact = malloc(bytes ? bytes : 1);
    require(exact != NULL, "no memory");
    if (bytes)
        memcpy(exact, data, bytes);
    if (sr_json_parse(&arena, exact, bytes, "fuzz", &tree) == SR_OK) {
        sr_json_print(tree, &text);
        SrStatus status = sr_json_parse(&arena, text.s, text.len, "printed", &back);
        // Keys that differed only in invalid UTF-8 are equal after printing.
        require(status == SR_OK || strstr(sr_status_message(), "twice"), text.s);
    }
    free(exact);
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
}

int fuzz_safetensors(const uint8_t *data, size_t bytes) {
    const uint8_t *zero = bytes ? memchr(data, 0, bytes) : NULL;
    uint8_t length[8];
    check_json(data, bytes);
    open_file(data, bytes);
    put(length, zero ? (uint64_t)(zero - data) : bytes, 8);
    open_between(length, 8, data, bytes, NULL, 0);
    return 0;
}

// ---- zip archives of one stored entry

static void open_zipped(const char *name, const uint8_t *data, size_t bytes) {
    uint8_t local[30 + 32] = "PK\3\4", end[46 + 32 + 22] = "PK\1\2";
    size_t len = strlen(name);
    put(local + 18, bytes, 4);
    put(local + 22, bytes, 4);
    put(local + 26, len, 2);
    memcpy(local + 30, name, len);
    put(end + 20, bytes, 4);
    put(end + 24, bytes, 4);
    put(end + 28, len, 2);
    memcpy(end + 46, name, len);
    uint8_t *last = end + 46 + len;
    memcpy(last, "PK\5\6", 4);
    put(last + 8, 1, 2);
    put(last + 10, 1, 2);
    put(last + 12, 46 + len, 4);
    put(last + 16, 30 + len + bytes, 4);
    open_between(local, 30 + len, data, bytes, end, 46 + len + 22);
}

// ---- .pth: a bare pickle inside each container; in the older one its storages follow

int fuzz_pth(const uint8_t *data, size_t bytes) {
    static const char legacy[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."
                                 "\x80\x02M\xe9\x03."
                                 "\x80\x02}.";
    open_file(data, bytes);
    open_between(legacy, sizeof legacy - 1, data, bytes, NULL, 0);
    open_zipped("archive/data.pkl", data, bytes);
    return 0;
}

int fuzz_npz(const uint8_t *data, size_t bytes) {
    open_file(data, bytes);
    open_zipped("x.npy", data, bytes);
    return 0;
}

// ---- .npy: a header up to the first zero followed by its numbers

int fuzz_npy(const uint8_t *data, size_t bytes) {
    uint8_t begin[12] = "\x93NUMPY\2";
    const uint8_t *zero = bytes ? memchr(data, 0, bytes) : NULL;
    open_file(data, bytes);
    put(begin + 8, zero ? (uint64_t)(zero - data) : bytes, 4);
    open_between(begin, sizeof begin, data, bytes, NULL, 0);
    return 0;
}

#ifdef SR_FUZZ_ENTRY // -DSR_FUZZ_ENTRY=fuzz_npy
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) { return SR_FUZZ_ENTRY(data, bytes); }
#endif
