// With USE_AMP evaluation computes in bfloat16 as training does: features for knn and probes, the
// stages of `knn --layers`, and the pass over the test images. Values are close to those in
// float32 from the same weights, and never equal.
#include "tests/check.h"
#include "trainer/features/feature_rows.h"
#include "trainer/run/phases.h"
#include "trainer/run/run.h"

static const char text[] =
    "DATA:\n"
    "  TRAIN: &split\n"
    "    DATA_SOURCES: [synthetic]\n"
    "    LABEL_SOURCES: [synthetic]\n"
    "    LABEL_TYPE: standard\n"
    "    RANDOM_SYNTHETIC_IMAGES: True\n"
    "    RANDOM_SYNTHETIC_LABELS: 4\n"
    "    DEFAULT_GRAY_IMG_SIZE: 16\n"
    "    DATA_LIMIT: 16\n"
    "    BATCHSIZE_PER_REPLICA: 8\n"
    "    TRANSFORMS: [{name: CenterCrop, size: 16}, {name: ToTensor}, {name: Normalize}]\n"
    "  TEST: *split\n"
    "METERS: {names: [accuracy_list_meter], accuracy_list_meter: {topk_values: [1]}}\n"
    "MODEL:\n"
    "  TRUNK: {RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625, SMALL_IMAGE_STEM: true}}\n"
    "  HEAD: {PARAMS: [[mlp, {dims: [32, 4]}]]}\n"
    "LOSS: {name: cross_entropy_multiple_output_single_target}\n"
    "OPTIMIZER: {num_epochs: 1, param_schedulers: {lr: {name: constant, value: 0.02}}}\n";

typedef struct {
    SrConfig *config;
    SrRun *run;
    SrPhases phases;
    SrMatrix features, stages;
} Side;

static void begin(Side *s, const char *amp) {
    SrStages layers;
    CHECK_OK(sr_config_parse(text, "amp.yaml", &amp, 1, &s->config));
    CHECK_OK(sr_run_open(s->config, SR_RUN_TRAIN, &s->run));
    CHECK_OK(sr_phases_open(s->run, &s->phases));
    CHECK_OK(sr_feature_rows_of_model(s->run->model, "flatten", NULL, &s->phases.split, 8,
                                      &s->features));
    CHECK_OK(sr_feature_rows_of_model(s->run->model, "flatten", &layers, &s->phases.split, 8,
                                      &s->stages));
    CHECK_OK(sr_phases_run_test(&s->phases));
}

static void end(Side *s) {
    sr_matrix_deinit(&s->features);
    sr_matrix_deinit(&s->stages);
    sr_phases_close(&s->phases);
    sr_run_close(s->run);
    sr_config_free(s->config);
}

// Fails unless values agree within five hundredths of the largest and differ by more than the
// rounding of floats.
static void check_near(const char *what, const float *a, const float *b, int64_t n) {
    double largest = 0, apart = 0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)a[i]));
        apart = fmax(apart, fabs((double)a[i] - (double)b[i]));
    }
    if (!(apart < 0.05 * largest && apart > 1e-4 * largest))
        fail_msg("%s: bfloat16 is %.3g from float32, the largest is %.3g", what, apart, largest);
}

TEST(test_everything_is_near) {
    Side a = {.config = NULL}, b = {.config = NULL};
    begin(&a, "MODEL.AMP_PARAMS.USE_AMP=False");
    begin(&b, "MODEL.AMP_PARAMS.USE_AMP=True");
    check_near("features", a.features.x, b.features.x, (int64_t)a.features.n * a.features.d);
    check_near("stages", a.stages.x, b.stages.x, (int64_t)a.stages.n * a.stages.d);
    SrTensor x = sr_plan_output(a.phases.plan, a.phases.graph.outputs[0]);
    SrTensor y = sr_plan_output(b.phases.plan, b.phases.graph.outputs[0]);
    check_near("test scores", x.data, y.data, sr_shape_count(x.shape));
    end(&a);
    end(&b);
}

SR_TESTS(bf16_evaluation, unit(test_everything_is_near))
