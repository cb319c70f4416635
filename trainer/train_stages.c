// Builds each stage for a look, and reads its sizes from its transforms.
#include "trainer/train_stages.h"

#include "trainer/config/derived_config.h"
#include "trainer/config/stages.h"

// A loss is built for a number of views.
static SrStatus same_views(const SrConfig *config, const SrConfig *stage) {
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS], whole, part;
    SR_TRY(sr_split_train_shape(config, &whole, h, w));
    SR_TRY(sr_split_train_shape(stage, &part, h, w));
    if (whole == part)
        return SR_OK;
    SR_FAIL(SR_ERR_CONFIG,
            "%d view%s of an image, but %d without `set`: a stage may change views, but not their "
            "number",
            part, part == 1 ? "" : "s", whole);
}

static SrStatus check_stage(const SrConfig *config, int k, SrStageSeen *seen, void *arg) {
    SrConfig *stage;
    SrRun *dry;
    SR_TRY(sr_config_stage(config, k, &stage));
    SrStatus status = same_views(config, stage);
    if (status == SR_OK)
        status = sr_run_open(stage, SR_RUN_CHECK, &dry);
    if (status == SR_OK) {
        status = seen ? seen(arg, k, dry) : SR_OK;
        sr_run_close(dry);
    }
    sr_config_free(stage);
    return status;
}

// A mistake in the last stage should show before the first has been trained for hours.
SrStatus sr_train_check_stages(const SrConfig *config, SrStageSeen *seen, void *arg) {
    sr_stages_warn(config);
    for (int k = 0; k + 1 < sr_stages_count(config); k++) {
        SrStatus status = check_stage(config, k, seen, arg);
        if (status != SR_OK)
            return sr_fail_prefix(status, "DATA.STAGES[%d]", k);
    }
    return SR_OK;
}

// Sums the pixels of an image's views in stage k.
static SrStatus pixels(const SrConfig *config, int k, double *sum) {
    SrConfig *stage;
    int h[SR_MAX_VIEWS], w[SR_MAX_VIEWS], n;
    SR_TRY(sr_config_stage(config, k, &stage));
    SrStatus status = sr_split_train_shape(stage, &n, h, w);
    sr_config_free(stage);
    SR_TRY(status);
    *sum = 0;
    for (int i = 0; i < n; i++)
        *sum += (double)h[i] * w[i];
    return SR_OK;
}

SrStatus sr_train_later_steps(const SrConfig *config, int k, double steps_per_epoch, double *out) {
    double here, there;
    *out = 0;
    if (k + 1 == sr_stages_count(config))
        return SR_OK;
    SR_TRY(pixels(config, k, &here));
    for (int later = k + 1; later < sr_stages_count(config); later++) {
        int epochs = sr_stage_end(config, later) - sr_stage_begin(config, later);
        SR_TRY(pixels(config, later, &there));
        *out += (there / here - 1) * steps_per_epoch * epochs;
    }
    return SR_OK;
}
