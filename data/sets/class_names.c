// Lists of strings in one buffer: a million paths need two growing allocations, not a million.
#include "data/sets/class_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

// Doubles *p until `need` items fit; the old memory stays valid on failure.
static SrStatus grow(void **p, size_t item_bytes, size_t need, size_t cap, size_t *new_cap) {
    *new_cap = cap;
    if (need <= cap)
        return SR_OK;
    *new_cap = SR_MAX(need, cap ? 2 * cap : 256);
    void *larger = *new_cap > SIZE_MAX / item_bytes ? NULL : sr_realloc(*p, *new_cap * item_bytes);
    SR_TRY_MEMORY(larger, "a list of %zu names", need);
    *p = larger;
    return SR_OK;
}

// The list keeps positions, not pointers, because the text moves when it grows.
SrStatus sr__string_list_add(SrStringList *names, const char *s, size_t len) {
    size_t cap = 0, at_cap = 0;
    void *text = names->text, *at = names->at;
    SR_TRY(grow(&text, 1, names->len + len + 1, names->cap, &cap));
    names->text = text;
    names->cap = cap;
    SR_TRY(grow(&at, sizeof *names->at, (size_t)names->n + 1, (size_t)names->at_cap, &at_cap));
    names->at = at;
    names->at_cap = (int64_t)at_cap;
    memcpy(names->text + names->len, s, len);
    names->text[names->len + len] = 0;
    names->at[names->n++] = names->len;
    names->len += len + 1;
    return SR_OK;
}

static int by_bytes(const void *a, const void *b, void *text) {
    const char *base = text;
    return strcmp(base + *(const size_t *)a, base + *(const size_t *)b);
}

// Sorting moves only the positions.
void sr__string_list_sort(SrStringList *names, int64_t first) {
    if (names->n > first)
        qsort_r(names->at + first, (size_t)(names->n - first), sizeof *names->at, by_bytes,
                names->text);
}

// The dropped strings stay in the text: they are few or short.
void sr__string_list_unique(SrStringList *names) {
    int64_t kept = 0;
    for (int64_t i = 0; i < names->n; i++)
        if (kept == 0 ||
            strcmp(sr__string_list_get(names, kept - 1), sr__string_list_get(names, i)) != 0)
            names->at[kept++] = names->at[i];
    names->n = kept;
}

int64_t sr__string_list_find(const SrStringList *names, const char *s) {
    int64_t low = 0, high = names->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(s, sr__string_list_get(names, middle));
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

void sr__string_list_deinit(SrStringList *names) {
    sr_free(names->text);
    sr_free(names->at);
    *names = (SrStringList){0};
}
