// Ranks prefixes and removes VISSL's groups from names.
#include "formats/names/trunk_name.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

int sr_naming_rank(const char *prefix) {
    static const struct {
        const char *part;
        int rank;
    } parts[] = {{"optimizer", -9}, {"encoder_k", -3},        {"momentum", -2},
                 {"ema_model", -2}, {"teacher_backbone", -2}, {"student", -1},
                 {"teacher", 2},    {"encoder_q", 1},         {"base_encoder", 1}};
    for (int i = 0; i < SR_COUNT(parts); i++)
        if (strstr(prefix, parts[i].part))
            return parts[i].rank;
    return 0;
}

const char *sr_naming_without_groups(const char *name, char *out, size_t bytes) {
    for (const char *at = strstr(name, "block"); at; at = strstr(at + 1, "block")) {
        int used = 0;
        if ((at == name || at[-1] == '.') && sscanf(at, "block%*9d-part%*9d.%n", &used) == 0 &&
            used > 0) {
            snprintf(out, bytes, "%.*s%s", (int)(at - name), name, at + used);
            return out;
        }
    }
    return name;
}
