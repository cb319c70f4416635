// Commands of histories: tiny trainings and an extraction, each of which makes ranks communicate in
// other ways.
#ifndef SR_TESTS_HISTORIES_METHODS_H
#define SR_TESTS_HISTORIES_METHODS_H

#include <stdbool.h>

enum { METHOD_WORDS = 24, METHOD_PATH = 256 };

typedef struct {
    const char *name;
    const char *what; // that crosses between ranks, in addition to gradients
    bool own_bits;    // the last bits depend on the number of ranks
    // Text of the configuration, in which %s stands for the folder of pictures.  NULL: extraction.
    const char *config;
} Method;

int methods_count(void);
const Method *method_at(int i);

// Writes pictures and configurations into the folder.
void methods_prepare(const char *folder);
// Writes a command line whose output goes to `out`, NULL at the end.  Words that are made for it
// stand in `room`.
void method_command(const Method *method, const char *folder, const char *out, int ranks,
                    char *argv[METHOD_WORDS], char room[3][METHOD_PATH]);

#endif
