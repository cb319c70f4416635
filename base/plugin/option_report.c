// Reports keys that are accepted without effect, if they have another value than their default.
#include <string.h>

#include "base/log.h"
#include "base/plugin/option.h"
#include "base/text/yaml_edit.h"

static SrStatus report_row(const SrOption *row, const SrYaml *map, const char *where,
                           SrArena *arena) {
    const SrYaml *given = sr_yaml_find_path(map, row->name);
    if (!given)
        return SR_OK;
    SrYaml *usual = NULL;
    const char *text = row->initial ? row->initial : "null";
    SR_TRY(sr_yaml_parse(arena, text, strlen(text), "defaults", &usual));
    const SrYaml *other = sr_tree_difference(given, usual);
    if (!other)
        return SR_OK;
    const SrYamlPlace at = sr_yaml_place(other);
    const char *dot = *where ? "." : "";
    if (row->choices && strcmp(row->choices, SR_REFUSED) == 0)
        SR_FAIL(SR_ERR_CONFIG, "%s: %s%s%s can only be %s in sslrun: %s", at.text, where, dot,
                row->name, text, row->help);
    sr_info("%s: %s%s%s is accepted and changes nothing: %s", at.text, where, dot, row->name,
            row->help);
    return SR_OK;
}

SrStatus sr_options_report(const SrOption *table, const SrYaml *map, const char *where,
                           SrArena *arena) {
    for (const SrOption *row = table; row && row->name; row++)
        if (row->type == SR_OPT_IGNORED)
            SR_TRY(report_row(row, map, where, arena));
    return SR_OK;
}
