// Looks at what a program has said.
#ifndef SR_TESTS_WORDS_H
#define SR_TESTS_WORDS_H

int words_count(const char *text, const char *part); // how often a text holds another
// Returns the last line that is not empty, to the end of the text.
const char *words_last_line(const char *text);

#endif
