// Matches the classes of a test set with those of the training images, by name.
#include "trainer/data/class_match.h"

#include <string.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/text/text.h"

#define NAMED_AT_MOST 5 // classes in a message

static const char *name_of(const SrClassSide *s, int c) {
    return s->source->class_name ? s->source->class_name(s->set, c) : NULL;
}

// Both lists are sorted, so the search for a name starts after the last one found.
static int64_t find(const SrClassSide *train, const char *name, int from) {
    for (int k = 0; k < train->classes; k++) {
        const char *known = name_of(train, (from + k) % train->classes);
        if (known && strcmp(known, name) == 0)
            return (from + k) % train->classes;
    }
    return -1;
}

// Makes the map.  If only one split has names, numbers count the sorted names, as in VISSL's
// lists.  If both have names but not for all classes (a short classnames.txt), a number matches
// only a class without a name.
static void match(const SrClassSide *train, const SrClassSide *test, int64_t *map) {
    bool names = name_of(train, 0) && name_of(test, 0);
    int64_t last = -1;
    for (int c = 0; c < test->classes; c++) {
        const char *name = names ? name_of(test, c) : NULL;
        bool numbered = c < train->classes && !(names && name_of(train, c));
        if (name)
            map[c] = find(train, name, (int)(last + 1) % train->classes);
        else
            map[c] = numbered ? c : -1;
        last = map[c] < 0 ? last : map[c];
    }
}

// Marks classes with images: an empty folder needs no training class.
static void mark_used(const SrClassSide *test, bool *used) {
    int64_t n = test->source->length(test->set);
    for (int64_t i = 0; i < n; i++) {
        int64_t label = test->source->label(test->set, i);
        if (label >= 0 && label < test->classes)
            used[label] = true;
    }
}

static SrStatus refuse(const SrClassSide *train, const SrClassSide *test, const int64_t *map,
                       const bool *used) {
    SrText text = SR_TEXT_INIT;
    int missing = 0;
    for (int c = 0; c < test->classes; c++) {
        const char *name = name_of(test, c);
        if (map[c] >= 0 || !used[c] || ++missing > NAMED_AT_MOST)
            continue;
        sr_text_add(&text, missing > 1 ? ", " : "");
        if (name)
            sr_text_printf(&text, "'%s'", name);
        else
            sr_text_printf(&text, "%d", c);
    }
    SrStatus status = SR_OK;
    if (missing)
        status = sr_fail(
            SR_ERR_CONFIG,
            "DATA.TEST has images of %d class%s that DATA.TRAIN does not have: %s%s (%s has %d "
            "classes); leave these images out, or give both the same names of classes",
            missing, missing == 1 ? "" : "es", text.s ? text.s : "",
            missing > NAMED_AT_MOST ? ", ..." : "", *train->path ? train->path : "DATA.TRAIN",
            train->classes);
    sr_text_deinit(&text);
    return status;
}

SrStatus sr_class_match(const SrClassSide *train, const SrClassSide *test, SrArena *arena,
                        const int64_t **map) {
    *map = NULL;
    if (train->classes < 1 || test->classes < 1 || train->made || test->made)
        return SR_OK; // names of folders have no meaning for labels that transforms make
    if (test->source->targets && test->source->targets(test->set, 0))
        return SR_OK;
    size_t n = (size_t)test->classes;
    int64_t *to = sr_arena_alloc(arena, n * sizeof *to);
    bool *used = sr_arena_alloc(arena, n * sizeof *used);
    SR_TRY_MEMORY(to && used, "%d classes", test->classes);
    memset(used, 0, n * sizeof *used);
    match(train, test, to);
    mark_used(test, used);
    *map = to;
    return refuse(train, test, to, used);
}
