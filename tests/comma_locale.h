// A locale with a decimal comma, as a program that embeds the library may set it.
#ifndef SR_TESTS_COMMA_LOCALE_H
#define SR_TESTS_COMMA_LOCALE_H

// Sets LC_NUMERIC of the process until process_state_restore. If the machine has no de_DE,
// compiles it into a temporary folder; if that fails too, skips the test with a line that says
// why.
void comma_locale_set(void);

#endif
