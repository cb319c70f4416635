// Tests the linear probe of dense features: its gradient, a task that a linear layer solves, maps
// of another size than masks, and the same bits for any number of threads.
#include "measure/probes/pixel_probe.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "measure/patches/patch_maps.h"
#include "tests/check.h"

enum { ROWS = 7, WIDTH = 5, CLASSES = 3 };

// Computes the mean cross entropy of the rows that count, in double precision.
static double loss_of(const float *x, const uint8_t *label, const double *w) {
    double loss = 0;
    int counted = 0;
    for (int i = 0; i < ROWS; i++) {
        double score[CLASSES], sum = 0;
        if (label[i] == SR_CONFUSION_IGNORED)
            continue;
        for (int k = 0; k < CLASSES; k++) {
            score[k] = 0;
            for (int j = 0; j < WIDTH; j++)
                score[k] += (double)x[i * WIDTH + j] * w[k * WIDTH + j];
            sum += exp(score[k]);
        }
        loss += log(sum) - score[label[i]];
        counted++;
    }
    return loss / counted;
}

TEST(test_gradient) {
    const uint8_t label[ROWS] = {0, 2, 1, SR_CONFUSION_IGNORED, 2, 2, 0};
    float x[ROWS * WIDTH], w[CLASSES * WIDTH], dw[CLASSES * WIDTH], score[ROWS * CLASSES];
    double exact[CLASSES * WIDTH];
    SrRng rng = sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = i % WIDTH == WIDTH - 1 ? 1 : (float)sr_rng_normal(&rng);
    for (int i = 0; i < CLASSES * WIDTH; i++)
        exact[i] = (double)(w[i] = (float)sr_rng_normal(&rng));
    double loss = sr__pixel_probe_gradient(x, label, ROWS, WIDTH, CLASSES, w, score, dw);
    CHECK_NEAR(loss, loss_of(x, label, exact), 1e-6);
    for (int i = 0; i < CLASSES * WIDTH; i++) {
        double keep = exact[i], step = 1e-5;
        exact[i] = keep + step;
        double above = loss_of(x, label, exact);
        exact[i] = keep - step;
        double below = loss_of(x, label, exact);
        exact[i] = keep;
        CHECK_NEAR(dw[i], (above - below) / (2 * step), 1e-5);
    }
}

// ---- a whole fit --------------------------------------------------------------------------------

enum { SIDE = 8, DEPTH = 6, MASK_H = 37, MASK_W = 29, IMAGES = 5 };

typedef struct {
    float map[IMAGES][SIDE * SIDE * DEPTH];
    uint8_t label[IMAGES][MASK_H * MASK_W];
    SrProbeImage image[IMAGES];
} Task;

static Task task;

// The class of a pixel is the sign of one channel, which grows across the image from a place that
// differs; other channels are noise, and all have a large mean.
static void make_task(void) {
    SrRng rng = sr_rng(2, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < IMAGES; i++) {
        double edge = 2 + i;
        for (int p = 0; p < SIDE * SIDE; p++)
            for (int c = 0; c < DEPTH; c++)
                task.map[i][p * DEPTH + c] =
                    (float)(c == 3 ? 50 + p % SIDE + 0.5 - edge : 100 + sr_rng_normal(&rng));
        for (int p = 0; p < MASK_H * MASK_W; p++) {
            double at = (p % MASK_W + 0.5) * SIDE / MASK_W;
            task.label[i][p] = p / MASK_W == 0 ? SR_CONFUSION_IGNORED : at > edge;
        }
        task.image[i] = (SrProbeImage){task.map[i], task.label[i], MASK_H, MASK_W};
    }
}

static SrPixelProbeOptions options(void) {
    SrPixelProbeOptions o = SR_PIXEL_PROBE_DEFAULT;
    o.h = o.w = SIDE;
    o.d = DEPTH;
    o.classes = 2;
    o.steps = 1500;
    o.rate = 0.05;
    return o;
}

TEST(test_fit) {
    static SrConfusion confusion;
    SrPixelProbeOptions o = options();
    SrPixelProbe probe, again;
    float score[SIDE * SIDE * 2];
    uint8_t label[MASK_H * MASK_W];
    int threads = sr_parallel_threads();
    make_task();
    CHECK_OK(sr_pixel_probe_fit(&o, task.image, IMAGES - 1, &probe));
    confusion.classes = 2;
    sr_pixel_probe_scores(&probe, task.map[IMAGES - 1], SIDE * SIDE, score);
    sr_patch_argmax(score, SIDE, SIDE, 2, MASK_H, MASK_W, label);
    sr_confusion_add(&confusion, task.label[IMAGES - 1], label, MASK_H * MASK_W);
    CHECK(sr_confusion_mean_iou(&confusion) > 0.95);
    CHECK(probe.loss < 0.1);
    sr_parallel_set_threads(threads == 1 ? 3 : 1);
    CHECK_OK(sr_pixel_probe_fit(&o, task.image, IMAGES - 1, &again));
    sr_parallel_set_threads(threads);
    CHECK(memcmp(probe.w, again.w, 2 * (DEPTH + 1) * sizeof *probe.w) == 0);
    sr_pixel_probe_deinit(&again);
    sr_pixel_probe_deinit(&probe);
    memset(task.label[1], SR_CONFUSION_IGNORED, sizeof task.label[1]);
    CHECK_FAILS(sr_pixel_probe_fit(&o, task.image, IMAGES - 1, &probe), SR_ERR_CONFIG,
                "no pixel of training image 1 has a class");
}

// Interpolates by torch's rule: values at x = 0.5, 1.5 of a map of two, resized to four columns,
// are a, (3a + b) / 4, (a + 3b) / 4, b.
TEST(test_resizing) {
    const float map[] = {8, 0, 4, 10};                        // (1, 2, 2)
    const float expected[] = {8, 0, 7, 2.5f, 5, 7.5f, 4, 10}; // (1, 4, 2)
    float out[8];
    uint8_t label[4];
    sr_patch_resize(map, 1, 2, 2, 1, 4, out);
    for (int i = 0; i < 8; i++)
        CHECK_NEAR(out[i], expected[i], 1e-6);
    sr_patch_argmax(map, 1, 2, 2, 1, 4, label);
    CHECK(label[0] == 0 && label[1] == 0 && label[2] == 1 && label[3] == 1);
    sr_patch_argmax((const float[]){1, 1, 1, 1}, 1, 2, 2, 1, 4, label);
    CHECK(label[0] == 0 && label[3] == 0); // ties go to the smaller class
}

SR_TESTS(pixel_probe, unit(test_gradient), unit(test_fit), unit(test_resizing))
