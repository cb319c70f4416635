// Tests moco_loss beyond the golden cases: initial weights and updates of the key encoder, views
// that are run, the content of the queue, shuffled images, refusals.
#include "tests/check.h"

#include "base/text/text.h"
#include "tests/trainer/tiny_model.h"

static const int sizes[] = {16, 16};
#define MODEL TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 8]}]]}"
#define LOSS "name: moco_loss, moco_loss: {embedding_dim: 8, queue_size: 16, momentum: 0.9}"
#define PREFIX "loss.moco_encoder."
#define CONV "trunk._feature_blocks.layer2.0.conv1.weight"
#define MEAN "trunk._feature_blocks.bn1.running_mean"

static const float *values(TinyModel *t, const char *name) {
    const SrParam *p = tiny_model_param(t, name);
    if (!p)
        fail_msg("no parameter %s", name);
    return p->value;
}

TEST(test_follows) {
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, MODEL, LOSS, 4, 2, sizes));
    double first = (double)values(&t, CONV)[0];
    CHECK_NEAR((double)values(&t, PREFIX CONV)[0], first, 0);
    CHECK(!tiny_model_param(&t, PREFIX CONV)->trainable);
    tiny_model_step(&t, 0.5);
    // The first forward copies the encoder.
    CHECK_NEAR((double)values(&t, PREFIX CONV)[0], first, 0);
    double second = (double)values(&t, CONV)[0];
    CHECK(fabs(second - first) > 1e-7);
    tiny_model_step(&t, 0.5);
    CHECK_NEAR((double)values(&t, PREFIX CONV)[0], 0.9 * first + 0.1 * second, 1e-7);
    CHECK(values(&t, PREFIX MEAN)[0] != values(&t, MEAN)[0]); // it has its own statistics
    tiny_model_close(&t);
}

// Checks that each key of a queue (8, 16) has length 1.
static void check_lengths(const float *queue) {
    for (int j = 0; j < 16; j++) {
        double sum = 0;
        for (int d = 0; d < 8; d++)
            sum += (double)queue[d * 16 + j] * (double)queue[d * 16 + j];
        CHECK_NEAR(sqrt(sum), 1, 1e-6);
    }
}

TEST(test_queue) {
    TinyModel t;
    float before[8 * 16];
    CHECK_OK(tiny_model_start(&t, MODEL, LOSS, 4, 2, sizes));
    const float *queue = values(&t, "loss.queue"); // (8, 16)
    const int64_t *pointer = tiny_model_param(&t, "loss.queue_ptr")->value;
    memcpy(before, queue, sizeof before);
    check_lengths(queue);
    for (int step = 0; step < 5; step++) {
        CHECK_INT(*pointer, step * 4 % 16);
        tiny_model_step(&t, 0.1);
        CHECK(step != 0 || (queue[0] != before[0] && queue[4] == before[4]));
    }
    check_lengths(queue);
    tiny_model_close(&t);
}

// The queue of nnclr_loss, too, begins with keys of length 1 and keeps them.
TEST(test_queue_of_nnclr) {
    TinyModel t;
    CHECK_OK(tiny_model_start(
        &t, MODEL, "name: nnclr_loss, nnclr_loss: {predictor_hidden_dim: 8, queue_size: 16}", 4, 2,
        sizes));
    check_lengths(values(&t, "loss.queue"));
    tiny_model_step(&t, 0.1);
    check_lengths(values(&t, "loss.queue"));
    tiny_model_close(&t);
}

// A queue whose length is no multiple of the step's images continues at its beginning.
TEST(test_wraps) {
    TinyModel t;
    float before[8 * 18];
    CHECK_OK(tiny_model_start(
        &t, MODEL, "name: moco_loss, moco_loss: {embedding_dim: 8, queue_size: 18}", 4, 2, sizes));
    const float *queue = values(&t, "loss.queue"); // (8, 18)
    for (int step = 0; step < 4; step++)
        tiny_model_step(&t, 0.1);
    memcpy(before, queue, sizeof before);
    tiny_model_step(&t, 0.1); // writes columns 16, 17, 0, 1
    for (int j = 0; j < 18; j++)
        CHECK((queue[j] != before[j]) == (j < 2 || j >= 16));
    CHECK_INT(*(const int64_t *)tiny_model_param(&t, "loss.queue_ptr")->value, 2);
    tiny_model_close(&t);
}

// The model runs queries and the key encoder runs keys: batch norms see one view only.
TEST(test_views) {
    TinyModel t;
    CHECK_OK(tiny_model_start(&t, MODEL, LOSS, 4, 2, sizes));
    CHECK_INT(sr_graph_at(t.graph.graph, t.graph.outputs[0])->shape.d[0], 4);
    tiny_model_close(&t);
}

// Batch norms show which images were normalised together: shuffled keys differ from those of
// three unshuffled batches.
TEST(test_shuffle) {
    TinyModel many, one;
    float kept[8 * 4];
    CHECK_OK(tiny_model_start(&one, MODEL, LOSS, 4, 2, sizes));
    CHECK_OK(tiny_model_start_world(&many, 2, MODEL, LOSS, 4, 2, sizes));
    tiny_model_step(&one, 0);
    tiny_model_step(&many, 0);
    for (int d = 0; d < 8; d++)
        memcpy(kept + 4 * d, values(&many, "loss.queue") + 16 * d, 4 * sizeof *kept);
    bool same = true; // the keys of replica 0's images would be those of a single replica
    for (int d = 0; d < 8; d++)
        same = same &&
               memcmp(kept + 4 * d, values(&one, "loss.queue") + 16 * d, 4 * sizeof *kept) == 0;
    CHECK(!same);
    tiny_model_close(&one);
    tiny_model_close(&many);
}

static void check_refused(const char *loss, int views, const char *text) {
    TinyModel t;
    const int three[] = {16, 16, 16};
    CHECK_FAILS(tiny_model_open(&t, MODEL, loss, 4, views, three), SR_ERR_CONFIG, text);
    tiny_model_close(&t);
}

TEST(test_refused) {
    check_refused("name: moco_loss, moco_loss: {embedding_dim: 8, queue_size: 3}", 2,
                  "queue_size is 3, but all replicas together push 4 keys");
    check_refused("name: moco_loss", 2, "embedding_dim is 128");
    check_refused(LOSS, 3, "needs two views");
}

SR_TESTS(moco_loss, unit(test_follows), unit(test_queue), unit(test_queue_of_nnclr),
         unit(test_wraps), unit(test_views), unit(test_shuffle), unit(test_refused))
