// Tests the figures of segmentation on a confusion that is computed by hand.
#include "measure/confusion.h"

#include "tests/check.h"

static SrConfusion confusion; // too large for the stack

// Truth 0 0 0 1 1 2 ignored, predicted 0 0 1 1 2 2 0:
//   class 0: 2 of 3 pixels in the union; class 1: 1 of 3; class 2: 1 of 2; class 3 never occurs.
TEST(test_by_hand) {
    const uint8_t truth[] = {0, 0, 0, 1, 1, 2, SR_CONFUSION_IGNORED};
    const uint8_t predicted[] = {0, 0, 1, 1, 2, 2, 0};
    memset(&confusion, 0, sizeof confusion);
    confusion.classes = 4;
    CHECK(isnan(sr_confusion_mean_iou(&confusion)));
    CHECK(isnan(sr_confusion_accuracy(&confusion)));
    sr_confusion_add(&confusion, truth, predicted, 4);
    sr_confusion_add(&confusion, truth + 4, predicted + 4, 3);
    CHECK_INT(confusion.count[0][1], 1);
    CHECK_NEAR(sr_confusion_iou(&confusion, 0), 2.0 / 3, 1e-12);
    CHECK_NEAR(sr_confusion_iou(&confusion, 1), 1.0 / 3, 1e-12);
    CHECK_NEAR(sr_confusion_iou(&confusion, 2), 1.0 / 2, 1e-12);
    CHECK(isnan(sr_confusion_iou(&confusion, 3)));
    CHECK_NEAR(sr_confusion_mean_iou(&confusion), (2.0 / 3 + 1.0 / 3 + 0.5) / 3, 1e-12);
    CHECK_NEAR(sr_confusion_accuracy(&confusion), 4.0 / 6, 1e-12);
}

// A class that is predicted but never occurs has an IoU of 0 and lowers the mean.
TEST(test_predicted_alone) {
    const uint8_t truth[] = {0, 0}, predicted[] = {0, 1};
    memset(&confusion, 0, sizeof confusion);
    confusion.classes = 2;
    sr_confusion_add(&confusion, truth, predicted, 2);
    CHECK_NEAR(sr_confusion_iou(&confusion, 1), 0, 0);
    CHECK_NEAR(sr_confusion_mean_iou(&confusion), 0.25, 1e-12);
}

SR_TESTS(confusion, unit(test_by_hand), unit(test_predicted_alone))
