// Tests planar maps of features: principal components of rows whose components are known,
// clusters that stay apart, and the same bits for any number of threads.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "measure/pca.h"
#include "measure/tsne.h"
#include "tests/check.h"

enum { N = 120, D = 40 };

// Makes three clouds, `between` apart. They are wide along the first column and half as wide
// along the second.
static void make_rows(SrMatrix *f, double between) {
    SrRng rng = sr_rng(3, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK_OK(sr_matrix_init(f, N, D));
    for (int i = 0; i < N; i++) {
        f->label[i] = i % 3;
        for (int j = 0; j < D; j++)
            f->x[i * D + j] = (float)(0.1 * sr_rng_normal(&rng) + (j == i % 3 ? between : 0));
    }
}

TEST(test_pca_of_known_axes) {
    SrMatrix f;
    float y[N * 3];
    double share;
    SrRng rng = sr_rng(4, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK_OK(sr_matrix_init(&f, N, D));
    for (int i = 0; i < N; i++) {
        double a = 5 * sr_rng_normal(&rng), b = 2 * sr_rng_normal(&rng);
        f.x[i * D + 7] = (float)(3 + a);
        f.x[i * D + 1] = (float)(b - 1);
    }
    CHECK_OK(sr_pca(&f, 3, y, &share));
    CHECK_NEAR(share, 1, 1e-5);
    double mean[2] = {0, 0};
    for (int i = 0; i < N; i++) {
        mean[0] += (double)f.x[i * D + 7] / N;
        mean[1] += (double)f.x[i * D + 1] / N;
    }
    double along[2] = {0, 0}, length[2] = {0, 0};
    for (int i = 0; i < N; i++) {
        double a = (double)f.x[i * D + 7] - mean[0], b = (double)f.x[i * D + 1] - mean[1];
        along[0] += a * (double)y[3 * i];
        along[1] += b * (double)y[3 * i + 1];
        length[0] += a * a;
        length[1] += b * b;
        CHECK_NEAR(y[3 * i + 2], 0, 1e-3);
    }
    // In a sample the two axes are nearly, but not exactly, uncorrelated.
    CHECK(along[0] / length[0] > 0.98 && along[0] / length[0] < 1.02);
    CHECK(along[1] / length[1] > 0.9 && along[1] / length[1] < 1.1);
    sr_matrix_deinit(&f);
}

// Returns the share of points whose nearest point belongs to the same cloud.
static double purity(const float *y, const int64_t *label, int k) {
    int right = 0;
    for (int i = 0; i < N; i++) {
        int best = -1;
        double least = INFINITY;
        for (int j = 0; j < N; j++) {
            double a = (double)(y[k * i] - y[k * j]), b = (double)(y[k * i + 1] - y[k * j + 1]);
            if (j != i && a * a + b * b < least) {
                least = a * a + b * b;
                best = j;
            }
        }
        right += label[best] == label[i];
    }
    return (double)right / N;
}

TEST(test_tsne_keeps_clouds_apart) {
    SrMatrix f;
    float one[N * 2], two[N * 2];
    int threads = sr_parallel_threads();
    make_rows(&f, 3);
    CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, one));
    CHECK(purity(one, f.label, 2) == 1);
    sr_parallel_set_threads(2);
    CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, two));
    sr_parallel_set_threads(threads);
    CHECK(memcmp(one, two, sizeof one) == 0);
    for (int i = 0; i < 2 * N; i++)
        CHECK(isfinite(one[i]));
    sr_matrix_deinit(&f);
    make_rows(&f, 0); // the rows have no clusters, and the map shows none
    CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, one));
    CHECK(purity(one, f.label, 2) < 0.6);
    sr_matrix_deinit(&f);
}

TEST(test_few_or_equal_rows) {
    for (int n = 1; n < 9; n++) {
        SrMatrix f;
        float y[18];
        CHECK_OK(sr_matrix_init(&f, n, 2));
        CHECK_OK(sr_tsne(&f, &SR_TSNE_DEFAULT, y));
        CHECK_OK(sr_pca(&f, 2, y, NULL));
        for (int i = 0; i < 2 * n; i++)
            CHECK(isfinite(y[i]));
        sr_matrix_deinit(&f);
    }
}

