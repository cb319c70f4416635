// Takes memory for the values of a pickle.
#include "formats/weights/pickle_value.h"

#include <string.h>

#include "base/compiler.h"

void *sr__pickle_take(SrPickle *p, size_t bytes) {
    void *out = sr_arena_alloc(p->arena, bytes);
    if (!out)
        p->failure = sr_arena_failure(p->arena, p->path);
    return out;
}

SrPickleValue *sr__pickle_new(SrPickle *p, SrPickleKind kind) {
    SrPickleValue *v = sr__pickle_take(p, sizeof *v);
    if (v)
        v->kind = kind;
    return v;
}

SrStatus sr__pickle_push(SrPickle *p, SrPickleValue *list, SrPickleValue *item) {
    SR_ASSERT(list->n >= 0 && list->n <= list->cap);
    if (list->n == list->cap) {
        int cap = list->cap ? 2 * list->cap : 4;
        size_t bytes = (size_t)cap * sizeof(SrPickleValue *);
        SrPickleValue **items = sr__pickle_take(p, bytes);
        if (!items)
            return p->failure;
        if (list->n)
            memcpy(items, list->items, (size_t)list->n * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = item;
    return SR_OK;
}
