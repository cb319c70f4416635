// Renames and counts blocks that are numbered through all stages.
#include "formats/names/naming_flat.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/text.h"
#include "formats/weights/weights.h"

// Returns the number after the prefix; -1: the name belongs to no block.
static int flat_number(const SrFlat *flat, const char *name, const char **rest) {
    char *end;
    size_t len = strlen(flat->prefix);
    if (!sr_text_starts(name, flat->prefix) || !isdigit((unsigned char)name[len]))
        return -1;
    long v = strtol(name + len, &end, 10) - flat->first;
    *rest = end;
    return *end == '.' && v >= 0 && v < 9999 ? (int)v : -1;
}

// "block7.bn0" -> "block3-1.bn0"
const char *sr_flat_with_stage(const SrFlat *flat, const int *blocks, const char *bare, char *out,
                               size_t bytes) {
    const char *rest;
    int block = flat_number(flat, bare, &rest);
    for (int a = 0; block >= 0 && a < SR_NAMING_STAGES; block -= blocks[a++]) {
        if (block >= blocks[a])
            continue;
        snprintf(out, bytes, "%s%d-%d%s", flat->prefix, a, block, rest);
        return out;
    }
    return bare;
}

// "block3-1.bn0" -> "block7.bn0", in place.  A number of three digits may be longer than both were.
void sr_flat_without_stage(const SrFlat *flat, const int *blocks, char *name) {
    int a, b, len = 0;
    char *numbers = name + strlen(flat->prefix), text[16];
    if (!sr_text_starts(name, flat->prefix) || sscanf(numbers, "%4d-%4d%n", &a, &b, &len) != 2)
        return;
    for (int i = 0; i < a && i < SR_NAMING_STAGES; i++)
        b += blocks[i];
    int written = snprintf(text, sizeof text, "%d", b + flat->first);
    memmove(numbers + written, numbers + len, strlen(numbers + len) + 1);
    memcpy(numbers, text, (size_t)written);
}

static const SrWeightsTensor *part(const SrWeights *w, const SrNaming *n, const char *bare) {
    char name[512];
    snprintf(name, sizeof name, "%s%s", n->prefix, bare);
    int i = sr_weights_find(w, name);
    return i < 0 ? NULL : &w->tensors[i];
}

// Counts blocks in a file whose writer numbers them in stages.
static void count_staged(const SrWeights *w, const char *pattern, SrNaming *n) {
    char bare[256];
    for (int a = 0; a < SR_NAMING_STAGES; a++) {
        int values[SR_PATTERN_LETTERS] = {a, 0};
        do {
            sr_pattern_write(pattern, values, "", bare, sizeof bare);
        } while (part(w, n, bare) && ++values[1] < 1000);
        n->blocks[a] = values[1];
    }
}

// Properties that the blocks of one EfficientNet stage share and the next stage changes.
typedef struct {
    int channels, kernel;
    bool expands;
} Kind;

static bool find_kind(const SrWeights *w, const SrFlat *flat, const SrNaming *n, int block,
                      Kind *out) {
    const SrWeightsTensor *tensors[3];
    static const char *const names[] = {"project_conv", "depthwise_conv", "expand_conv"};
    for (int i = 0; i < 3; i++) {
        char bare[256];
        snprintf(bare, sizeof bare, "%s%d.%s.weight", flat->prefix, block, names[i]);
        tensors[i] = part(w, n, bare);
    }
    if (!tensors[0] || !tensors[1] || tensors[1]->shape.rank != 4)
        return false;
    *out = (Kind){tensors[0]->shape.d[0], tensors[1]->shape.d[2], tensors[2] != NULL};
    return true;
}

// Counts blocks in a file whose writer numbers them through: a stage begins where kernels, channels
// or the expansion change.
static bool count_flat(const SrWeights *w, const SrFlat *flat, SrNaming *n) {
    Kind now, last = {0};
    int stage = -1;
    for (int i = 0; find_kind(w, flat, n, i, &now); i++, last = now) {
        stage += i == 0 || now.channels != last.channels || now.kernel != last.kernel ||
                 now.expands != last.expands;
        if (stage == SR_NAMING_STAGES)
            return false;
        n->blocks[stage]++;
    }
    return stage >= 0;
}

bool sr_flat_count(const SrWeights *w, const SrFlat *flat, SrNaming *n) {
    memset(n->blocks, 0, sizeof n->blocks);
    if (!flat->prefix)
        return true;
    if (flat->block[n->side])
        count_staged(w, flat->block[n->side], n);
    else if (!flat->blocks[0])
        return count_flat(w, flat, n);
    else
        memcpy(n->blocks, flat->blocks, sizeof n->blocks);
    return !flat->blocks[0] || memcmp(n->blocks, flat->blocks, sizeof n->blocks) == 0;
}
