// Tests health checks of a run: each injected failure is found by its name, with an override to
// try; no example of a loss shows any.
#include "trainer/run/meters/health.h"

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

TEST(test_findings) {
    SrHealthFinding found[SR_HEALTH_MAX];
    CHECK_INT(sr_health_judge(&well, found), 0);
    SrHealthFigures f = well;
    f.loss_min = 3.99, f.loss_max = 4.01;
    expect(&f, "trivial_loss", "lr.start_value=0.3 ");
    f = well, f.above_chance = 3;
    expect(&f, "worse_than_chance", "lr.start_value=0.02 ");
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
    f = well,
    f.targets = (SrLossHealth){.prototypes = 12, .row_entropy = 1, .sharper = "teacher_temp=0.04"};
    f.teacher_even = 3;
    expect(&f, "teacher_even", "LOSS.byol_loss.teacher_temp=0.04");
    f = well, f.targets = (SrLossHealth){.prototypes = 12, .more_even = "center_momentum=0.5"};
    f.teacher_single = 3;
    expect(&f, "teacher_single", "LOSS.byol_loss.center_momentum=0.5");
    f = well, f.targets = (SrLossHealth){.clusters = 40, .clusters_used = 4};
    expect(&f, "few_clusters", "num_clusters=[4]");
    f = well, f.queue_still = true;
    expect(&f, "queue_stale", "LOSS.byol_loss");
}

// The overrides that findings advise must form a valid configuration.
TEST(test_overrides) {
    static const char *const overrides[] = {"OPTIMIZER.param_schedulers.lr.name=cosine",
                                            "OPTIMIZER.param_schedulers.lr.start_value=0.3",
                                            "OPTIMIZER.param_schedulers.lr.end_value=0",
                                            "MODEL.GRAD_CLIP.USE_GRAD_CLIP=True",
                                            "MODEL.NON_TRAINABLE_PARAMS=[]",
                                            "LOSS.byol_loss.momentum=0.996",
                                            "LOSS.dino_loss.teacher_temp_max=0.04",
                                            "LOSS.dino_loss.ema_center=0.5",
                                            "LOSS.ibot_loss.teacher_temp=0.04",
                                            "LOSS.ibot_loss.center_momentum=0.5",
                                            "LOSS.dinov2_loss.teacher_temp=0.04",
                                            "LOSS.dinov2_loss.n_iterations=5",
                                            "LOSS.masked_siamese_loss.sharpen=0.1",
                                            "LOSS.masked_siamese_loss.memax_weight=5",
                                            "LOSS.deepclusterv2_loss.num_clusters=[4]"};
    SrConfig *config = NULL;
    CHECK_OK(sr_config_load("tests/cli/tiny.yaml", overrides, SR_COUNT(overrides), &config));
    sr_config_free(config);
}

static void start(TinyModel *t, const SrLoss *loss, const SrLossExample *e) {
    CHECK_OK(tiny_model_start_example(t, loss, e, e->options ? e->options : "{}", 1));
}

// Two epochs of two steps of every loss's example have no finding.
TEST(test_examples_are_well) {
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

// Figures measured in a plan: a teacher with momentum 1, and embeddings that are all one vector.
TEST(test_measured) {
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
    static const double least[] = {4.5, 4.5, 4.5, 4.3, 4.5};
    for (int epoch = 0; epoch < SR_COUNT(least); epoch++) {
        f = (SrHealthFigures){.lr = 0.05, .loss_min = least[epoch], .chance = 4};
        CHECK_OK(sr_health_measure(&health, &t.step, &view, &f));
        CHECK_INT(f.above_chance, epoch < 3 ? epoch + 1 : epoch - 3);
    }
    tiny_model_close(&t);
}

// Returns the figures of the targets after three epochs of one step each with these options.
// harm: changes the model after each step; NULL: nothing.
static SrHealthFigures targets_of(const char *name, int example, const char *options,
                                  void (*harm)(TinyModel *t)) {
    const SrLoss *loss;
    SrHealth health = {0};
    SrHealthFigures f = {.lr = 0.05};
    TinyModel t;
    CHECK_OK(sr_loss_find(name, &loss));
    CHECK_OK(tiny_model_start_example(&t, loss, &loss->examples[example], options, 1));
    for (int epoch = 0; epoch < 3; epoch++) {
        tiny_model_step(&t, 0.05);
        if (harm)
            harm(&t);
        SrLossStep view = sr_step_view(&t.step, t.iteration, epoch);
        f = (SrHealthFigures){.lr = 0.05};
        CHECK_OK(sr_health_measure(&health, &t.step, &view, &f));
    }
    tiny_model_close(&t);
    return f;
}

// Sets a centre under which only the first prototype is ever chosen.
static void hide_prototypes(TinyModel *t) {
    const SrParam *center = tiny_model_param(t, "loss.center");
    for (int64_t k = 0; k < sr_shape_count(center->shape); k++)
        ((float *)center->value)[k] = k > 0 ? 1e4F : 0;
}

// Assigns all images to two of four clusters, as if k-means had found no more.
static void empty_clusters(TinyModel *t) {
    const SrParam *of = tiny_model_param(t, "loss.assignments");
    for (int64_t i = 0; i < sr_shape_count(of->shape); i++)
        ((int64_t *)of->value)[i] = i % 2;
}

TEST(test_targets) {
    SrHealthFigures f = targets_of("dino_loss", 0, "{output_dim: 12, num_crops: 2}", NULL);
    CHECK_INT(f.targets.prototypes, 12);
    CHECK(f.targets.row_entropy > 0 && f.targets.mean_entropy >= f.targets.row_entropy);
    f = targets_of("dino_loss", 0,
                   "{output_dim: 12, num_crops: 2, teacher_temp_min: 10000, teacher_temp_max: "
                   "10000}",
                   NULL);
    CHECK_INT(f.teacher_even, 3);
    f = targets_of("dino_loss", 0, "{output_dim: 12, num_crops: 2}", hide_prototypes);
    CHECK_INT(f.teacher_single, 3);
    f = targets_of("ibot_loss", 0, "{warmup_teacher_temp: 10000, teacher_temp: 10000}", NULL);
    CHECK_INT(f.teacher_even, 3);
    f = targets_of("dinov2_loss", 0, "{warmup_teacher_temp: 10000, teacher_temp: 10000}", NULL);
    CHECK_INT(f.teacher_even, 3);
    f = targets_of("masked_siamese_loss", 0, "{patch_size: 4, use_sinkhorn: False, sharpen: 0.001}",
                   NULL);
    CHECK(f.targets.prototypes == 12 && f.targets.row_entropy < 0.1);
    f = targets_of("deepclusterv2_loss", 0,
                   "{num_clusters: [4, 3], memory_params: {embedding_dim: 8, crops_for_mb: [0, "
                   "1]}}",
                   empty_clusters);
    CHECK(f.targets.clusters == 4 && f.targets.clusters_used == 2);
}

SR_TESTS(health, unit(test_findings), unit(test_overrides), unit(test_examples_are_well),
         unit(test_measured), unit(test_targets))
