// Each failure injected is found by its name with an override to try; none is found in the losses' own examples.
#include "trainer/run/health.h"

#include "tests/check.h"
#include "tests/trainer/tiny_model.h"

static const SrHealthFigures well = {
    .loss_min = 2,
    .loss_max = 3,
    .chance = 4,
    .loss = "LOSS.byol_loss",
    .grad_norm = 1,
    .lr = 0.1,
    .has_embeddings = true,
    .embeddings = {.rows = 64, .deviation = 0.9, .effective_rank = 12, .uniformity = -3},
    .prototypes = 300,
    .prototypes_used = 100,
    .score_rows = 128};

static void expect(const SrHealthFigures *f, const char *name, const char *try) {
    SrHealthFinding found[SR_HEALTH_MAX];
    CHECK_INT(sr_health_judge(f, found), 1);
    CHECK_STR(found[0].name, name);
    if (!strstr(found[0].text, try))
        fail_msg("%s does not say %s: %s", name, try, found[0].text);
}

static void test_findings(void **state) {
    (void)state;
    SrHealthFinding found[SR_HEALTH_MAX];
    CHECK_INT(sr_health_judge(&well, found), 0);
    SrHealthFigures f = well;
    f.loss_min = 3.99, f.loss_max = 4.01;
    expect(&f, "trivial_loss", "lr.start_value=0.3 ");
    f = well, f.embeddings.deviation = 0.001;
    expect(&f, "collapse", "lr.start_value=0.01 ");
    f = well, f.embeddings.effective_rank = 1.1;
    expect(&f, "low_rank", "use_bn=True");
    f = well, f.prototypes_used = 1, f.one_prototype = 2;
    expect(&f, "one_prototype", "TEMP_FROZEN_PARAMS_ITER_MAP");
    f = well, f.grad_norm = 1e6;
    expect(&f, "gradients_explode", "USE_GRAD_CLIP=True");
    f = well, f.grad_norm = NAN;
    expect(&f, "gradients_explode", "USE_GRAD_CLIP=True");
    f = well, f.grad_norm = 0;
    expect(&f, "gradients_vanish", "NON_TRAINABLE_PARAMS");
    f = well, f.teacher_still = true;
    expect(&f, "teacher_still", "LOSS.byol_loss.momentum=0.996");
    f = well, f.queue_still = true;
    expect(&f, "queue_stale", "LOSS.byol_loss");
}

// What try overrides say must be a configuration.
static void test_overrides(void **state) {
    (void)state;
    static const char *const overrides[] = {"OPTIMIZER.param_schedulers.lr.name=cosine",
                                            "OPTIMIZER.param_schedulers.lr.start_value=0.3",
                                            "OPTIMIZER.param_schedulers.lr.end_value=0",
                                            "MODEL.GRAD_CLIP.USE_GRAD_CLIP=True",
                                            "MODEL.NON_TRAINABLE_PARAMS=[]",
                                            "LOSS.byol_loss.momentum=0.996"};
    SrConfig *config = NULL;
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", overrides, SR_COUNT(overrides), &config));
    sr_config_free(config);
}

static void start(TinyModel *t, const SrLoss *loss, const SrLossExample *e) {
    CHECK_OK(tiny_model_start_example(t, loss, e, e->options ? e->options : "{}", 1));
}

// Two "epochs" of two steps of every example.
static void test_examples_are_well(void **state) {
    (void)state;
    for (int i = 0; sr_loss_at(i); i++) {
        const SrLoss *loss = sr_loss_at(i);
        TinyModel t;
        SrHealth health = {0};
        if (loss->before_epoch) // a tiny model has no epochs, so that no image has a cluster
            continue;
        start(&t, loss, &loss->examples[0]);
        for (int epoch = 0; epoch < 2; epoch++) {
            double a = tiny_model_step(&t, 0.05), b = tiny_model_step(&t, 0.05);
            SrLossStep view = sr_step_view(&t.step, t.iteration, epoch);
            SrHealthFigures f = {.loss_min = fmin(a, b), .loss_max = fmax(a, b), .lr = 0.05};
            SrHealthFinding found[SR_HEALTH_MAX];
            CHECK_OK(sr_health_measure(&health, &t.step, &view, &f));
            CHECK(loss->needs_labels || loss->rows_are_independent || f.has_embeddings ||
                  f.prototypes > 0);
            if (sr_health_judge(&f, found) > 0)
                fail_msg("%s, epoch %d: %s: %s", loss->name, epoch, found[0].name, found[0].text);
        }
        tiny_model_close(&t);
    }
}

// A teacher of momentum 1, and embeddings that are one vector, as a plan holds them.
static void test_measured(void **state) {
    (void)state;
    static const SrLossExample still = {"{predictor_hidden_dim: 16, momentum: 1}",
                                        "[[mlp, {dims: [32, 16]}]]",
                                        {16, 16},
                                        .may_rise = true};
    const SrLoss *loss;
    SrHealth health = {0};
    SrHealthFigures f = {.lr = 0.05};
    TinyModel t;
    CHECK_OK(sr_loss_find("byol_loss", &loss));
    start(&t, loss, &still);
    for (int epoch = 0; epoch < 2; epoch++) {
        tiny_model_step(&t, 0.05);
        SrLossStep view = sr_step_view(&t.step, t.iteration, epoch);
        f = (SrHealthFigures){.lr = 0.05};
        CHECK_OK(sr_health_measure(&health, &t.step, &view, &f));
        CHECK_INT(f.teacher_still, epoch == 1);
    }
    SrLossStep view = sr_step_view(&t.step, t.iteration, 2);
    SrTensor x = sr_loss_value(&view, t.graph.outputs[0]);
    for (int64_t k = 0; k < sr_shape_count(x.shape); k++)
        ((float *)x.data)[k] = (float)(k % x.shape.d[1]);
    f = (SrHealthFigures){.lr = 0.05};
    CHECK_OK(sr_health_measure(&health, &t.step, &view, &f));
    CHECK(f.embeddings.deviation < 1e-6);
    tiny_model_close(&t);
}

SR_TESTS(health, unit(test_findings), unit(test_overrides), unit(test_examples_are_well),
         unit(test_measured))
