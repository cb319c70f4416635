// Moves the centre of a teacher's scores, a block of columns per task.
#include "losses/shared/teacher_center.h"

#include "base/compiler.h"
#include "base/parallel.h"

enum { COLUMNS = 128 }; // columns of a task

typedef struct {
    const float *x; // (rows, K)
    int64_t rows;
    int K;
    float *center; // (K)
    float keep;
} Move;

static void move_columns(void *arg, int64_t i, int thread) {
    (void)thread;
    const Move *m = arg;
    int first = (int)i * COLUMNS, n = SR_MIN(m->K - first, COLUMNS);
    double sum[COLUMNS] = {0};
    for (int64_t r = 0; r < m->rows; r++)
        for (int k = 0; k < n; k++)
            sum[k] += (double)m->x[r * m->K + first + k];
    for (int k = 0; k < n; k++) {
        float *center = m->center + first + k;
        *center = *center * m->keep + (float)(sum[k] / (double)m->rows) * (1 - m->keep);
    }
}

void sr_teacher_center_move(const SrLossStep *step, SrNodeId scores, int entry, double keep) {
    SrTensor t = sr_loss_value(step, scores);
    Move move = {.x = t.data,
                 .rows = sr_shape_rows(t.shape),
                 .K = sr_shape_last(t.shape),
                 .center = sr_params_at(step->params, entry)->value,
                 .keep = (float)keep};
    sr_parallel_for((move.K + COLUMNS - 1) / COLUMNS, move_columns, &move);
}
