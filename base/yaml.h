// A YAML document as a tree with line numbers, on libyaml.  Also the tree of a whole configuration: it is
// merged, overridden and printed here, and knows where each value came from.
//
// Bounded before it is trusted: at most 1 MiB of text, 100,000 nodes, depth 64, 1000 anchors, keys of 200
// bytes; aliases are counted as the nodes they stand for (libyaml leaves alias bombs to its callers);
// duplicate keys are errors.
#ifndef SR_BASE_YAML_H
#define SR_BASE_YAML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"

typedef enum {
    SR_YAML_NULL,
    SR_YAML_BOOL,
    SR_YAML_INT,
    SR_YAML_FLOAT,
    SR_YAML_STRING,
    SR_YAML_LIST,
    SR_YAML_MAP
} SrYamlType;

#define SR_YAML_COMMAND_LINE "command line" // the `file` of what was given there

// One node.  Read freely; change only through the functions below.  Owned by the arena it was made in.
typedef struct SrYaml SrYaml;
struct SrYaml {
    SrYamlType type;
    const char *file; // "configs/swav.yaml", "command line", "defaults"
    int line;         // 1-based, 0 where lines make no sense
    const char *text; // the scalar as written (also of numbers), NULL for LIST, MAP
    bool b;
    int64_t i; // also set for BOOL (0/1)
    double f;  // also set for INT
    int n;     // children of LIST or MAP
    int cap;
    SrYaml **items;    // n children
    const char **keys; // n keys of a MAP, in the order written
};

// Plain scalars follow YAML 1.1 as PyYAML/Hydra resolve it, with 1e-4 a float and Yes/No/on/off kept as
// strings unless true/false/True/False.  First line "# @package _global_" is a comment like any other.
SrStatus sr_yaml_parse(SrArena *arena, const char *text, size_t bytes, const char *file,
                       SrYaml **out);
SrStatus sr_yaml_load(SrArena *arena, const char *path, SrYaml **out);

SrYaml *sr_yaml_new(SrArena *arena, SrYamlType type, const char *file, int line);
SrYaml *sr_yaml_scalar(SrArena *arena, const char *text, const char *file,
                       int line);                         // typed by its text
SrYaml *sr_yaml_copy(SrArena *arena, const SrYaml *node); // deep
SrStatus sr_yaml_append(SrArena *arena, SrYaml *list, SrYaml *item);
SrStatus sr_yaml_put(SrArena *arena, SrYaml *map, const char *key,
                     SrYaml *value); // replaces or appends
bool sr_yaml_remove(SrYaml *map, const char *key);

// For readers that fill a whole map: appends without looking for an older key.  They close the map with
// sr__yaml_repeated: the indices of the earliest repeated key and the one it repeats, -1 if all differ.
// Together O(n log n), where put would be quadratic in what a hostile file says.
SrStatus sr__yaml_push(SrArena *arena, SrYaml *map, const char *key, SrYaml *value);
SrStatus sr__yaml_repeated(const SrYaml *map, int *first, int *second);

// NULL when absent or when node is not a MAP (node may be NULL).
SrYaml *sr_yaml_find(const SrYaml *map, const char *key);
// "A.B.C" walks maps; a number walks a list.
SrYaml *sr_yaml_find_path(const SrYaml *map, const char *path);
// Sets a dotted path, creating maps on the way.
SrStatus sr_yaml_put_path(SrArena *arena, SrYaml *map, const char *path, SrYaml *value);
// Maps merge recursively, lists and scalars are replaced whole (Hydra's rule).  `over` is copied; null
// changes nothing.  SR_ERR_CONFIG if either is something else than a map.
SrStatus sr_yaml_merge(SrArena *arena, SrYaml *base, const SrYaml *over);

// Block style, two blanks a level, empty collections in flow style; parses back to an equal tree.
void sr_yaml_print(const SrYaml *node, SrText *out);
// One line in flow style, for messages and the command line.
void sr_yaml_print_flow(const SrYaml *node, SrText *out);
bool sr_yaml_equal(const SrYaml *a, const SrYaml *b); // NULL equals NULL alone
const char *sr_yaml_type_name(SrYamlType type);       // "a list", "an integer", ...

// Where a node stands, for messages: "configs/swav.yaml:12", "command line", "defaults" (also for NULL).
typedef struct {
    char text[400];
} SrYamlPlace;
SrYamlPlace sr_yaml_place(const SrYaml *node);

#endif
