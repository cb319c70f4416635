// libFuzzer: any bytes as a safetensors file are refused, or every byte of every tensor can be read
// and the tensors written again read back the same.  JSON is fuzzed on the way: the header is a
// document of it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "base/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "%s: %s\n", what, sr_status_message());
    abort();
}

// Memory that has a path: the reader under test maps files.
static const char *memory_file(const void *data, size_t bytes, int *fd) {
    static char path[64];
    *fd = memfd_create("fuzz", MFD_CLOEXEC);
    require(*fd >= 0 && write(*fd, data, bytes) == (ssize_t)bytes, "no memory file");
    snprintf(path, sizeof path, "/proc/self/fd/%d", *fd);
    return path;
}

// A header of the right length before the input makes most inputs reach the JSON.
static void *with_length(const uint8_t *data, size_t bytes, size_t header) {
    unsigned char *file = malloc(bytes + 8);
    require(file != NULL, "no memory");
    for (int i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)header >> (8 * i));
    memcpy(file + 8, data, bytes);
    return file;
}

static unsigned read_all(const SrSafetensors *st) {
    unsigned sum = 0;
    for (int i = 0; i < st->n; i++) {
        const SrTensor *t = &st->tensors[i].tensor;
        size_t n = (size_t)sr_shape_count(t->shape) * sr_dtype_bytes(t->dtype);
        require((uintptr_t)t->data % sr_dtype_bytes(t->dtype) == 0, "unaligned");
        require(sr_safetensors_find(st, st->tensors[i].name) == t, "a tensor is not found");
        for (size_t k = 0; k < n; k++)
            sum += ((const unsigned char *)t->data)[k];
    }
    return sum;
}

static void check_file(const void *file, size_t bytes) {
    int fd;
    const char *path = memory_file(file, bytes, &fd);
    SrSafetensors st;
    SrStatus status = sr_safetensors_open(&st, path);
    require(status == SR_OK || status == SR_ERR_CONFIG, "not the file's fault");
    static volatile unsigned sum; // keeps the reading from being left out
    sum += read_all(&st);
    sr_safetensors_close(&st);
    close(fd);
}

static void check_json(const uint8_t *data, size_t bytes) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree, *back;
    SrText text = SR_TEXT_INIT;
    char *exact = malloc(bytes ? bytes : 1); // a sanitizer sees any reading beyond it
    require(exact != NULL, "no memory");
    memcpy(exact, data, bytes);
    if (sr_json_parse(&arena, exact, bytes, "fuzz", &tree) == SR_OK) {
        sr_json_print(tree, &text);
        SrStatus status = sr_json_parse(&arena, text.s, text.len, "printed", &back);
        // keys that differed in bytes that are no UTF-8 are now one
        require(status == SR_OK || strstr(sr_status_message(), "twice"), text.s);
    }
    free(exact);
    sr_text_deinit(&text);
    sr_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    check_json(data, bytes);
    check_file(data, bytes);
    const uint8_t *close = memchr(data, 0, bytes); // header up to the first zero, data after it
    void *file = with_length(data, bytes, close ? (size_t)(close - data) : bytes);
    check_file(file, bytes + 8);
    free(file);
    return 0;
}
