// How far something that takes long has come: a bar on the terminal from the second second on, nothing anywhere else.
// Not progress of training, whose lines are kept (trainer/run/progress.h).
#ifndef SR_BASE_BAR_H
#define SR_BASE_BAR_H

#include <stddef.h>
#include <stdint.h>

// What is shorter than this passes without a bar, seconds; the environment's SR_BAR_AFTER says otherwise.
#define SR_BAR_AFTER_S 2.0

typedef struct {
    const char *what; // "features of test images"
    int64_t total;    // 0: not known
    double began, after, drawn;
} SrBar;

void sr_bar_begin(SrBar *bar, const char *what, int64_t total);
// `done` of the total; draws at most five times a second.
void sr_bar_at(SrBar *bar, int64_t done);
void sr_bar_end(SrBar *bar); // wipes it

// What stands there: "features [#####.....]  50% 128/256, 0:00:07 left", below `columns` characters wide.  seconds: since
// the beginning.  The bar gives way before the words do.
void sr__bar_text(const SrBar *bar, int64_t done, double seconds, int columns, char *out,
                  size_t bytes);

#endif
