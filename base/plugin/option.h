// Option tables, which describe one configuration key per row.  Parsing, range checks, defaults,
// errors for unknown keys, `sslrun describe` and the manual all come from the row.
#ifndef SR_BASE_PLUGIN_OPTION_H
#define SR_BASE_PLUGIN_OPTION_H

#include <stddef.h>

#include "base/arena.h"
#include "base/problems.h"
#include "base/status.h"
#include "base/text/yaml.h"

typedef struct {
    int n;
    const int *v; // (n)
} SrInts;
typedef struct {
    int n;
    const double *v; // (n)
} SrDoubles;
typedef struct {
    int n;
    const char *const *v; // (n)
} SrStrings;

typedef enum {
    SR_OPT_BOOL,    // bool
    SR_OPT_INT,     // int
    SR_OPT_INT64,   // int64_t
    SR_OPT_FLOAT,   // double (whole numbers are accepted)
    SR_OPT_STRING,  // const char *; null gives ""
    SR_OPT_ENUM,    // int: index into `choices` ("a|b|c"), compared without case
    SR_OPT_INTS,    // SrInts; a single number is a list of one
    SR_OPT_FLOATS,  // SrDoubles
    SR_OPT_STRINGS, // SrStrings
    SR_OPT_TREE,    // const SrYaml *: kept as it stands, for its owner to read
    SR_OPT_IGNORED, // exists for VISSL, has no effect here; `help` says why
} SrOptionType;

typedef struct {
    const char *name; // may be dotted: "queue.queue_length" is a key of a nested map
    SrOptionType type;
    size_t offset;       // of the field in the params struct; IGNORED: unused
    const char *initial; // the default, as YAML text: "0.05", "[0, 1]", "\"\""
    double min, max;     // range of numbers and of list elements; both 0: no range
    const char *choices; // ENUM: "linear|sqrt"
    const char *help;    // one sentence, with the unit
    // Another row of the table, a switch or a weight: while it is false or 0, this key changes
    // nothing.  NULL: none
    const char *needs;
} SrOption;
// `choices` of an IGNORED row whose other values would change results: they are an error.  Other
// IGNORED rows accept every value and write one log line.
#define SR_REFUSED "refused"
#define SR_OPTION_END \
    { 0 } // ends every table

// Fills a zeroed params struct from a map; NULL: all defaults.  Strings and lists live in `arena`.
// where: path of the map for messages, such as "LOSS.swav_loss".
// SR_ERR_CONFIG, with file and line: unknown key, wrong type, or out of range.
SrStatus sr_options_parse(const SrOption *table, const SrYaml *map, const char *where,
                          SrArena *arena, void *params);
// Parses like sr_options_parse, but collects all mistakes in `problems`; wrong values get the
// default.
SrStatus sr_options_parse_all(const SrOption *table, const SrYaml *map, const char *where,
                              SrArena *arena, void *params, SrProblems *problems);
// Returns the table's defaults as a map, nested where names are dotted.
SrStatus sr_options_defaults(const SrOption *table, SrArena *arena, SrYaml **out);
// Turns params back into a map, in the table's order, to print graphs and resolved configurations.
SrStatus sr_options_print(const SrOption *table, const void *params, SrArena *arena, SrYaml **out);
// Turns back the fields alone whose value differs from that in `before`, another struct of this
// table: the map that makes `params` of `before`.
SrStatus sr_options_changes(const SrOption *table, const void *params, const void *before,
                            SrArena *arena, SrYaml **out);
// Writes one log line per IGNORED row for which `map` has another value than the default; map may
// be NULL.  SR_ERR_CONFIG: the row has SR_REFUSED.
SrStatus sr_options_report(const SrOption *table, const SrYaml *map, const char *where,
                           SrArena *arena);
const SrOption *sr_options_find(const SrOption *table, const char *name);
// Copies the entries of `map` that the table has rows for into a new map; map NULL: none.  Used
// where several tables share one map.
SrStatus sr_options_pick(const SrOption *table, const SrYaml *map, SrArena *arena, SrYaml **out);
// Describes one row: "epsilon  number, default 0.05, 0 .. inf  Sharpness of ...".
void sr_option_describe(const SrOption *option, SrText *out);
void sr_option_summary(const SrOption *option,
                       SrText *out); // the first line of that text, without a newline

#endif
