// Keeps the tensors of one dict of a file.
#include "formats/weights/nested_dict.h"

#include <string.h>

#include "base/text/text.h"

// Lists the outermost keys of the file for the message, because a wrong key is the usual mistake.
static void list_keys(const SrWeights *w, SrText *out) {
    enum { MAX_LISTED = 12 };
    const char *last = "";
    size_t last_len = 0;
    int listed = 0;
    for (int i = 0; i < w->n && listed < MAX_LISTED; i++) {
        const char *name = w->by_name[i]->name;
        size_t len = strcspn(name, ".");
        if (len == last_len && strncmp(name, last, len) == 0)
            continue;
        sr_text_printf(out, "%s%.*s", listed++ ? ", " : "", (int)len, name);
        last = name;
        last_len = len;
    }
}

static SrStatus unknown_key(const SrWeights *w, const char *key) {
    SrText keys = SR_TEXT_INIT;
    list_keys(w, &keys);
    SrStatus status = sr_fail(SR_ERR_CONFIG, "%s has no key '%s'; it has: %s", w->path, key,
                              keys.s ? keys.s : "none");
    sr_text_deinit(&keys);
    return status;
}

// Changes names and lists only; the numbers stay in the mapping.  Both orders stay valid, because
// names that lose a common beginning keep their order.
SrStatus sr_weights_descend(SrWeights *w, const char *key) {
    int n = 0;
    SrWeightsTensor *tensors = sr_arena_alloc(&w->arena, sizeof *tensors * (size_t)(w->n + 1));
    const SrWeightsTensor **by_name =
        sr_arena_alloc(&w->arena, sizeof *by_name * (size_t)(w->n + 1));
    int *place = sr_arena_alloc(&w->arena, sizeof *place * (size_t)(w->n + 1));
    if (!tensors || !by_name || !place)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", w->path);
    for (int i = 0; i < w->n; i++) {
        const char *name = sr_text_below(w->tensors[i].name, key);
        if (!name)
            continue;
        place[i] = n;
        tensors[n] = w->tensors[i];
        tensors[n++].name = name;
    }
    if (n == 0)
        return unknown_key(w, key);
    for (int i = 0, sorted = 0; i < w->n; i++)
        if (sr_text_below(w->by_name[i]->name, key))
            by_name[sorted++] = &tensors[place[w->by_name[i] - w->tensors]];
    w->tensors = tensors;
    w->by_name = by_name;
    w->n = n;
    return SR_OK;
}
