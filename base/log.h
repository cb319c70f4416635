// Diagnostics: lines on stderr, and in the run's log file once it is open.
// Results go to stdout by printf, never through this file.
#ifndef SR_BASE_LOG_H
#define SR_BASE_LOG_H

#include "base/compiler.h"
#include "base/status.h"

typedef enum { SR_LOG_DEBUG, SR_LOG_INFO, SR_LOG_WARN, SR_LOG_ERROR } SrLogLevel;

// Sets the lowest level that goes to stderr, INFO at first, and returns the earlier one.  The log
// file always gets INFO and above.
SrLogLevel sr_log_set_level(SrLogLevel level);
SrLogLevel sr_log_level(void); // the lowest level that goes to stderr
// Writes one line, which begins with its level unless that is INFO.
void sr_log(SrLogLevel level, const char *fmt, ...) SR_PRINTF(2, 3);
#define sr_info(...) sr_log(SR_LOG_INFO, __VA_ARGS__)
#define sr_warn(...) sr_log(SR_LOG_WARN, __VA_ARGS__)

// Opens the log file: every line is also appended to it, with a time stamp, until sr_log_close.
// After sr_log_keep, lines are kept (at most 64 KiB) and become the first lines of that file.
SrStatus sr_log_open(const char *path);
void sr_log_keep(void);
void sr_log_file(const char *fmt, ...) SR_PRINTF(1, 2); // a line for the file alone
void sr_log_close(void);

// Writes one INFO line in two lengths: the short one to a terminal, the whole one to the log file
// and to a stderr that is no terminal.
void sr_log_fitted(const char *short_line, const char *whole_line);

// Shows a live line, which replaces the previous one and is cut to the terminal's width.  Does
// nothing if stderr is no terminal.
void sr_log_live(const char *fmt, ...) SR_PRINTF(1, 2);
// Wipes the live line.  Call it before printing to the terminal by other means.
void sr_log_end_live(void);
int sr_log_is_terminal(void); // stderr is a terminal with escapes, not TERM=dumb
int sr_log_has_colors(void);  // a terminal, and NO_COLOR is not set
// Returns the width of the terminal, 80 if it is unknown; 0: stderr is no terminal.
int sr_log_columns(void);

#endif