// ---- a basis ------------------------------------------------------------------------------------

enum { ROWS = 200, WIDE = 9, AXES = 3 };

// Puts the eigenvalues of the symmetric a (WIDE, WIDE) on its diagonal by Jacobi's rotations; rows
// of v are the eigenvectors.
static void jacobi(double a[WIDE][WIDE], double v[WIDE][WIDE]) {
    for (int i = 0; i < WIDE; i++)
        for (int j = 0; j < WIDE; j++)
            v[i][j] = i == j;
    for (int turn = 0; turn < 60; turn++)
        for (int p = 0; p < WIDE; p++)
            for (int q = p + 1; q < WIDE; q++) {
                double angle = 0.5 * atan2(2 * a[p][q], a[q][q] - a[p][p]);
                double c = cos(angle), s = sin(angle);
                for (int k = 0; k < WIDE; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < WIDE; k++) {
                    double x = a[p][k], y = a[q][k], u = v[p][k], w = v[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                    v[p][k] = c * u - s * w;
                    v[q][k] = s * u + c * w;
                }
            }
}

// Compares means, directions, projections and the share of variance with those of the covariance
// matrix in double precision.
TEST(test_basis_of_covariance) {
    SrMatrix f;
    SrPca pca;
    double mean[WIDE] = {0}, a[WIDE][WIDE] = {{0}}, v[WIDE][WIDE], all = 0, held = 0;
    float y[ROWS * AXES];
    bool used[WIDE] = {false};
    SrRng rng = sr_rng(5, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK_OK(sr_matrix_init(&f, ROWS, WIDE));
    for (int i = 0; i < ROWS; i++) { // a large mean, and directions that are no axes
        double z[WIDE];
        for (int j = 0; j < WIDE; j++)
            z[j] = sr_rng_normal(&rng) * (WIDE - j);
        for (int j = 0; j < WIDE; j++)
            f.x[i * WIDE + j] = (float)(100 + 0.8 * z[j] - 0.6 * z[(j + 1) % WIDE]);
    }
    for (int i = 0; i < ROWS * WIDE; i++)
        mean[i % WIDE] += (double)f.x[i] / ROWS;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < WIDE; j++)
            for (int k = 0; k < WIDE; k++)
                a[j][k] +=
                    ((double)f.x[i * WIDE + j] - mean[j]) * ((double)f.x[i * WIDE + k] - mean[k]);
    jacobi(a, v);
    CHECK_OK(sr_pca_fit(&f, AXES, &pca));
    sr_pca_project(&pca, f.x, ROWS, y);
    for (int j = 0; j < WIDE; j++) {
        CHECK_NEAR(pca.mean[j], mean[j], 1e-4);
        all += a[j][j];
    }
    for (int c = 0; c < AXES; c++) {
        int best = -1, largest = 0;
        for (int j = 0; j < WIDE; j++)
            best = !used[j] && (best < 0 || a[j][j] > a[best][best]) ? j : best;
        used[best] = true;
        held += a[best][best];
        for (int j = 1; j < WIDE; j++)
            largest = fabs(v[best][j]) > fabs(v[best][largest]) ? j : largest;
        double sign = v[best][largest] < 0 ? -1 : 1;
        for (int j = 0; j < WIDE; j++)
            CHECK_NEAR(pca.axis[c * WIDE + j], sign * v[best][j], 2e-5);
        for (int i = 0; i < ROWS; i++) {
            double along = 0;
            for (int j = 0; j < WIDE; j++)
                along += ((double)f.x[i * WIDE + j] - mean[j]) * sign * v[best][j];
            CHECK_NEAR(y[i * AXES + c], along, 1e-3);
        }
    }
    CHECK_NEAR(pca.share, held / all, 1e-5);
    sr_pca_deinit(&pca);
    sr_matrix_deinit(&f);
}

SR_TESTS(planar, unit(test_pca_of_known_axes), unit(test_basis_of_covariance),
         unit(test_tsne_keeps_clouds_apart), unit(test_few_or_equal_rows))
