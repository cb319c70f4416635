// VISSL's keys that this program has no use for, and keys that have moved: one table each, so that a configuration written
// for VISSL loads as it is and says what of it changes nothing.
#ifndef SR_TRAINER_CONFIG_VISSL_KEYS_H
#define SR_TRAINER_CONFIG_VISSL_KEYS_H

#include "base/arena.h"
#include "base/option.h"

typedef struct {
    const char *path; // of the key from the root; "DATA.*." stands for DATA.TRAIN. and DATA.TEST.
    const char *initial; // VISSL's default, as YAML text
    const char *why;     // it changes nothing here, for the line that a run tells
    bool
        refused; // another value than the default would change results, so that it is an error instead of a line
} SrVisslKey;

extern const SrVisslKey sr__vissl_keys[]; // ends with a path of NULL

// Appends a row for each of those keys whose path lies in `section` ("" is the root) and in none of the `deeper` sections.
// rows: (*n) so far, with room for all.
void sr__vissl_keys_rows(const char *section, bool (*deeper)(const char *path), SrOption *rows,
                         int *n);
int sr__vissl_keys_count(void);

// Maps that stood elsewhere in older files: read as if they stood where they belong now, one log line each.
SrStatus sr__vissl_keys_move(SrYaml *tree, SrArena *arena);

#endif
