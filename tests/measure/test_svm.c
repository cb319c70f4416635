// Tests support vector machines and logistic regression on planted classes: accuracy, chosen
// costs, low-shot draws, threads, refusals.
#include "base/mem.h"
#include "base/parallel.h"
#include "measure/probes/logreg.h"
#include "measure/probes/svm.h"
#include "measure/probes/svm_low_shot.h"
#include "tests/check.h"
#include "tests/measure/feature_rows.h"
#include "trainer/config/config.h"

static SrConfig *options(const char *const *overrides, int n) {
    SrConfig *config = NULL;
    CHECK_OK(sr_config_options(overrides, n, &config));
    return config;
}

typedef struct {
    SrMatrix train, test;
    SrArena arena;
} Fixture;

static void begin(Fixture *f, double spread) {
    *f = (Fixture){.arena = SR_ARENA_INIT};
    test_rows_planted(&f->train, 240, 12, 4, spread, 2);
    test_rows_planted(&f->test, 200, 12, 4, spread, 3);
}

static void end(Fixture *f) {
    sr_matrix_deinit(&f->train);
    sr_matrix_deinit(&f->test);
    sr_arena_deinit(&f->arena);
}

TEST(test_planted) {
    Fixture f;
    SrSvmResult r;
    SrConfig *c = options((const char *[]){"SVM.costs.base=2", "SVM.costs.power_range=[-1, 2]"}, 2);
    begin(&f, 3);
    CHECK_OK(sr_svm(&c->svm, &f.train, &f.test, &f.arena, &r));
    CHECK_INT(r.classes, 4);
    CHECK_INT(r.n_costs, 5); // 0.1, 0.01, then 2^-1, 2^0, 2^1
    CHECK_NEAR(r.cost[2], 0.5, 0);
    CHECK_NEAR(r.cost[4], 2, 0);
    CHECK_NEAR(r.accuracy, 100, 0);
    CHECK_NEAR(r.mean_ap, 1, 1e-12);
    CHECK(r.chosen[0] == r.chosen[3]); // the classes share the cost
    for (int i = 0; i < 4 * 5; i++)
        CHECK(r.crossval_ap[i] > 0.9 && r.crossval_ap[i] < 1 + 1e-9);
    double length = 0;
    for (int j = 0; j < 12; j++)
        length += (double)f.test.x[j] * (double)f.test.x[j];
    CHECK_NEAR(length, 1, 1e-3); // normalised rows
    end(&f);
    sr_config_free(c);
}

// Equal figures choose the first cost, equal scores the first class.
TEST(test_ties) {
    Fixture f;
    SrSvmResult r;
    SrConfig *c = options((const char *[]){"SVM.costs.costs_list=[0.3, 0.7, 3]"}, 1);
    begin(&f, 40);
    CHECK_OK(sr_svm(&c->svm, &f.train, &f.test, &f.arena, &r));
    for (int i = 0; i < r.n_costs; i++)
        CHECK_NEAR(r.crossval_ap[i], 1, 1e-12);
    CHECK_NEAR(r.chosen[0], 0.3, 0);
    int64_t label[3] = {0, 1, 2};
    const float scores[3 * 3] = {1, 1, 1, 0, 2, 2, 5, 5, 6};
    const double chosen[3] = {1, 1, 1};
    SrMatrix test = {.n = 3, .label = label};
    double ap[3], mean, accuracy;
    CHECK_OK(sr_svm_judge(&test, scores, chosen, 3, ap, &mean, &accuracy));
    CHECK_NEAR(accuracy, 100, 0);
    end(&f);
    sr_config_free(c);
}

