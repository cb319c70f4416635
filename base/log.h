// Diagnostics for the person at the terminal: stderr, and the run's log file once one is open.
// Results go to stdout by plain printf and never through here.
#ifndef SR_BASE_LOG_H
#define SR_BASE_LOG_H

#include "base/compiler.h"
#include "base/status.h"

typedef enum { SR_LOG_DEBUG, SR_LOG_INFO, SR_LOG_WARN, SR_LOG_ERROR } SrLogLevel;

// Of what goes to stderr, INFO at start; returns the level before.  The file has INFO and above in any case.
SrLogLevel sr_log_set_level(SrLogLevel level);
// Each line "LEVEL message"; warnings and errors are marked, plain information is not.
void sr_log(SrLogLevel level, const char *fmt, ...) SR_PRINTF(2, 3);
#define sr_info(...) sr_log(SR_LOG_INFO, __VA_ARGS__)
#define sr_warn(...) sr_log(SR_LOG_WARN, __VA_ARGS__)

// Also appends every line, with a time stamp, to this file until sr_log_close.
// From sr_log_keep on, lines wait for that file (at most 64 KiB) and are its first ones.
SrStatus sr_log_open(const char *path);
void sr_log_keep(void);
void sr_log_file(const char *fmt, ...) SR_PRINTF(1, 2); // a line for the file alone
void sr_log_close(void);

// One line of information in two lengths: a terminal's, and that of the file and of a stderr that is none.
void sr_log_fitted(const char *short_line, const char *whole_line);

// A line that overwrites itself when stderr is a terminal, cut to its width, and is dropped when it is not.
void sr_log_live(const char *fmt, ...) SR_PRINTF(1, 2);
// Wipes the live line: before anything is printed that does not come through here.
void sr_log_end_live(void);
int sr_log_is_terminal(void); // one that knows escapes: TERM=dumb is none
int sr_log_has_colors(void);  // such a terminal, and no NO_COLOR
int sr_log_columns(
    void); // width of the terminal that stderr is, 80 if it does not say; 0: no terminal

#endif
