// Option tables: one row a key, and from it come parsing, range checks, defaults, unknown-key errors with
// the nearest name, `sslrun describe` and the reference manual.  There is no second list of keys.
#ifndef SR_BASE_OPTION_H
#define SR_BASE_OPTION_H

#include <stddef.h>

#include "base/arena.h"
#include "base/problems.h"
#include "base/status.h"
#include "base/yaml.h"

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
    SR_OPT_IGNORED, // accepted for VISSL's sake, means nothing here; `help` says why
} SrOptionType;

typedef struct {
    const char *name; // may be dotted: "queue.queue_length" is a key of a nested map
    SrOptionType type;
    size_t offset;       // into the params struct; unused for IGNORED
    const char *initial; // the default, as YAML text: "0.05", "[0, 1]", "\"\""
    double min, max;     // range of numbers and of list elements; both 0: no range
    const char *choices; // ENUM: "linear|sqrt"
    const char *help;    // one sentence, with the unit
} SrOption;
// An IGNORED row with this in `choices`: setting it to anything else than its default would change results and is an
// error.  Without it the key is accepted with one log line.
#define SR_REFUSED "refused"
#define SR_OPTION_END \
    { 0 } // ends every table

// Fills a zeroed params struct from a map (NULL: all defaults).  `where` is the map's path for messages
// ("LOSS.swav_loss").  Unknown key, wrong type, out of range: SR_ERR_CONFIG in one line with file:line.
// Strings and lists live in `arena`.
SrStatus sr_options_parse(const SrOption *table, const SrYaml *map, const char *where,
                          SrArena *arena, void *params);
// The same, but every mistake is kept in `problems` and what is wrong has its default.
SrStatus sr_options_parse_all(const SrOption *table, const SrYaml *map, const char *where,
                              SrArena *arena, void *params, SrProblems *problems);
// The table's defaults as a map, nested where names are dotted (the piece of the default tree it owns).
SrStatus sr_options_defaults(const SrOption *table, SrArena *arena, SrYaml **out);
// params back to a map, in the table's order (for printing graphs and resolved configurations).
SrStatus sr_options_print(const SrOption *table, const void *params, SrArena *arena, SrYaml **out);
// One log line for each IGNORED row that `map` (may be NULL) gives another value than its default: shipped files set many
// that do not.  SR_ERR_CONFIG where the row is refused.
SrStatus sr_options_report(const SrOption *table, const SrYaml *map, const char *where,
                           SrArena *arena);
const SrOption *sr_options_find(const SrOption *table, const char *name);
// The entries of `map` (NULL: none) that the table has rows for, as a map of their own: for tables that share one.
SrStatus sr_options_pick(const SrOption *table, const SrYaml *map, SrArena *arena, SrYaml **out);
// Human text for one row: "epsilon  number, default 0.05, 0 .. inf  Sharpness of ...".
void sr_option_describe(const SrOption *option, SrText *out);
void sr_option_summary(const SrOption *option, SrText *out); // its first line alone, without an end

#endif