TEST(test_chosen_classes) {
    Fixture f;
    SrSvmResult r;
    SrConfig *c =
        options((const char *[]){"SVM.cls_list=[2]", "SVM.loss=hinge", "SVM.normalize=False"}, 3);
    begin(&f, 3);
    float x = f.test.x[5];
    CHECK_OK(sr_svm(&c->svm, &f.train, &f.test, &f.arena, &r));
    CHECK(f.test.x[5] == x);
    CHECK(r.chosen[2] > 0 && r.ap[2] > 0.99);
    CHECK_NEAR(r.chosen[1], -1, 0);
    CHECK_NEAR(r.ap[1], -1, 0);
    CHECK_NEAR(r.accuracy, 25, 1e-9); // every row is classified as class 2
    end(&f);
    sr_config_free(c);
}

// Class c is present where feature c is large; a class without judged test rows has no average
// precision.
TEST(test_targets) {
    Fixture f;
    SrSvmResult r;
    SrConfig *c = options(NULL, 0);
    begin(&f, 1);
    SrMatrix *sides[] = {&f.train, &f.test};
    for (int s = 0; s < 2; s++) {
        sides[s]->n_targets = 3;
        sides[s]->target = sr_calloc((size_t)sides[s]->n, 3);
        for (int64_t i = 0; i < sides[s]->n * 3; i++)
            sides[s]->target[i] = sides[s]->x[i / 3 * 12 + i % 3] > 0.5f;
    }
    for (int64_t i = 0; i < f.test.n; i++)
        f.test.target[i * 3 + 1] = -1;
    CHECK_OK(sr_svm(&c->svm, &f.train, &f.test, &f.arena, &r));
    CHECK(r.ap[0] > 0.8 && r.ap[2] > 0.8);
    CHECK_NEAR(r.ap[1], -1, 0);
    CHECK_NEAR(r.mean_ap, (r.ap[0] + r.ap[2]) / 2, 1e-12);
    CHECK_NEAR(r.accuracy, -1, 0);
    SrLowShotResult *few;
    int n;
    CHECK_OK(sr_svm_low_shot(&c->svm, 0, &f.train, &f.test, &f.arena, &few, &n));
    CHECK_INT(n, 16); // 8 values of k, 2 costs
    CHECK(few[15].k == 96 && few[15].mean > few[1].mean);
    end(&f);
    sr_config_free(c);
}

TEST(test_low_shot) {
    Fixture f, g;
    SrLowShotResult *a, *b, *other;
    int n;
    SrConfig *c = options((const char *[]){"SVM.low_shot.k_values=[1, 30, 1000]"}, 1);
    begin(&f, 0.6);
    begin(&g, 0.6);
    CHECK_OK(sr_svm_low_shot(&c->svm, 7, &f.train, &f.test, &f.arena, &a, &n));
    CHECK_INT(n, 6);
    CHECK(a[0].k == 1 && a[0].n == 5 && a[0].std > 0 && a[0].min < a[0].mean &&
          a[0].mean < a[0].max);
    CHECK(a[2].mean > a[0].mean);
    CHECK_NEAR(a[4].std, 0, 1e-9); // k exceeds the rows, so every draw takes all
    int before = sr_parallel_threads();
    sr_parallel_set_threads(before > 1 ? 1 : 2);
    CHECK_OK(sr_svm_low_shot(&c->svm, 7, &g.train, &g.test, &f.arena, &b, &n));
    sr_parallel_set_threads(before);
    CHECK(memcmp(a, b, sizeof *a * 6) == 0);
    CHECK_OK(sr_svm_low_shot(&c->svm, 8, &g.train, &g.test, &f.arena, &other, &n));
    CHECK(a[0].mean != other[0].mean);
    end(&f);
    end(&g);
    sr_config_free(c);
}

