// Decides when pages of a training run are written; failures become warnings.
#include "cli/run_pages.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "cli/next.h"
#include "pages/photos/image_gallery.h"
#include "pages/photos/projector.h"
#include "pages/runs/run_record.h"
#include "pages/runs/run_report.h"
#include "trainer/run/meters/metrics.h"

// Largest share of a run's time for pages.
#define SHARE 0.01

// Returns the memory of the page: a step needs less.
static bool write_report(SrRunPages *p) {
    double began = sr_clock();
    bool written = sr_run_report_write(p->config->checkpoint.dir) == SR_OK;
    if (!written)
        sr_warn("no " SR_REPORT_FILE ": %s", sr_status_message());
    sr_mem_trim();
    p->spent += sr_clock() - began;
    return written;
}

// Writes the page after the first epoch, and after later ones while pages take less than SHARE of
// the run.
void sr_run_pages_told(void *arg, SrTold what) {
    SrRunPages *p = arg;
    if (what == SR_TOLD_BEGIN) {
        p->began = sr_clock();
        sr_run_record_write(p->config, p->words, p->n_words, p->command);
        if (sr_projector_augmentations(p->config) != SR_OK)
            sr_warn("TensorBoard gets no augmentations: %s", sr_status_message());
        return;
    }
    if (p->spent == 0 || p->spent < SHARE * (sr_clock() - p->began))
        write_report(p);
}

// Writes the gallery, whose features belong to the evaluation.
static void write_gallery(SrRunPages *p, SrRun *run) {
    SrGalleryReport report;
    if (sr_image_gallery(p->config, run->model, &SR_GALLERY_DEFAULT, &report) != SR_OK)
        sr_warn("no images in " SR_REPORT_FILE ": %s", sr_status_message());
    p->spent += report.seconds - report.features_s;
}

// Prints the name of the page, and the next commands.
static void say_where(const char *dir, const SrRun *trained) {
    SrText next = SR_TEXT_INIT;
    sr_info("%s/" SR_REPORT_FILE " shows the run", dir);
    if (trained)
        sr_next_add_trained(&next, trained);
    sr_next_add_web(&next, dir);
    sr_next_say(&next);
}

SrStatus sr_run_pages_keep(const char *run, const SrText *line) {
    SrMetrics metrics;
    SR_TRY(sr_metrics_open(&metrics, run, "metrics.json"));
    sr_text_add(&metrics.line, line->s ? line->s : "");
    metrics.line.failed |= line->failed;
    sr_metrics_write(&metrics);
    sr_metrics_close(&metrics);
    return SR_OK;
}

void sr_run_pages_add(const char *run, const SrText *line) {
    if (sr_run_is_live(run))
        return;
    SrStatus status = sr_run_pages_keep(run, line);
    if (status == SR_OK)
        status = sr_run_report_write(run);
    if (status != SR_OK)
        sr_warn("%s/" SR_REPORT_FILE " is without these figures: %s", run, sr_status_message());
    else
        say_where(run, NULL);
}

// Keeps the message of the failure that ended the run, even if pages fail too.
void sr_run_pages_end(SrRunPages *p, SrRun *run, SrStatus ended_with) {
    char message[4096]; // size of the longest message
    if (p->began == 0)
        return; // the run did not start
    double ended = sr_clock(), share = p->spent / (ended - p->began);
    snprintf(message, sizeof message, "%s", sr_status_message());
    if (ended_with == SR_OK && p->config->test_model)
        write_gallery(p, run);
    if (write_report(p))
        say_where(p->config->checkpoint.dir, ended_with == SR_OK ? run : NULL);
    sr_log(SR_LOG_DEBUG, "the pages took %.2f s, %.2f %% of the time of the run", p->spent,
           100 * share);
    if (ended_with != SR_OK)
        sr_fail(ended_with, "%s", message);
}
