// Counts pixels by class, and computes intersections over unions.
#include "measure/confusion.h"

#include <math.h>

void sr_confusion_add(SrConfusion *c, const uint8_t *truth, const uint8_t *predicted, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (truth[i] != SR_CONFUSION_IGNORED)
            c->count[truth[i]][predicted[i]]++;
}

double sr_confusion_iou(const SrConfusion *c, int class) {
    int64_t either = -c->count[class][class];
    for (int k = 0; k < c->classes; k++)
        either += c->count[class][k] + c->count[k][class];
    return either > 0 ? (double)c->count[class][class] / (double)either : (double)NAN;
}

double sr_confusion_mean_iou(const SrConfusion *c) {
    double sum = 0;
    int n = 0;
    for (int k = 0; k < c->classes; k++) {
        double iou = sr_confusion_iou(c, k);
        if (!isnan(iou)) {
            sum += iou;
            n++;
        }
    }
    return n > 0 ? sum / n : (double)NAN;
}

double sr_confusion_accuracy(const SrConfusion *c) {
    int64_t right = 0, all = 0;
    for (int t = 0; t < c->classes; t++)
        for (int p = 0; p < c->classes; p++) {
            right += t == p ? c->count[t][p] : 0;
            all += c->count[t][p];
        }
    return all > 0 ? (double)right / (double)all : (double)NAN;
}
