// YAML documents as trees with line numbers.  A whole configuration is such a tree: it is merged
// and overridden here, and each value knows its origin.  yaml_load.h reads text, yaml_print.h
// writes it, and yaml_scalar.h tells numbers from words.
#ifndef SR_BASE_TEXT_YAML_H
#define SR_BASE_TEXT_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text/text.h"

typedef enum {
    SR_YAML_NULL,
    SR_YAML_BOOL,
    SR_YAML_INT,
    SR_YAML_FLOAT,
    SR_YAML_STRING,
    SR_YAML_LIST,
    SR_YAML_MAP
} SrYamlType;

#define SR_YAML_COMMAND_LINE "command line" // `file` of values from the command line

// One node, owned by the arena it was made in.  Change it only by the functions below.
typedef struct SrYaml SrYaml;
struct SrYaml {
    SrYamlType type;
    const char *file; // "configs/swav.yaml", "command line", "defaults"
    int line;         // from 1; 0: no line
    const char *text; // the scalar as written, also for numbers; NULL: LIST or MAP
    bool b;
    int64_t i;         // also set for BOOL (0/1)
    double f;          // also set for INT
    int n;             // number of children of a LIST or MAP
    int cap;           // room for children
    SrYaml **items;    // (n) children
    const char **keys; // (n) keys of a MAP, in the order written
};

// The two below return NULL when memory is out.
SrYaml *sr_yaml_new(SrArena *arena, SrYamlType type, const char *file, int line);
SrYaml *sr_yaml_copy(SrArena *arena, const SrYaml *node); // deep copy
SrStatus sr_yaml_append(SrArena *arena, SrYaml *list, SrYaml *item);
// Replaces the value of an existing key, else appends.
SrStatus sr_yaml_put(SrArena *arena, SrYaml *map, const char *key, SrYaml *value);
bool sr_yaml_remove(SrYaml *map, const char *key); // true: the key was there

// Appends to a map without a search for the key, for readers that fill a whole map.  At the end
// they call sr__yaml_repeated, which returns the indices of the earliest repeated key and of its
// repetition; -1: all keys differ.  This takes O(n log n) for n keys; sr_yaml_put would take
// O(n^2).
SrStatus sr__yaml_push(SrArena *arena, SrYaml *map, const char *key, SrYaml *value);
SrStatus sr__yaml_repeated(const SrYaml *map, int *first, int *second);

// Returns the value of a key; NULL: absent, or map is NULL or no MAP.
SrYaml *sr_yaml_find(const SrYaml *map, const char *key);
// Returns the node at a path such as "A.B.2": keys of maps, and numbers as indices of lists.
SrYaml *sr_yaml_find_path(const SrYaml *map, const char *path);
// Sets the node at a dotted path and creates the maps on the way.
SrStatus sr_yaml_put_path(SrArena *arena, SrYaml *map, const char *path, SrYaml *value);
// Merges `over` into `base` by Hydra's rule: maps merge recursively, lists and scalars are
// replaced. `over` is copied; a null changes nothing.  SR_ERR_CONFIG: one of them is no map.
SrStatus sr_yaml_merge(SrArena *arena, SrYaml *base, const SrYaml *over);

bool sr_yaml_equal(const SrYaml *a, const SrYaml *b); // NULL equals only NULL
const char *sr_yaml_type_name(SrYamlType type);       // "a list", "an integer", ...

bool sr_yaml_from_command_line(const SrYaml *node); // NULL: false
// Origin of a node for messages: "configs/swav.yaml:12", "command line" or "defaults"; NULL:
// "defaults".
typedef struct {
    char text[400];
} SrYamlPlace;
SrYamlPlace sr_yaml_place(const SrYaml *node);

#endif
