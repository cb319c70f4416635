// Progress bar on the terminal for work that takes longer than two seconds.  When stderr is no
// terminal, such as a log, a line is printed at most once a minute.  Training reports its progress
// in lines instead (trainer/run/meters/progress.h).
#ifndef SR_BASE_BAR_H
#define SR_BASE_BAR_H

#include <stddef.h>
#include <stdint.h>

// Seconds before a bar appears.  The environment variable SR_BAR_AFTER overrides it.
#define SR_BAR_AFTER_S 2.0
// Seconds between two lines in a log.  The environment variable SR_BAR_EVERY overrides it.
#define SR_BAR_EVERY_S 60.0

typedef struct {
    const char *what; // label, such as "features of test images"; the caller's
    int64_t total;    // number of parts; 0: not known
    // began, drawn: sr_clock() at the beginning and at the last drawing; drawn 0: not drawn yet.
    // after: seconds before the bar appears.
    // every: seconds between two lines in a log.
    double began, after, drawn, every;
} SrBar;

void sr_bar_begin(SrBar *bar, const char *what, int64_t total);
// Reports that `done` parts are finished; draws at most five times a second.  Lines in a log are
// counted over all bars of the process, so that many short passes print one line a minute, too.
void sr_bar_at(SrBar *bar, int64_t done);
void sr_bar_end(SrBar *bar); // wipes the bar

// Writes the bar's text: "features [#####.....]  50% 128/256, 0:00:07 left".
// columns: the bar shrinks, and then disappears, to keep the text below this width.
// seconds: time since the beginning.
void sr__bar_text(const SrBar *bar, int64_t done, double seconds, int columns, char *out,
                  size_t bytes);

#endif
