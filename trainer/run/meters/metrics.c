// Writes JSON lines to a file in the run folder.
#include "trainer/run/meters/metrics.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/own_file.h"

// Opens the file to append: a resumed run adds to the lines that are there.
SrStatus sr_metrics_open(SrMetrics *m, const char *dir, const char *name) {
    char path[4096];
    *m = (SrMetrics){0};
    SR_TRY(sr_file_join(path, sizeof path, dir, name));
    return sr_file_append(path, &m->f);
}

// The text keeps its memory from line to line.
SrText *sr_metrics_begin(SrMetrics *m) {
    sr_text_restart(&m->line);
    sr_json_begin(&m->line);
    return &m->line;
}

// A full disk must not end a run that could still save its state elsewhere: warn once and stop
// writing.
void sr_metrics_write(SrMetrics *m) {
    if (!m->f)
        return;
    if (m->line.failed) {
        sr_warn("a line of metrics is left out, because memory is short");
        return;
    }
    if (fwrite(m->line.s, 1, m->line.len, m->f) == m->line.len && fflush(m->f) == 0)
        return;
    sr_warn("sslrun stops writing metrics: %s", strerror(errno));
    fclose(m->f);
    m->f = NULL;
}

void sr_metrics_end(SrMetrics *m) {
    sr_json_end(&m->line);
    sr_metrics_write(m);
}

// Legal for a struct that was never opened.
void sr_metrics_close(SrMetrics *m) {
    if (m->f)
        fclose(m->f);
    sr_text_deinit(&m->line);
    *m = (SrMetrics){0};
}
