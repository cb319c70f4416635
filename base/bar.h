// Progress bar on the terminal for work that takes longer than two seconds.  Nothing is drawn when
// stderr is no terminal.  Training reports its progress in lines instead
// (trainer/run/meters/progress.h).
#ifndef SR_BASE_BAR_H
#define SR_BASE_BAR_H

#include <stddef.h>
#include <stdint.h>

// Seconds before a bar appears.  The environment variable SR_BAR_AFTER overrides it.
#define SR_BAR_AFTER_S 2.0

typedef struct {
    const char *what; // label, such as "features of test images"; the caller's
    int64_t total;    // number of parts; 0: not known
    // began, drawn: sr_clock() at the beginning and at the last drawing; drawn 0: not drawn yet.
    // after: seconds before the bar appears.
    double began, after, drawn;
} SrBar;

void sr_bar_begin(SrBar *bar, const char *what, int64_t total);
// Reports that `done` parts are finished; draws at most five times a second.
void sr_bar_at(SrBar *bar, int64_t done);
void sr_bar_end(SrBar *bar); // wipes the bar

// Writes the bar's text: "features [#####.....]  50% 128/256, 0:00:07 left".
// columns: the bar shrinks, and then disappears, to keep the text below this width.
// seconds: time since the beginning.
void sr__bar_text(const SrBar *bar, int64_t done, double seconds, int columns, char *out,
                  size_t bytes);

#endif
