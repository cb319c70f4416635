// See the header.
#include "cli/run_pages.h"

#include "base/clock.h"
#include "base/log.h"
#include "pages/image_gallery.h"
#include "pages/projector.h"
#include "pages/run_record.h"
#include "pages/run_report.h"

// Of the time of a run that pages may take.
#define SHARE 0.01

static void write_report(SrRunPages *p) {
    double began = sr_clock();
    if (sr_run_report_write(p->config->checkpoint.dir) != SR_OK)
        sr_warn("no " SR_REPORT_FILE ": %s", sr_status_message());
    p->spent += sr_clock() - began;
}

// The first epoch always has its page; later ones when what pages took so far is a small part of the run.
void sr_run_pages_told(void *arg, SrTold what) {
    SrRunPages *p = arg;
    if (what == SR_TOLD_BEGIN) {
        p->began = sr_clock();
        sr_run_record_write(p->config, p->words, p->n_words, p->command);
        if (sr_projector_augmentations(p->config) != SR_OK)
            sr_warn("no augmentations for TensorBoard: %s", sr_status_message());
        return;
    }
    if (p->spent == 0 || p->spent < SHARE * (sr_clock() - p->began))
        write_report(p);
}

static void write_gallery(const SrRunPages *p, SrRun *run) {
    SrGalleryReport report;
    if (sr_image_gallery(p->config, run->model, &SR_GALLERY_DEFAULT, &report) != SR_OK)
        sr_warn("no images in " SR_REPORT_FILE ": %s", sr_status_message());
}

void sr_run_pages_end(SrRunPages *p, SrRun *run, bool finished) {
    if (p->began == 0)
        return; // it never began
    if (finished && p->config->test_model)
        write_gallery(p, run);
    write_report(p);
    sr_info("%s/" SR_REPORT_FILE " shows the run", p->config->checkpoint.dir);
}
