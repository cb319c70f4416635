// Hash map from names to indices: linear probing from the FNV-1a hash; the table doubles when it
// is three quarters full.
#include "graph/ir/name_map.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

// Returns the place of `name`, or the free place where it belongs.
static int probe(const SrNameMap *map, const char *name) {
    int mask = map->capacity - 1;
    int i = (int)(sr_hash_text(name) & (uint64_t)mask);
    while (map->names[i] && strcmp(map->names[i], name) != 0)
        i = (i + 1) & mask;
    return i;
}

// Doubles the table.  Out of memory: the old table stays unchanged.
static SrStatus grow(SrNameMap *map) {
    // 64 is enough for a head; a ResNet-50 with its state grows four times.
    SrNameMap bigger = {.capacity = map->capacity ? 2 * map->capacity : 64, .count = map->count};
    bigger.names = sr_calloc((size_t)bigger.capacity, sizeof *bigger.names);
    bigger.values = sr_calloc((size_t)bigger.capacity, sizeof *bigger.values);
    if (!bigger.names || !bigger.values) {
        sr_name_map_deinit(&bigger);
        return sr_out_of_memory("%d names", bigger.capacity);
    }
    for (int i = 0; i < map->capacity; i++) {
        if (!map->names[i])
            continue;
        // Places depend on the capacity, so every name is hashed again.
        int at = probe(&bigger, map->names[i]);
        bigger.names[at] = map->names[i];
        bigger.values[at] = map->values[i];
    }
    sr_name_map_deinit(map);
    *map = bigger;
    return SR_OK;
}

SrStatus sr_name_map_put(SrNameMap *map, const char *name, int value) {
    if (4 * (map->count + 1) > 3 * map->capacity)
        SR_TRY(grow(map));
    int at = probe(map, name);
    map->names[at] = name;
    map->values[at] = value;
    map->count++;
    return SR_OK;
}

int sr_name_map_find(const SrNameMap *map, const char *name) {
    if (map->capacity == 0) // nothing to probe in
        return -1;
    int at = probe(map, name);
    return map->names[at] ? map->values[at] : -1;
}

void sr_name_map_deinit(SrNameMap *map) {
    sr_free(map->names);
    sr_free(map->values);
    *map = (SrNameMap){0};
}
