// Runs golden cases tf_masked_image_modeling*: masks from recorded draws, and the statistics of
// many masks.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "data/augment/shared/block_mask.h"
#include "tests/golden/golden.h"
#include "tests/golden/images.h"

typedef struct {
    const SrYaml *list; // each entry is [kind, low, high, value]
    int at;
    bool wrong; // the transform drew from a range that was not recorded
} Replay;

static const SrYaml *next(Replay *r, const char *kind, double low, double high) {
    if (r->at >= r->list->n) {
        r->wrong = true;
        return r->list->items[0]->items[3];
    }
    const SrYaml *draw = r->list->items[r->at++];
    r->wrong = r->wrong || strcmp(draw->items[0]->text, kind) != 0 ||
               fabs(draw->items[1]->f - low) > 1e-9 || fabs(draw->items[2]->f - high) > 1e-9;
    return draw->items[3];
}

static double uniform(void *arg, double low, double high) {
    return next(arg, "uniform", low, high)->f;
}

static int whole(void *arg, int low, int high) { return (int)next(arg, "randint", low, high)->i; }

typedef struct {
    SrBlockMask mask;
    double mean[8], var[8];
    int h, w;
    uint8_t *hidden; // scratch memory, (h, w)
} Config;

static void read_config(const SrYaml *y, Config *out) {
    const SrYaml *mean = sr_yaml_find(y, "pred_ratio_mean"),
                 *var = sr_yaml_find(y, "pred_ratio_var"),
                 *aspect = sr_yaml_find(y, "log_aspect_ratio"), *size = sr_yaml_find(y, "image"),
                 *patch = sr_yaml_find(y, "patch_size");
    *out = (Config){.h = (int)(size->items[0]->i / patch->i),
                    .w = (int)(size->items[1]->i / patch->i)};
    out->mask = (SrBlockMask){.n_ratios = SR_MIN(mean->n, 8), .mean = out->mean, .var = out->var};
    for (int i = 0; i < out->mask.n_ratios; i++) {
        out->mean[i] = mean->items[i]->f;
        out->var[i] = var->items[i]->f;
    }
    for (int i = 0; i < 2; i++)
        out->mask.log_aspect[i] = aspect->items[i]->f;
}

static SrStatus run_exact(SrGoldenCase *c, const Config *config, int k) {
    char name[48], out[48];
    const SrYaml *draws;
    for (int i = 0;
         snprintf(name, sizeof name, "draws%d_%d", k, i), (draws = sr_yaml_find(c->values, name));
         i++) {
        Replay replay = {.list = draws};
        sr__block_mask_draw(&config->mask, (SrDraws){uniform, whole, &replay}, config->h, config->w,
                            config->hidden);
        if (replay.wrong || replay.at != draws->n)
            SR_FAIL(SR_ERR_RUN, "%s: %s used %d of %d draws, or other ranges", c->name, name,
                    replay.at, draws->n);
        snprintf(out, sizeof out, "mask%d_%d", k, i);
        SR_TRY(golden_compare_u8(c, out, config->hidden, (int64_t)config->h * config->w, 0));
    }
    return SR_OK;
}

// Checks the share of hidden patches over many masks: the mean within four standard errors, and
// the deviation, whose distribution has a long tail, within 15 %.
static SrStatus run_share(SrGoldenCase *c, const Config *config, int k) {
    enum { N = 4000 };
    double sum = 0, squares = 0, mean, deviation;
    if (!golden_value(c, golden_numbered(c, "mean_share", k), &mean) ||
        !golden_value(c, golden_numbered(c, "std_share", k), &deviation))
        SR_FAIL(SR_ERR_RUN, "%s: no mean_share%d", c->name, k);
    for (int i = 0; i < N; i++) {
        SrRng rng = sr_rng(1, SR_RNG_TEST, 0, (uint64_t)i, 0, 0);
        double share = (double)sr__block_mask_draw(&config->mask, sr__draws_of(&rng), config->h,
                                                   config->w, config->hidden) /
                       (config->h * config->w);
        sum += share;
        squares += share * share;
    }
    double ours = sum / N;
    SR_TRY(golden_number(c, "mean_share", ours - mean + 1, 1, 4 * deviation / sqrt(N)));
    return golden_number(c, "std_share", sqrt(squares / N - ours * ours) - deviation + 1, 1,
                         0.15 * deviation);
}

static SrStatus run(SrGoldenCase *c) {
    const SrYaml *y;
    for (int k = 0; (y = sr_yaml_find(c->values, golden_numbered(c, "config", k))); k++) {
        Config config;
        read_config(y, &config);
        config.mask.mean = config.mean;
        config.mask.var = config.var;
        config.hidden = sr_arena_alloc(c->arena, (size_t)config.h * (size_t)config.w + 1);
        if (!config.hidden)
            SR_FAIL(SR_ERR_MEMORY, "out of memory for a mask");
        SR_TRY(run_exact(c, &config, k));
        SR_TRY(run_share(c, &config, k));
    }
    return SR_OK;
}

const SrGolden sr_golden_tf_masked_image_modeling = {.prefixes = {"tf_masked_image_modeling"},
                                                     .run = run};
