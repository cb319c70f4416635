// Checks that each option of a table, set to another legal value, changes something visible of
// its owner, or that a line reports that it has no effect. The caller defines what is visible:
// text of a graph, bits of a step, files of a run.
//
// Values are tried one after the other on all bases of the owner until one has an effect. For
// options whose values cannot be guessed (lists of names, trees), `given` holds one.
#ifndef SR_TESTS_TRAINER_EVERY_KEY_H
#define SR_TESTS_TRAINER_EVERY_KEY_H

#include "base/plugin/option.h"
#include "base/text/text.h"

// Writes everything visible of the owner when configured with this map (flow style). base: index
// of the base that the map was made from.
typedef SrStatus EveryKeySee(const void *owner, int base, const char *map, SrText *out);

// A value that cannot be guessed, and other keys that must be set for its effect (flow style;
// NULL: none).
typedef struct {
    const char *key; // "<name of the table>.<option>"
    const char *value, *with;
} EveryKeyGiven;

enum { EVERY_KEY_MAX_BASES = 16 };

typedef struct {
    const char *name; // name of the table in `given` and in messages
    EveryKeySee *see;
    const void *owner;
    const SrOption *table;
    const char *below;        // dotted path of the table's keys in the map; NULL: the map itself
    const char *const *bases; // maps in flow style
    int n_bases;
    const EveryKeyGiven *given; // ends with an empty element; NULL: none
} EveryKeyTable;

typedef struct {
    SrText missing; // names of options without a visible effect
    int n, options;
} EveryKey;

void every_key_try(EveryKey *total, const EveryKeyTable *table);
// Fails if an option had no visible effect, or if fewer than at_least options were tried.
void every_key_finish(EveryKey *total, int at_least);

// Appends a hash of the bytes as text, such as "1f00.. ".
void every_key_add_hash(SrText *out, const void *bytes, size_t n);

// A folder for the log and the files of a test; stderr is silent meanwhile. Setup and teardown
// for cmocka.
extern char every_key_dir[64];
int every_key_set_up(void **state);
int every_key_tear_down(void **state);
#define every_key_test(f) cmocka_unit_test_setup_teardown(f, every_key_set_up, every_key_tear_down)

#endif
