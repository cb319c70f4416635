// Expands a leading "~/" of paths.  The shell does so only at the beginning of a word, not after
// "=" or "[".
#include <stdlib.h>

#include "trainer/config/home_paths.h"
#include "trainer/config/vissl/schema.h"

// "~" alone is YAML's null, and "~name" is another user's home: both stay.
SrStatus sr__expand_home(SrArena *arena, const char **path) {
    const char *home = getenv("HOME");
    if (!*path || (*path)[0] != '~' || (*path)[1] != '/' || !home || !*home)
        return SR_OK;
    *path = sr_arena_printf(arena, "%s%s", home, *path + 1);
    return *path ? SR_OK : sr_out_of_memory("a path");
}

static SrStatus expand_all(SrArena *arena, SrStrings *paths) {
    const char **v = sr_arena_alloc(arena, ((size_t)paths->n + 1) * sizeof *v);
    SR_TRY_MEMORY(v, "paths");
    for (int i = 0; i < paths->n; i++) {
        v[i] = paths->v[i];
        SR_TRY(sr__expand_home(arena, &v[i]));
    }
    paths->v = v;
    return SR_OK;
}

SrStatus sr__expand_homes(SrConfig *config) {
    SrStrings *lists[] = {&config->train.data_paths, &config->train.label_paths,
                          &config->test.data_paths, &config->test.label_paths};
    for (int i = 0; i < SR_COUNT(lists); i++)
        SR_TRY(expand_all(&config->arena, lists[i]));
    SR_TRY(sr__expand_home(&config->arena, &config->checkpoint.dir));
    SR_TRY(sr__expand_home(&config->arena, &config->distillation.cache_file));
    return sr__expand_home(&config->arena, &config->model.params_file);
}
