// Whether each option of a table, set to another legal value, changes what can be seen of its owner, or a line says that
// it changes nothing.  What can be seen is the caller's: text of a graph, bits of a step, files of a run.
//
// Values are tried one after the other, on all bases of the owner, until one is taken and seen.  Where none can be
// guessed (lists of names, trees), `given` has one.
#ifndef SR_TESTS_TRAINER_EVERY_KEY_H
#define SR_TESTS_TRAINER_EVERY_KEY_H

#include "base/option.h"
#include "base/text.h"

// Text of everything that can be seen of the owner with this map, in flow style, as its configuration.  base: which of
// the bases the map was made of.
typedef SrStatus EveryKeySee(const void *owner, int base, const char *map, SrText *out);

// What cannot be guessed: a value, and what else must be set for it to be seen (flow style, NULL: nothing).
typedef struct {
    const char *key; // "<name of the table>.<option>"
    const char *value, *with;
} EveryKeyGiven;

enum { EVERY_KEY_MAX_BASES = 16 };

typedef struct {
    const char *name; // in `given` and in messages
    EveryKeySee *see;
    const void *owner;
    const SrOption *table;
    const char *below; // where in the map the table's keys are, dotted; NULL: it is their map
    const char *const *bases; // maps in flow style
    int n_bases;
    const EveryKeyGiven *given; // ends with an empty one; may be NULL
} EveryKeyTable;

typedef struct {
    SrText missing; // names of options that nothing was seen of
    int n, options;
} EveryKey;

void every_key_try(EveryKey *total, const EveryKeyTable *table);
// Fails if nothing was seen of an option, or if there were fewer options.
void every_key_finish(EveryKey *total, int at_least);

// A hash of the bytes as text: "1f00.. ".
void every_key_add_hash(SrText *out, const void *bytes, size_t n);

// A folder for the log and whatever a test writes; stderr is quiet meanwhile.  For cmocka.
extern char every_key_dir[64];
int every_key_set_up(void **state);
int every_key_tear_down(void **state);
#define every_key_test(f) cmocka_unit_test_setup_teardown(f, every_key_set_up, every_key_tear_down)

#endif
