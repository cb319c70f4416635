// Tests several replicas per step: they equal one batch if only the loss connects the images.
// Batch norms see one replica, running statistics are those of replica 0, and sums follow a fixed
// tree.
#include "tests/check.h"

#include "base/text/text.h"
#include "tests/trainer/tiny_model.h"

static const int sizes[] = {8, 8};
// A model without batch norm: pixels through an MLP.
#define PIXELS \
    "TRUNK: {NAME: pixels}, HEAD: {PARAMS: [[mlp, {dims: [192, 16, 8], use_relu: true}]]}"
#define SIMCLR \
    "name: simclr_info_nce_loss, simclr_info_nce_loss: {buffer_params: {embedding_dim: 8}}"
#define CLASSES "name: CrossEntropyLoss"
#define MOCO "name: moco_loss, moco_loss: {embedding_dim: 8, queue_size: 24, momentum: 0.9}"

static void check_same_tables(TinyModel *a, TinyModel *b, double tolerance) {
    SrParams *x = sr_model_params(a->model), *y = sr_model_params(b->model);
    CHECK_INT(sr_params_count(x), sr_params_count(y));
    for (int i = 0; i < sr_params_count(x); i++) {
        const SrParam *p = sr_params_at(x, i), *q = sr_params_at(y, i);
        CHECK_STR(p->name, q->name);
        for (int64_t k = 0; p->dtype == SR_F32 && k < sr_shape_count(p->shape); k++)
            CHECK_NEAR(((const float *)p->value)[k], ((const float *)q->value)[k], tolerance);
    }
}

static void check_equals_one_batch(const char *loss, int n_views, int replicas) {
    TinyModel one, many;
    CHECK_OK(tiny_model_start(&one, PIXELS, loss, 12, n_views, sizes));
    CHECK_OK(tiny_model_start_world(&many, replicas, PIXELS, loss, 12 / replicas, n_views, sizes));
    // The tolerance is relative to the first loss: later losses are small differences of logits
    // that stay large.
    double first = 0;
    for (int k = 0; k < 4; k++) {
        double a = tiny_model_step(&one, 0.2), b = tiny_model_step(&many, 0.2);
        first = fmax(first, fabs(a));
        CHECK_NEAR(a, b, 2e-6 * first);
    }
    check_same_tables(&one, &many, 2e-6);
    tiny_model_close(&one);
    tiny_model_close(&many);
}

TEST(test_equals_one_batch) {
    for (int replicas = 2; replicas <= 6; replicas++) {
        if (12 % replicas != 0)
            continue;
        check_equals_one_batch(SIMCLR, 2, replicas);
        check_equals_one_batch(CLASSES, 1, replicas);
        check_equals_one_batch(MOCO, 2,
                               replicas); // keys of shuffled images return to their places
    }
}

#define SWAV "name: swav_loss, swav_loss: {queue: {queue_length: 24, start_iter: 0}}"
#define MEAN "trunk._feature_blocks.bn1.running_mean"

// The first batch norm of the trunk sees only replica 0, whatever the other replicas are.
TEST(test_statistics_of_replica_0) {
    TinyModel one, many;
    CHECK_OK(tiny_model_start(&one, TINY_TRUNK ", " TINY_SWAV_HEAD, SWAV, 4, 2, sizes));
    CHECK_OK(tiny_model_start_world(&many, 3, TINY_TRUNK ", " TINY_SWAV_HEAD, SWAV, 4, 2, sizes));
    tiny_model_step(&one, 0);
    tiny_model_step(&many, 0);
    const SrParam *a = tiny_model_param(&one, MEAN), *b = tiny_model_param(&many, MEAN);
    CHECK(a && b && ((const float *)a->value)[0] != 0);
    CHECK(memcmp(a->value, b->value, (size_t)sr_shape_count(a->shape) * sizeof(float)) == 0);
    tiny_model_close(&one);
    tiny_model_close(&many);
}

// Each replica's share of the queue takes its own images.
TEST(test_queue_shards) {
    TinyModel t;
    CHECK_OK(tiny_model_start_world(&t, 3, TINY_TRUNK ", " TINY_SWAV_HEAD, SWAV, 4, 2, sizes));
    tiny_model_step(&t, 0);
    const float *q = tiny_model_param(&t, "loss.local_emb_queue")->value; // (2, 24, 8), shards of 8
    SrLossStep step = sr_step_view(&t.step, 0, 0);
    const float *e = sr_loss_value(&step, t.graph.outputs[0]).data; // (2 * 12, 8)
    for (int crop = 0; crop < 2; crop++)
        for (int r = 0; r < 3; r++)
            CHECK(memcmp(q + (crop * 24 + r * 8) * 8, e + (crop * 12 + r * 4) * 8,
                         4 * 8 * sizeof(float)) == 0);
    tiny_model_close(&t);
}

#define RESNET18                                                                                 \
    "TRUNK: {NAME: resnet, RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.5, SMALL_IMAGE_STEM: True, " \
    "NORM: GroupNorm}}, HEAD: {PARAMS: [[mlp, {dims: [256, 8]}]]}"

