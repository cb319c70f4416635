// A long list of strings in one growing buffer, for the paths of a data set and its class names.
#ifndef SR_DATA_SETS_CLASS_NAMES_H
#define SR_DATA_SETS_CLASS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct {
    char *text; // consecutive strings, each with its NUL; owned
    size_t len, cap;
    size_t *at; // (n) offset of each string in `text`; owned
    int64_t n, at_cap;
} SrStringList;

SrStatus sr__string_list_add(SrStringList *names, const char *s, size_t len);
static inline const char *sr__string_list_get(const SrStringList *names, int64_t i) {
    return names->text + names->at[i];
}
static inline void sr__string_list_clear(SrStringList *names) { // keeps the memory
    names->len = 0;
    names->n = 0;
}
void sr__string_list_sort(SrStringList *names, int64_t first); // [first, n) by bytes
void sr__string_list_unique(SrStringList *names);              // drops repetitions of a sorted list
// Returns the index of s in a sorted list.  -1: absent.
int64_t sr__string_list_find(const SrStringList *names, const char *s);
void sr__string_list_deinit(SrStringList *names);

#endif
