// Writes steps, epochs and histograms of parameters to TensorBoard's event file.
#include "trainer/run/meters/tensorboard.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/file.h"

SrStatus sr_tensorboard_open(SrTensorboard *t, const SrConfig *config) {
    char dir[4096];
    *t = (SrTensorboard){.config = &config->tensorboard, .flushed = sr_clock()};
    if (!config->tensorboard.on)
        return SR_OK;
    SR_TRY(sr_file_join(dir, sizeof dir, config->checkpoint.dir, SR_TENSORBOARD_DIR));
    return sr_event_file_open(&t->events, dir);
}

void sr_tensorboard_close(SrTensorboard *t) { sr_event_file_close(&t->events); }

static void flush(SrTensorboard *t) {
    double now = sr_clock();
    if (now - t->flushed < 60.0 * t->config->flush_min)
        return;
    t->flushed = now;
    sr_event_flush(&t->events);
}

void sr_tensorboard_step(SrTensorboard *t, const SrTensorboardStep *s) {
    if (!t->events.f)
        return;
    const struct {
        const char *tag;
        double value;
    } rows[] = {{"Training/Loss", s->loss},
                {"Training/Learning_rate", s->lr},
                {"Training/Gradient_norm", s->grad_norm},
                {"Speed/Batch_processing_time_ms", 1e3 * s->step_s},
                {"Speed/data_loading_time_ms", 1e3 * s->step_s * s->wait_share},
                {"Speed/images_per_second", s->images_per_s}};
    for (int i = 0; i < SR_COUNT(rows); i++)
        sr_event_scalar(&t->events, s->iteration, rows[i].tag, rows[i].value);
    flush(t);
}

void sr_tensorboard_figure(SrTensorboard *t, int64_t iteration, const char *tag, double value) {
    sr_event_scalar(&t->events, iteration, tag, value);
    sr_event_flush(&t->events);
}

void sr_tensorboard_params(SrTensorboard *t, int64_t iteration, SrParams *params) {
    const SrTensorboardConfig *c = t->config;
    char tag[512];
    if (!t->events.f || c->params_every < 1 || iteration % c->params_every != 0)
        return;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        int64_t n = sr_shape_count(p->shape);
        if (p->kind != SR_SLOT_PARAM || !p->trainable)
            continue;
        snprintf(tag, sizeof tag, "Parameters/%s", p->name);
        if (c->params)
            sr_event_histogram(&t->events, iteration, tag, p->value, n);
        snprintf(tag, sizeof tag, "Gradients/%s", p->name);
        if (c->gradients && p->grad)
            sr_event_histogram(&t->events, iteration, tag, p->grad, n);
    }
}