// A large contrastive batch in the memory of a small one: 512 rows in eight replicas give the
// update of one batch.
static void check_many_rows(const char *model, const int *sides) {
    TinyModel one, many;
    CHECK_OK(tiny_model_start(&one, model, SIMCLR, 256, 2, sides));
    CHECK_OK(tiny_model_start_world(&many, 8, model, SIMCLR, 32, 2, sides));
    // At rate 1 without momentum or decay the parameters move by the gradients themselves.
    double a = tiny_model_step(&one, 1), b = tiny_model_step(&many, 1);
    CHECK_NEAR(a, b, 1e-5 * fabs(a));
    check_same_tables(&one, &many, 1e-5);
    tiny_model_close(&one);
    tiny_model_close(&many);
}

TEST(test_many_rows) {
    static const int small_images[] = {32, 32};
    check_many_rows(PIXELS, sizes);
    check_many_rows(RESNET18, small_images);
}

#define SYNC(group) "SYNC_BN_CONFIG: {CONVERT_BN_TO_SYNC_BN: True, GROUP_SIZE: " #group "}, "
#define NORMED TINY_TRUNK ", HEAD: {PARAMS: [[mlp, {dims: [32, 8], use_bn: True}]]}"

// `replicas` replicas in groups that share batch norms equal `groups` replicas with as many
// images as a group.
static void check_groups(const char *sync, int replicas, const char *plain, int groups) {
    TinyModel a, b;
    CHECK_OK(tiny_model_start_world(&a, replicas, sync, SIMCLR, 12 / replicas, 2, sizes));
    CHECK_OK(tiny_model_start_world(&b, groups, plain, SIMCLR, 12 / groups, 2, sizes));
    for (int k = 0; k < 4; k++)
        CHECK_NEAR(tiny_model_step(&a, 0.2), tiny_model_step(&b, 0.2), 0);
    check_same_tables(&a, &b, 0);
    tiny_model_close(&a);
    tiny_model_close(&b);
}

TEST(test_sync_bn) {
    check_groups(SYNC(0) NORMED, 3, NORMED, 1);
    check_groups(SYNC(2) NORMED, 4, NORMED, 2);
    check_groups(SYNC(1) NORMED, 2, NORMED, 2);
    check_groups(SYNC(99) NORMED, 2, NORMED, 1);
    TinyModel t;
    CHECK_FAILS(tiny_model_start_world(&t, 3, SYNC(2) NORMED, SIMCLR, 4, 2, sizes), SR_ERR_CONFIG,
                "groups of 2 do not divide 3 replicas");
    tiny_model_close(&t);
    // Losses that compare the rows of one replica only refuse groups.
    static const char *const losses[] = {"name: multicrop_simclr_info_nce_loss, "
                                         "multicrop_simclr_info_nce_loss: {buffer_params: "
                                         "{embedding_dim: 8}}",
                                         "name: masked_siamese_loss"};
    for (int i = 0; i < SR_COUNT(losses); i++) {
        CHECK_FAILS(tiny_model_start_world(&t, 4, SYNC(2) NORMED, losses[i], 4, 2, sizes),
                    SR_ERR_CONFIG, "compares the images of one replica");
        tiny_model_close(&t);
    }
}

#define BARLOW "name: barlow_twins_loss, barlow_twins_loss: {embedding_dim: 8}"

// Accumulation rounds before an update equal one large batch, also if the loss compares all rows.
static void check_rounds(const char *loss) {
    TinyModel one, many;
    CHECK_OK(tiny_model_start(&one, PIXELS, loss, 12, 2, sizes));
    CHECK_OK(tiny_model_start_of(&many, &(TinyWorld){.model = PIXELS,
                                                     .loss = loss,
                                                     .batch = 4,
                                                     .replicas = 1,
                                                     .rounds = 3,
                                                     .n_views = 2,
                                                     .sizes = sizes}));
    CHECK_INT(many.graph.replicas, 3);
    for (int k = 0; k < 3; k++) {
        double a = tiny_model_step(&one, 0.05);
        CHECK_NEAR(a, tiny_model_step(&many, 0.05), 1e-5 * fabs(a));
    }
    check_same_tables(&one, &many, 1e-5);
    tiny_model_close(&one);
    tiny_model_close(&many);
}

TEST(test_accumulation) {
    check_rounds(SIMCLR);
    check_rounds(BARLOW);
}

// Kept and recomputed activations give the same bits, for every loss that compares all rows.
TEST(test_kept_activations) {
    const SrPlanOptions options = {.mode = SR_MODE_TRAIN};
    int methods = 0;
    for (int i = 0; sr_loss_at(i); i++) {
        const SrLoss *loss = sr_loss_at(i);
        TinyModel again, keep;
        if (loss->rows_are_independent)
            continue;
        const SrLossExample *e = &loss->examples[0];
        const char *text = e->options ? e->options : "{}";
        CHECK_OK(tiny_model_start_example(&again, loss, e, text, 4));
        CHECK_OK(tiny_model_start_example(&keep, loss, e, text, 4));
        CHECK_OK(sr_replicas_keep(keep.replicas, &options));
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(tiny_model_step(&again, 0.1), tiny_model_step(&keep, 0.1), 0);
        check_same_tables(&again, &keep, 0);
        tiny_model_close(&again);
        tiny_model_close(&keep);
        methods++;
    }
    CHECK(methods > 5);
}

SR_TESTS(replicas, unit(test_many_rows), unit(test_kept_activations), unit(test_accumulation),
         unit(test_sync_bn), unit(test_equals_one_batch), unit(test_statistics_of_replica_0),
         unit(test_queue_shards))
