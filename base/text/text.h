// Strings: growing text, the nearest name for a suggestion, patterns.
#ifndef SR_BASE_TEXT_TEXT_H
#define SR_BASE_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

// Growing text.  A failed allocation sets `failed`; the text stays valid, and additions are
// dropped.
typedef struct {
    char *s; // ends with NUL; NULL: nothing was added
    size_t len, cap;
    bool failed;
} SrText;
#define SR_TEXT_INIT \
    { 0 }

void sr_text_add(SrText *text, const char *s);
void sr_text_addn(SrText *text, const char *s, size_t len);
void sr_text_printf(SrText *text, const char *fmt, ...) SR_PRINTF(2, 3);
// Appends a word of a command line, in single quotes if a shell could change it.
void sr_text_add_word(SrText *text, const char *word);
// Writes such a word to out (n bytes, longer words are cut) and returns out.
const char *sr_text_word(const char *word, char *out, size_t n);
void sr_text_deinit(SrText *text);
// Empties a text for its next use, which may succeed where this one failed.  It keeps its memory.
void sr_text_restart(SrText *text);

// Writes the shortest decimal that reads back as the same double ("0.1", "1e-05", "224"), or
// "nan" or "inf" as printf does.  Returns buf.
#define SR_TEXT_NUMBER_BYTES 32
const char *sr_text_number(double value, char buf[SR_TEXT_NUMBER_BYTES]);
// Returns the number of bytes (1 to 4) of the UTF-8 character at s, and its code; 0: not UTF-8.
int sr_text_utf8(const char *s, uint32_t *code);
bool sr_text_is_control(uint32_t code); // C0, DEL and C1, which terminals obey
// Returns the number of bytes (1 to 4) of the character at s; a byte that is not UTF-8 counts as
// one.  *control: it is one, or a byte that is C1 outside UTF-8.
int sr_text_next(const char *s, bool *control);
// Replaces control characters by '?', except for those in `keep`, such as "\n\t".
void sr_text_disarm(char *text, const char *keep);

// Edit distance with transpositions; a change of case costs half.
double sr_text_distance(const char *a, const char *b);
// Returns the index of the nearest of n names; -1: none is near enough for a suggestion (distance
// above 0.4 * length + 1).
int sr_text_nearest(const char *name, const char *const *names, int n);
// Matches a pattern with "*" and "?" as in a shell.
bool sr_text_glob(const char *pattern, const char *s);
bool sr_text_starts(const char *s, const char *prefix);
bool sr_text_ends(const char *s, const char *suffix);
// Returns the part of a dotted name after "path."; NULL: the name is not below the path.
const char *sr_text_below(const char *name, const char *path);

// Returns the number after the first `mark`: 7 for "blocks." in trunk.blocks.7.mlp; -1: none.
int sr_text_number_after(const char *s, const char *mark);

#endif
