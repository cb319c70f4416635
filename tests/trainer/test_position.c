// Tests conversion of a run's position to another batch size, and to other images.
#include "tests/check.h"
#include "tests/trainer/small_checkpoint.h"
#include "trainer/run/position.h"

TEST(test_position_fit) {
    int64_t again;
    SrPosition at = small_position("a", 1, 2, 26); // 48 images into epoch 2
    at.loss_sum = 12;
    CHECK_INT(sr_position_fit(&at, 8, 80, 10, &again), SR_FIT_SAME);
    CHECK_INT(at.iteration, 26);
    CHECK_INT(sr_position_fit(&at, 16, 80, 5, &again), SR_FIT_BATCH);
    CHECK(at.batch == 3 && at.iteration == 13 && again == 0);
    CHECK_NEAR(at.loss_sum, 6, 1e-12);
    CHECK_INT(sr_position_fit(&at, 20, 80, 4, &again), SR_FIT_BATCH);
    CHECK(at.batch == 2 && at.iteration == 10 && again == 8);
    // The position is after the last batch, before the test phase.
    at = small_position("a", 1, 0, 10);
    CHECK_INT(sr_position_fit(&at, 8, 80, 10, &again), SR_FIT_SAME);
    CHECK_INT(sr_position_fit(&at, 32, 80, 2, &again), SR_FIT_BATCH);
    CHECK(at.batch == 2 && again == 0);
    at = small_position("a", 1, 0, 10);
    // The third batch has 16 images.
    CHECK_INT(sr_position_fit(&at, 32, 80, 3, &again), SR_FIT_BATCH);
    CHECK(at.batch == 3 && again == 0);
    // Another set of images has another order, so the epoch restarts.
    at = small_position("a", 1, 1, 13);
    CHECK_INT(sr_position_fit(&at, 8, 96, 12, &again), SR_FIT_RESTART);
    CHECK(at.batch == 0 && at.iteration == 12 && at.images == 96);
    // A file of an earlier version has no batch size.
    at = (SrPosition){.epoch = 1, .batch = 3, .iteration = 13};
    CHECK_INT(sr_position_fit(&at, 8, 80, 10, &again), SR_FIT_SAME);
    at.batch_size = 0;
    CHECK_INT(sr_position_fit(&at, 16, 80, 5, &again), SR_FIT_RESTART);
    CHECK(at.batch == 0 && at.iteration == 5);
}

SR_TESTS(position, unit(test_position_fit))
