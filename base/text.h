// Small string work: growing text, did-you-mean, matching.
#ifndef SR_BASE_TEXT_H
#define SR_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

// Growing text.  After a failed allocation it stays valid, drops what is added and sets `failed`.
typedef struct {
    char *s; // NUL-terminated once anything was added, else NULL
    size_t len, cap;
    bool failed;
} SrText;
#define SR_TEXT_INIT \
    { 0 }

void sr_text_add(SrText *text, const char *s);
void sr_text_addn(SrText *text, const char *s, size_t len);
void sr_text_printf(SrText *text, const char *fmt, ...) SR_PRINTF(2, 3);
// A word of a command line, in single quotes unless every character means itself to every shell.
void sr_text_add_word(SrText *text, const char *word);
void sr_text_deinit(SrText *text);

// The shortest decimal that reads back as the same double ("0.1", "1e-05", "224"); "nan", "inf" as printf has
// them.  Returns buf.
#define SR_TEXT_NUMBER_BYTES 32
const char *sr_text_number(double value, char buf[SR_TEXT_NUMBER_BYTES]);
// How many bytes the UTF-8 character at s takes (1 to 4) and which it is; 0 when s does not start with one.
int sr_text_utf8(const char *s, uint32_t *code);

// Edit distance with transpositions, upper and lower case alike costing half.
double sr_text_distance(const char *a, const char *b);
// Index of the nearest of n names, -1 when none is near enough to suggest (distance > 0.4 * length + 1).
int sr_text_nearest(const char *name, const char *const *names, int n);
// "*" and "?" as a shell has them.
bool sr_text_glob(const char *pattern, const char *s);
bool sr_text_starts(const char *s, const char *prefix);
bool sr_text_ends(const char *s, const char *suffix);
// What follows "path." in a dotted name, NULL if the name is not below the path.
const char *sr_text_below(const char *name, const char *path);

// The number behind the first `mark`: 7 for "blocks." in trunk.blocks.7.mlp; -1 without one.
int sr_text_number_after(const char *s, const char *mark);

#endif
