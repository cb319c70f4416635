// Hash map from names to indices by open addressing, for the parameter table and the graph.  Keys
// are borrowed and never removed.
#ifndef SR_GRAPH_IR_NAME_MAP_H
#define SR_GRAPH_IR_NAME_MAP_H

#include "base/status.h"

typedef struct {
    const char **names; // capacity entries, NULL where free
    int *values;
    int capacity; // a power of two, or 0
    int count;    // at most 3/4 of the capacity
} SrNameMap;

SrStatus sr_name_map_put(SrNameMap *map, const char *name, int value); // `name` must not be in it
int sr_name_map_find(const SrNameMap *map, const char *name);          // -1 if absent
void sr_name_map_deinit(SrNameMap *map);

#endif
