// A locale whose decimals have a comma, for tests of what an embedding program may have set.
#ifndef SR_TESTS_COMMA_LOCALE_H
#define SR_TESTS_COMMA_LOCALE_H

// Sets LC_NUMERIC of the process until process_state_restore.  Compiles de_DE into a temporary folder where the machine
// has none; skips the test, with a line that says why, where that fails too.
void comma_locale_set(void);

#endif
