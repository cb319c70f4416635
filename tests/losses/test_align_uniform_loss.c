// Tests align_uniform_loss: its value on a model's own embeddings against the paper's sums, for
// one replica and for two, and the gradient of the whole method against finite differences.
#include "tests/check.h"

#include "tests/trainer/tiny_model.h"

static const int sizes[] = {16, 16, 16};
#define MODEL TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 16, 6], use_relu: True}]]}"
#define LOSS "name: align_uniform_loss, align_uniform_loss: {alpha: 1.5, t: 3, lambda: 0.6}"

enum { D = 6 };

// Returns the distance of two rows (D) after each is scaled to length 1.
static double distance(const float *a, const float *b) {
    double aa = 0, bb = 0, sum = 0;
    for (int d = 0; d < D; d++) {
        aa += (double)a[d] * (double)a[d];
        bb += (double)b[d] * (double)b[d];
    }
    for (int d = 0; d < D; d++) {
        double away = (double)a[d] / sqrt(aa) - (double)b[d] / sqrt(bb);
        sum += away * away;
    }
    return sqrt(sum);
}

// Returns the loss of x (2 N, D), view-major, by the paper's sums.
static double expected(const float *x, int N) {
    double align = 0, uniform = 0;
    for (int i = 0; i < N; i++)
        align += pow(distance(x + i * D, x + (N + i) * D), 1.5) / N;
    for (int v = 0; v < 2; v++) {
        double sum = 0;
        int pairs = 0;
        for (int i = v * N; i < (v + 1) * N; i++)
            for (int j = v * N; j < i; j++, pairs++)
                sum += exp(-3 * pow(distance(x + i * D, x + j * D), 2));
        uniform += log(sum / pairs) / 2;
    }
    return align + 0.6 * uniform;
}

TEST(test_all_rows_count) {
    for (int replicas = 1; replicas <= 2; replicas++) {
        TinyModel t;
        CHECK_OK(tiny_model_start_world(&t, replicas, MODEL, LOSS, 8 / replicas, 2, sizes));
        double loss = tiny_model_step(&t, 0);
        SrLossStep view = sr_step_view(&t.step, t.iteration, 0);
        SrTensor x = sr_loss_value(&view, t.graph.outputs[0]);
        CHECK_INT(x.shape.d[0], 16);
        CHECK_INT(x.shape.d[1], D);
        CHECK_NEAR(loss, expected(x.data, 8), 1e-5);
        tiny_model_close(&t);
    }
}

// With lambda 0 only alignment is left, which falls to zero; with uniformity the images stay
// apart.
TEST(test_uniformity_keeps_apart) {
    static const char *const weight[] = {"0", "1"};
    double spread[2];
    for (int k = 0; k < 2; k++) {
        TinyModel t;
        char loss[128];
        snprintf(loss, sizeof loss, "name: align_uniform_loss, align_uniform_loss: {lambda: %s}",
                 weight[k]);
        CHECK_OK(tiny_model_start(&t, MODEL, loss, 8, 2, sizes));
        for (int i = 0; i < 30; i++)
            tiny_model_step(&t, 0.1);
        SrLossStep view = sr_step_view(&t.step, t.iteration, 0);
        const float *x = sr_loss_value(&view, t.graph.outputs[0]).data;
        spread[k] = 0;
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < i; j++)
                spread[k] += distance(x + i * D, x + j * D) / 28;
        tiny_model_close(&t);
    }
    CHECK(spread[1] > 2 * spread[0]);
    CHECK(spread[1] > 1);
}

TEST(test_views) {
    TinyModel t;
    CHECK_FAILS(tiny_model_open(&t, MODEL, LOSS, 8, 3, sizes), SR_ERR_CONFIG, "align_uniform_loss");
    tiny_model_close(&t);
}

SR_TESTS(align_uniform_loss, unit(test_all_rows_count), unit(test_uniformity_keeps_apart),
         unit(test_views))
