// Fuzz target of libFuzzer: YAML text and overrides go through composing, checking, inference,
// the model and its plan.
//
// No input may take 5 seconds of processor time under sanitizers, or 256 MiB of memory.
// config_input.c counts the program's allocations; libFuzzer's own limit includes the sanitizers'
// shadow memory. libFuzzer's -timeout counts wall time, which other processes share, so it only
// ends inputs that hang.
//
// Flipped bytes mostly make invalid YAML. Half of the mutations therefore keep the text valid: a
// known key gets a new value as an override, or a number becomes one that often breaks programs.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "tests/trainer/config_input.h"
#include "trainer/config/vissl/schema.h"

enum { MOST_SECONDS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed);

static SrArena arena;
static SrSchemaEntry *entries;
static int n_entries;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    sr_log_set_level(SR_LOG_ERROR);
    if (sr__schema_entries(&arena, &entries, &n_entries) != SR_OK)
        abort();
    return 0;
}

static const char *const numbers[] = {
    "0",       "-1",         "1",          "2",        "3",
    "7",       "64",         "65",         "1000",     "65536",
    "1000000", "2147483647", "2147483648", "16777216", "9223372036854775807",
    "1e300",   ".5",         ".inf",       ".nan",     "-0.0"};
static const char *const others[] = {"[]",
                                     "{}",
                                     "null",
                                     "True",
                                     "False",
                                     "x",
                                     "[1,2]",
                                     "[[1,2],[3]]",
                                     "{name: x}",
                                     "[{name: ToTensor}]",
                                     "[[res5,[AvgPool2d,[[6,6],1,0]]]]",
                                     "[[mlp,{dims: [8,3]}]]"};

#define PICK(list, seed) ((list)[(seed) % (sizeof(list) / sizeof *(list))])

static const char *value(unsigned seed) {
    return seed % 3 ? PICK(numbers, seed / 3) : PICK(others, seed / 3);
}

// Inserts "!SECTION.KEY=VALUE" before everything else. Returns the new length.
static size_t add_override(uint8_t *data, size_t bytes, size_t most, unsigned seed) {
    char line[256];
    const SrSection *s = &entries[seed % (unsigned)n_entries].section;
    unsigned n = 0;
    while (s->table && s->table[n].name)
        n++;
    if (n == 0)
        return bytes;
    int len = snprintf(line, sizeof line, "!%s%s%s=%s\n", s->path, *s->path ? "." : "",
                       s->table[seed / 16 % n].name, value(seed / 4096));
    if (len < 0 || (size_t)len >= sizeof line || bytes + (size_t)len > most)
        return bytes;
    memmove(data + len, data, bytes);
    memcpy(data, line, (size_t)len);
    return bytes + (size_t)len;
}

// Replaces one run of digits. Returns the new length.
static size_t change_number(uint8_t *data, size_t bytes, size_t most, unsigned seed) {
    const char *text = PICK(numbers, seed / 256);
    size_t len = strlen(text), at = bytes ? seed % bytes : 0, end;
    while (at < bytes && (data[at] < '0' || data[at] > '9'))
        at++;
    for (end = at; end < bytes && data[end] >= '0' && data[end] <= '9';)
        end++;
    if (end == at || bytes - (end - at) + len > most)
        return bytes;
    memmove(data + at + len, data + end, bytes - end);
    memcpy(data + at, text, len);
    return bytes - (end - at) + len;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed) {
    unsigned rest = seed / 4;
    if (seed % 4 == 0)
        return add_override(data, bytes, most, rest);
    if (seed % 4 == 1)
        return change_number(data, bytes, most, rest);
    return LLVMFuzzerMutate(data, bytes, most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    clock_t began = clock();
    config_input_try((const char *)data, bytes);
    if (clock() - began > MOST_SECONDS * CLOCKS_PER_SEC) {
        fprintf(stderr, "an input of %zu bytes took more than %d seconds\n", bytes, MOST_SECONDS);
        abort();
    }
    return 0;
}
