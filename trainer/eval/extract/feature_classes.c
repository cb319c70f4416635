// Matches the classes of features by name, through the training side's names in sorted order.
#include "trainer/eval/extract/feature_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/text.h"

#define NAMED_AT_MOST 5 // classes in a message

typedef struct {
    const char *name;
    int64_t label;
} Class;

static int by_name(const void *a, const void *b) {
    return strcmp(((const Class *)a)->name, ((const Class *)b)->name);
}

// Fills to (test->classes->n) with the training label of each name of the test; -1: none.
static SrStatus find_names(const SrStringList *train, const SrStringList *test, int64_t *to) {
    Class *known = sr_alloc((size_t)train->n * sizeof *known);
    SR_TRY_MEMORY(known, "%lld classes", (long long)train->n);
    for (int64_t c = 0; c < train->n; c++)
        known[c] = (Class){sr__string_list_get(train, c), c};
    qsort(known, (size_t)train->n, sizeof *known, by_name);
    for (int64_t c = 0; c < test->n; c++) {
        Class wanted = {sr__string_list_get(test, c), -1};
        const Class *found = bsearch(&wanted, known, (size_t)train->n, sizeof *known, by_name);
        to[c] = found ? found->label : -1;
    }
    sr_free(known);
    return SR_OK;
}

static bool is_listed(const int64_t *list, int n, int64_t label) {
    for (int i = 0; i < n; i++)
        if (list[i] == label)
            return true;
    return false;
}

// Names the first classes of the test that have rows and are not in `to`.
static SrStatus refuse(const SrFeatureSide *train, const SrFeatureSide *test, const int64_t *to,
                       int64_t n) {
    int64_t missing[NAMED_AT_MOST];
    int found = 0;
    SrText text = SR_TEXT_INIT;
    for (int64_t i = 0; i < test->rows->n && found < NAMED_AT_MOST; i++) {
        int64_t label = test->rows->label[i];
        if (label < 0 || (label < n && to[label] >= 0) || is_listed(missing, found, label))
            continue;
        missing[found++] = label;
        sr_text_add(&text, found > 1 ? ", " : "");
        if (label < test->classes->n)
            sr_text_printf(&text, "'%s'", sr__string_list_get(test->classes, label));
        else
            sr_text_printf(&text, "%lld", (long long)label);
    }
    SrStatus status = SR_OK;
    if (found)
        status = sr_fail(SR_ERR_CONFIG,
                         "%s has rows of classes that %s has not: %s%s; leave them out, or name "
                         "them alike",
                         test->path, train->path, text.s ? text.s : "",
                         found == NAMED_AT_MOST ? ", ..." : "");
    sr_text_deinit(&text);
    return status;
}

// Compares the names of target columns, which are classes; columns are not reordered.
static SrStatus check_columns(const SrFeatureSide *train, const SrFeatureSide *test) {
    const SrStringList *a = train->classes, *b = test->classes;
    for (int64_t c = 0; c < a->n && c < b->n; c++)
        if (strcmp(sr__string_list_get(a, c), sr__string_list_get(b, c)) != 0)
            SR_FAIL(SR_ERR_CONFIG,
                    "the targets of %s and %s are of other classes: column %lld is '%s' and '%s'",
                    train->path, test->path, (long long)c, sr__string_list_get(a, c),
                    sr__string_list_get(b, c));
    return SR_OK;
}

SrStatus sr_feature_classes_match(const SrFeatureSide *train, const SrFeatureSide *test) {
    bool named = train->classes->n > 0 && test->classes->n > 0;
    if (train->rows->target || test->rows->target)
        return check_columns(train, test);
    int64_t n = named ? test->classes->n : sr_matrix_classes(train->rows);
    int64_t *to = sr_alloc((size_t)n * sizeof *to + 1);
    SR_TRY_MEMORY(to, "%lld classes", (long long)n);
    for (int64_t c = 0; c < n; c++)
        to[c] = c;
    SrStatus status = named ? find_names(train->classes, test->classes, to) : SR_OK;
    if (status == SR_OK)
        status = refuse(train, test, to, n);
    for (int64_t i = 0; status == SR_OK && i < test->rows->n; i++)
        if (test->rows->label[i] >= 0)
            test->rows->label[i] = to[test->rows->label[i]];
    sr_free(to);
    return status;
}
