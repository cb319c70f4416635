// Tables of VISSL's keys that have no effect in this program, and of keys that have moved.  With
// them a configuration written for VISSL loads unchanged, and the log says which keys have no
// effect.
#ifndef SR_TRAINER_CONFIG_VISSL_KEYS_H
#define SR_TRAINER_CONFIG_VISSL_KEYS_H

#include "base/arena.h"
#include "base/plugin/option.h"

typedef struct {
    // Dotted, from the root; "DATA.*." stands for DATA.TRAIN. and DATA.TEST.  NULL ends the table
    const char *path;
    const char *initial; // VISSL's default, as YAML text
    const char *why;     // reason why the key has no effect, for the log
    // A value other than the default would change results, so that it is an error
    bool refused;
} SrVisslKey;

extern const SrVisslKey sr__vissl_keys[];

// Appends a row to `rows` for each of those keys that lies in `section` ("": the root) and in none
// of the `deeper` sections.  *n is the number of rows; the caller has room for
// sr__vissl_keys_count() more.
void sr__vissl_keys_rows(const char *section, bool (*deeper)(const char *path), SrOption *rows,
                         int *n);
int sr__vissl_keys_count(void);

// Moves maps that older files have in another place to where VISSL reads them now, and logs a line
// for each.
SrStatus sr__vissl_keys_move(SrYaml *tree, SrArena *arena);

#endif
