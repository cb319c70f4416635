// Lines to stderr and the run's log file.  One mutex keeps lines whole: loader threads report bad
// images while the main thread reports progress.
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/own_file.h"
#include "base/text/number.h"
#include "base/text/text.h"

#define KEPT_BYTES 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static SrLogLevel threshold = SR_LOG_INFO;
static FILE *file;
static bool keeping; // lines are kept in `kept` until the log file is open
static SrText kept;
static int live_shown; // a live line is on the terminal; wiped before the next line

// Yellow and red, used on terminals only.
static const char *const colors[] = {[SR_LOG_WARN] = "\033[33m", [SR_LOG_ERROR] = "\033[31m"};

static const char *const marks[] = {[SR_LOG_DEBUG] = "debug: ",
                                    [SR_LOG_INFO] = "",
                                    [SR_LOG_WARN] = "warning: ",
                                    [SR_LOG_ERROR] = "error: "};

// Excludes dumb terminals, which cannot overwrite text and show escapes as they are.
int sr_log_is_terminal(void) {
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0);
}

// Follows https://no-color.org: NO_COLOR set to any text but the empty one means no colours.
int sr_log_has_colors(void) {
    const char *none = getenv("NO_COLOR");
    return sr_log_is_terminal() && !(none && *none);
}

int sr_log_columns(void) {
    struct winsize size;
    if (!sr_log_is_terminal())
        return 0;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

SrLogLevel sr_log_set_level(SrLogLevel level) {
    pthread_mutex_lock(&lock);
    SrLogLevel before = threshold;
    threshold = level;
    pthread_mutex_unlock(&lock);
    return before;
}

SrLogLevel sr_log_level(void) {
    pthread_mutex_lock(&lock);
    SrLogLevel now = threshold;
    pthread_mutex_unlock(&lock);
    return now;
}

static void wipe_live(void) {
    if (live_shown)
        fputs("\r\033[K", stderr);
    live_shown = 0;
}

static void stamp(SrText *out, const char *mark, const char *line) {
    char text[32];
    time_t now = time(NULL);
    struct tm tm;
    localtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    sr_text_printf(out, "%s %s%s\n", text, mark, line);
}

// Flushes each line, so that the log is complete after a kill.  A line that cannot be written (full
// disk) is lost, and the run continues.
static void to_file(const char *mark, const char *line) {
    SrText text = SR_TEXT_INIT;
    if (!file && (!keeping || kept.len > KEPT_BYTES))
        return;
    stamp(file ? &text : &kept, mark, line);
    if (file && text.s)
        fputs(text.s, file);
    if (file)
        fflush(file);
    sr_text_deinit(&text);
}

static void put(SrLogLevel level, const char *shown, const char *filed) {
    pthread_mutex_lock(&lock);
    if (level >= threshold) {
        wipe_live();
        bool colored = level >= SR_LOG_WARN && sr_log_has_colors();
        fprintf(stderr, "%s%s%s%s\n", colored ? colors[level] : "", marks[level],
                colored ? "\033[0m" : "", shown);
    }
    if (level >= threshold || level >= SR_LOG_INFO)
        to_file(marks[level], filed);
    pthread_mutex_unlock(&lock);
}

void sr_log(SrLogLevel level, const char *fmt, ...) {
    char line[4096];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    sr_text_disarm(line, "\n\t"); // names of files and keys must not control the terminal
    put(level, line, line);
}

void sr_log_fitted(const char *short_line, const char *whole_line) {
    put(SR_LOG_INFO, sr_log_is_terminal() ? short_line : whole_line, whole_line);
}

void sr_log_end_live(void) {
    pthread_mutex_lock(&lock);
    wipe_live();
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}

void sr_log_file(const char *fmt, ...) {
    char line[4096];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    sr_text_disarm(line, "\n\t");
    pthread_mutex_lock(&lock);
    to_file("", line);
    pthread_mutex_unlock(&lock);
}

void sr_log_keep(void) {
    pthread_mutex_lock(&lock);
    keeping = true;
    pthread_mutex_unlock(&lock);
}

// Appends, because a resumed run continues its log.
SrStatus sr_log_open(const char *path) {
    FILE *f;
    SR_TRY(sr_file_append(path, &f));
    pthread_mutex_lock(&lock);
    if (file)
        fclose(file);
    file = f;
    if (kept.s)
        fputs(kept.s, file);
    fflush(file);
    sr_text_deinit(&kept);
    keeping = false;
    pthread_mutex_unlock(&lock);
    return SR_OK;
}

void sr_log_close(void) {
    pthread_mutex_lock(&lock);
    if (file)
        fclose(file);
    file = NULL;
    sr_text_deinit(&kept);
    keeping = false;
    pthread_mutex_unlock(&lock);
}

// Cuts the line, because a wrapped line could not be wiped.  The last column stays free: some
// terminals wrap there.
void sr_log_live(const char *fmt, ...) {
    if (!sr_log_is_terminal() || threshold > SR_LOG_INFO)
        return;
    char line[512];
    va_list args;
    va_start(args, fmt);
    sr_number_vprint(line, SR_MIN(sizeof line, (size_t)sr_log_columns()), fmt, args);
    va_end(args);
    sr_text_disarm(line, "");
    pthread_mutex_lock(&lock);
    fprintf(stderr, "\r%s\033[K", line); // erases after the text: erasing before it would flicker
    fflush(stderr);
    live_shown = 1;
    pthread_mutex_unlock(&lock);
}
