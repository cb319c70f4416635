// The registry of heads: every descriptor `const SrHead sr_head_<stem>` that the build found, in
// the order of names.  It also parses a head's arguments.
#include "heads/head.h"

#include "base/plugin/plugin.h"

#include "gen/head.def"

SR_REGISTRY(SrHead, head, head, "head")

const char *sr_head_scores(int set) {
    static const char *const names[SR_HEAD_MAX_OUT] = {
        "scores0",  "scores1",  "scores2",  "scores3", "scores4",  "scores5",
        "scores6",  "scores7",  "scores8",  "scores9", "scores10", "scores11",
        "scores12", "scores13", "scores14", "scores15"};
    return names[set];
}

static SrStatus without_nulls(const SrYaml *map, SrArena *arena, SrYaml **out) {
    *out = map ? sr_yaml_copy(arena, map) : NULL;
    if (map && !*out)
        return sr_out_of_memory("the arguments of a head");
    for (int i = map ? map->n - 1 : -1; i >= 0; i--)
        if (map->items[i]->type == SR_YAML_NULL)
            sr_yaml_remove(*out, map->keys[i]);
    return SR_OK;
}

SrStatus sr_head_parse(const SrHead *head, const SrYaml *arguments, const char *where,
                       SrArena *arena, SrProblems *problems, const void **params) {
    void *room = sr_arena_alloc(arena, head->params_bytes + 1);
    SrYaml *given = NULL;
    *params = room;
    SR_TRY_MEMORY(room, "%s", where);
    SR_TRY(without_nulls(arguments, arena, &given));
    return sr_options_parse_all(head->options, given, where, arena, room, problems);
}
