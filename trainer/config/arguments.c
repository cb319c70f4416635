// Checks the arguments of transforms and heads, which stand in lists and so in no section.  All
// mistakes are reported at once.  How arguments fit together (sizes, shapes) shows later, when data
// and model are built.
#include <string.h>

#include "base/text/text.h"
#include "data/pipeline.h"
#include "trainer/config/arguments.h"
#include "trainer/config/vissl/schema.h"

typedef SrStatus EachHead(void *arg, const SrHead *head, const SrYaml *arguments,
                          const char *where);

// Visits [name, {arguments}].  Other forms are refused by the parser, unknown names by
// missing_plugins.c.
static SrStatus visit(const SrYaml *module, const char *where, SrArena *arena, EachHead *each,
                      void *arg) {
    const SrHead *head = NULL;
    bool given = module->type == SR_YAML_LIST && module->n > 1 && module->items[0]->text &&
                 module->items[1]->type == SR_YAML_MAP;
    if (!given || sr_head_find(module->items[0]->text, &head) != SR_OK)
        return SR_OK;
    const char *place = sr_arena_printf(arena, "%s.%s", where, head->name);
    SR_TRY_MEMORY(place, "%s", where);
    return each(arg, head, module->items[1], place);
}

static SrStatus visit_entry(const SrYaml *entry, const char *where, SrArena *arena, EachHead *each,
                            void *arg) {
    bool chain =
        entry->type == SR_YAML_LIST && entry->n > 0 && entry->items[0]->type == SR_YAML_LIST;
    if (!chain)
        return visit(entry, where, arena, each, arg);
    for (int j = 0; j < entry->n; j++) {
        const char *place = sr_arena_printf(arena, "%s[%d]", where, j);
        SR_TRY_MEMORY(place, "%s", where);
        SR_TRY(visit(entry->items[j], place, arena, each, arg));
    }
    return SR_OK;
}

SrStatus sr__each_head(const SrYaml *tree, SrArena *arena, EachHead *each, void *arg) {
    const SrYaml *list = sr_yaml_find_path(tree, "MODEL.HEAD.PARAMS");
    for (int i = 0; list && list->type == SR_YAML_LIST && i < list->n; i++) {
        const char *place = sr_arena_printf(arena, "MODEL.HEAD.PARAMS[%d]", i);
        SR_TRY_MEMORY(place, "MODEL.HEAD.PARAMS");
        SR_TRY(visit_entry(list->items[i], place, arena, each, arg));
    }
    return SR_OK;
}

typedef struct {
    SrArena *arena;
    SrProblems *problems;
} Check;

static SrStatus check_head(void *arg, const SrHead *head, const SrYaml *arguments,
                           const char *where) {
    Check *c = arg;
    const void *params;
    return sr_problems_keep(c->problems,
                            sr_head_parse(head, arguments, where, c->arena, c->problems, &params));
}

SrStatus sr__arguments_check(const SrYaml *tree, SrArena *arena, SrProblems *problems) {
    static const char *const lists[] = {"DATA.TRAIN.TRANSFORMS", "DATA.TEST.TRANSFORMS"};
    Check c = {arena, problems};
    const SrYaml *channels = sr_yaml_find_path(tree, "DATA.CHANNELS");
    SrPixelForm form = {.channels =
                            channels && channels->type == SR_YAML_INT ? (int)channels->f : 0};
    for (int i = 0; i < SR_COUNT(lists); i++)
        SR_TRY(
            sr_pipeline_check(sr_yaml_find_path(tree, lists[i]), lists[i], form, arena, problems));
    return sr__each_head(tree, arena, check_head, &c);
}