// Solvers that shuffle rows give the same bits for any number of threads, and each kind its own.
TEST(test_threads) {
    enum { WEIGHTS = 4 * 13 };
    const char *const kinds[] = {"SVM.loss=squared_hinge", "SVM.loss=hinge", "SVM.penalty=l1"};
    double kept[SR_COUNT(kinds)][WEIGHTS];
    for (int k = 0; k < SR_COUNT(kinds); k++) {
        SrConfig *c = options(&kinds[k], 1);
        Fixture f[2];
        SrSvmResult r[2];
        int before = sr_parallel_threads();
        for (int i = 0; i < 2; i++) {
            begin(&f[i], 0.6);
            sr_parallel_set_threads(i + 1);
            CHECK_OK(sr_svm(&c->svm, &f[i].train, &f[i].test, &f[i].arena, &r[i]));
        }
        sr_parallel_set_threads(before);
        CHECK(r[0].accuracy > 50);
        CHECK(memcmp(r[0].w, r[1].w, sizeof *r[0].w * WEIGHTS) == 0);
        for (int i = 0; i < WEIGHTS; i++)
            kept[k][i] = (double)r[0].w[i];
        for (int other = 0; other < k; other++)
            CHECK(memcmp(kept[k], kept[other], sizeof kept[k]) != 0);
        end(&f[0]);
        end(&f[1]);
        sr_config_free(c);
    }
}

// All classes are fitted at once by default; one against the rest is another model.
TEST(test_logreg) {
    Fixture f;
    SrLogregResult *r;
    int n;
    const char *all[] = {"LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.LAMBDA=[1, 1e9]"};
    const char *few[] = {"LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.SAMPLES_PER_CLASS=3",
                         "LOW_SHOT_BENCHMARK.LOGISTIC_REGRESSION.SEEDS=[0, 1, 2]"};
    SrConfig *c = options(all, 1), *d = options(few, 2);
    begin(&f, 0.7);
    float x = f.train.x[3];
    CHECK_OK(sr_logreg(&c->low_shot, 0, &f.train, &f.test, &f.arena, &r, &n));
    CHECK_INT(n, 2);
    CHECK(r[0].test > 70 && r[0].train >= r[0].test && r[0].n == 1 && r[0].images == 240);
    CHECK(f.train.x[3] == x); // the caller's rows are unchanged
    double everything = r[0].test;
    SrLowShotConfig rest = c->low_shot;
    rest.one_vs_rest = 1;
    CHECK_OK(sr_logreg(&rest, 0, &f.train, &f.test, &f.arena, &r, &n));
    CHECK(r[0].test > 60 && r[0].test != everything);
    CHECK_OK(sr_logreg(&d->low_shot, 0, &f.train, &f.test, &f.arena, &r, &n));
    CHECK_INT(r[0].images, 12);
    CHECK_INT(r[0].n, 3);
    CHECK(r[0].test_std > 0 && r[0].test < everything);
    end(&f);
    sr_config_free(c);
    sr_config_free(d);
}

TEST(test_refused) {
    Fixture f;
    SrSvmResult r;
    SrConfig *plain = options(NULL, 0);
    SrConfig *both = options((const char *[]){"SVM.loss=hinge", "SVM.penalty=l1"}, 2);
    SrConfig *none = options((const char *[]){"SVM.costs.costs_list=[]"}, 1);
    begin(&f, 1);
    CHECK_FAILS(sr_svm(&both->svm, &f.train, &f.test, &f.arena, &r), SR_ERR_CONFIG,
                "does not work with SVM.loss hinge");
    CHECK_FAILS(sr_svm(&none->svm, &f.train, &f.test, &f.arena, &r), SR_ERR_CONFIG,
                "SVM.costs has 0 costs");
    for (int64_t i = 0; i < f.train.n; i++)
        f.train.label[i] = 0;
    CHECK_FAILS(sr_svm(&plain->svm, &f.train, &f.test, &f.arena, &r), SR_ERR_CONFIG, "at least 2");
    f.test.d--;
    CHECK_FAILS(sr_svm(&plain->svm, &f.train, &f.test, &f.arena, &r), SR_ERR_CONFIG,
                "11 numbers per row");
    f.test.d++;
    end(&f);
    sr_config_free(plain);
    sr_config_free(both);
    sr_config_free(none);
}

SR_TESTS(svm, unit(test_planted), unit(test_ties), unit(test_chosen_classes), unit(test_targets),
         unit(test_low_shot), unit(test_threads), unit(test_logreg), unit(test_refused))
