// Tests the pass over the training images that a loss may request at the start of an epoch: every
// image once, in order, with embeddings of the present model. The pass leaves no trace in the
// run.
#include "tests/check.h"

#include "base/mem.h"
#include "trainer/run/epoch_pass.h"
#include "trainer/run/run.h"

enum { IMAGES = 70, VIEWS = 3, D = 8 };

typedef struct {
    SrRun *run;
    int seen[IMAGES];
    int64_t n, batches;
    double sum; // sum of absolute values of the embeddings of view 0
} Seen;

// Checks the last batch, which has 6 images of 8: the other two repeat the first two.
static void check_repeated(const Seen *s, const SrEpochRows *rows) {
    SrTensor x = sr_plan_input(s->run->plan, s->run->graph.views[0]);
    size_t image = (size_t)sr_shape_count(x.shape) / (size_t)rows->batch;
    for (int i = rows->n; i < rows->batch; i++)
        CHECK(memcmp((float *)x.data + (size_t)i * image,
                     (float *)x.data + (size_t)(i - rows->n) * image, image * sizeof(float)) == 0);
}

static SrStatus count(void *arg, const SrEpochRows *rows) {
    Seen *s = arg;
    SrTensor e = sr_loss_value(&rows->step, s->run->graph.outputs[0]); // (VIEWS * batch, D)
    CHECK_INT(e.shape.d[0], VIEWS * rows->batch);
    CHECK_INT(e.shape.d[1], D);
    check_repeated(s, rows);
    for (int i = 0; i < rows->n; i++) {
        CHECK_INT(rows->index[i], s->n);
        s->seen[s->n++]++;
        for (int k = 0; k < D; k++)
            s->sum += fabs((double)((const float *)e.data)[i * D + k]);
    }
    s->batches++;
    return SR_OK;
}

static SrStatus refuse(void *arg, const SrEpochRows *rows) {
    (void)arg, (void)rows;
    SR_FAIL(SR_ERR_RUN, "no clusters");
}

static void *copy_table(SrParams *params, size_t *bytes) {
    *bytes = 0;
    for (int i = 0; i < sr_params_count(params); i++)
        *bytes += (size_t)sr_shape_count(sr_params_at(params, i)->shape) * sizeof(int64_t);
    char *copy = sr_calloc(1, *bytes), *to = copy;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        size_t n = (size_t)sr_shape_count(p->shape) * sr_dtype_bytes(p->dtype);
        memcpy(to, p->value, n);
        to += n;
    }
    return copy;
}

TEST(test_sees_every_image) {
    SrConfig *config;
    SrRun *run;
    size_t bytes;
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", NULL, 0, &config));
    CHECK_OK(sr_run_open(config, SR_RUN_TRAIN, &run));
    CHECK_OK(sr_run_begin(run, 0, false));
    void *before = copy_table(sr_model_params(run->model), &bytes);
    SrEpoch epoch = sr_run_epoch(run, 0, 0);
    Seen a = {.run = run}, b = {.run = run};
    CHECK_INT(epoch.n_samples, IMAGES);
    CHECK_OK(epoch.pass(&epoch, count, &a));
    CHECK_INT(a.n, IMAGES);
    CHECK_INT(a.batches, 9); // of 8 images, the last of 6
    CHECK(a.sum > 1);
    for (int i = 0; i < IMAGES; i++)
        CHECK_INT(a.seen[i], 1);
    CHECK_OK(epoch.pass(&epoch, count, &b));
    CHECK_NEAR(a.sum, b.sum, 0);
    void *after = copy_table(sr_model_params(run->model), &bytes);
    CHECK(memcmp(before, after, bytes) == 0);
    CHECK_FAILS(epoch.pass(&epoch, refuse, NULL), SR_ERR_RUN, "no clusters");
    sr_free(before);
    sr_free(after);
    sr_run_close(run);
    sr_config_free(config);
}

SR_TESTS(epoch_pass, unit(test_sees_every_image))
