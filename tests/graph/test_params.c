// Tests the parameter table: names, memory, trainable entries, distributions of initial values,
// and a failure of every allocation.
#include "graph/ir/params.h"

#include "base/mem.h"
#include "base/parallel.h"
#include "tests/check.h"

static SrSlot slot(SrShape shape, SrInitKind kind, double value) {
    return (SrSlot){"w", shape, SR_F32, SR_SLOT_PARAM, SR_ROLE_WEIGHT, {kind, value}};
}

static int add(SrParams *p, const char *name, SrSlot s) {
    int i = -1;
    CHECK_OK(sr_params_add(p, name, &s, &i));
    return i;
}

static void moments(const SrParam *p, double *mean, double *deviation, double *most) {
    int64_t n = sr_shape_count(p->shape);
    const float *v = p->value;
    double sum = 0, squares = 0;
    *most = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += v[i];
        squares += (double)v[i] * v[i];
        *most = fmax(*most, fabs((double)v[i]));
    }
    *mean = sum / (double)n;
    *deviation = sqrt(squares / (double)n - *mean * *mean);
}

TEST(test_names) {
    SrParams *p;
    CHECK_OK(sr_params_new(&p));
    char name[32];
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof name, "layer%d.weight", i);
        CHECK_INT(add(p, name, slot(SR_SHAPE(2, 3), SR_INIT_NORMAL, 1)), i);
    }
    CHECK_INT(sr_params_count(p), 500);
    CHECK_INT(sr_params_find(p, "layer321.weight"), 321);
    CHECK_INT(sr_params_find(p, "layer500.weight"), -1);
    CHECK_INT(add(p, "layer7.weight", slot(SR_SHAPE(2, 3), SR_INIT_CONSTANT, 9)), 7);
    SrSlot other = slot(SR_SHAPE(3, 2), SR_INIT_NORMAL, 1);
    int i;
    CHECK_FAILS(sr_params_add(p, "layer7.weight", &other, &i), SR_ERR_CONFIG,
                "layer7.weight is F32 [2, 3]");
    sr_params_free(p);
    sr_params_free(NULL);
}

TEST(test_memory) {
    SrParams *p;
    CHECK_OK(sr_params_new(&p));
    int a = add(p, "a.weight", slot(SR_SHAPE(3), SR_INIT_CONSTANT, 2));
    int b = add(p, "b.weight", slot(SR_SHAPE(17), SR_INIT_CONSTANT, 3));
    SrSlot counter = {"n",           SR_SHAPE(1),   SR_I64,
                      SR_SLOT_STATE, SR_ROLE_OTHER, {SR_INIT_CONSTANT, 5}};
    int n = add(p, "a.n", counter);
    CHECK_INT(sr_params_set_trainable(p, "b.*", false), 1);
    CHECK_INT(sr_params_set_trainable(p, "a.n", true), 0); // state is never trainable
    CHECK_OK(sr_params_allocate(p));
    sr_params_init(p, 1);
    CHECK_INT(sr_params_at(p, b)->grad_offset, -1);
    CHECK(!sr_params_at(p, b)->grad && !sr_params_at(p, n)->grad);
    float *value = sr_params_at(p, a)->value, *grad = sr_params_at(p, a)->grad;
    CHECK_NEAR(value[2], 2, 0);
    CHECK_INT(*(int64_t *)sr_params_at(p, n)->value, 5);
    value[0] = 7;
    grad[1] = 4;
    int c = add(p, "c.weight", slot(SR_SHAPE(5), SR_INIT_CONSTANT, 1));
    CHECK_OK(sr_params_allocate(p));
    sr_params_init(p, 1);
    // The entry neither moved nor was drawn again.
    CHECK(sr_params_at(p, a)->value == value && value[0] == 7);
    CHECK_INT(sr_params_at(p, c)->grad_offset, 16);
    CHECK_NEAR(((float *)sr_params_at(p, c)->value)[4], 1, 0);
    for (int i = 0; i < sr_params_count(p); i++)
        CHECK_INT((uintptr_t)sr_params_at(p, i)->value % 64, 0);
    sr_params_zero_grad(p);
    CHECK_NEAR(grad[1], 0, 0);
    CHECK_INT(sr_params_numbers(p, false), 25);
    CHECK_INT(sr_params_numbers(p, true), 8);
    CHECK(sr_params_bytes(p) >= (3 + 17 + 5 + 3 + 5) * 4 + 8);
    int64_t calls = sr_mem_calls();
    CHECK_OK(sr_params_allocate(p));
    CHECK_INT(sr_mem_calls(), calls);
    sr_params_free(p);
}

TEST(test_init_kinds) {
    SrParams *p;
    CHECK_OK(sr_params_new(&p));
    int fan_in = add(p, "fan_in", slot(SR_SHAPE(64, 25, 4, 4), SR_INIT_UNIFORM_FAN_IN, 1));
    int uniform = add(p, "uniform", slot(SR_SHAPE(100, 300), SR_INIT_UNIFORM, 0.25));
    int normal = add(p, "normal", slot(SR_SHAPE(100, 300), SR_INIT_NORMAL, 0.5));
    int cut = add(p, "cut", slot(SR_SHAPE(100, 300), SR_INIT_TRUNCATED_NORMAL, 0.02));
    int g = add(p, "g", slot(SR_SHAPE(64, 1), SR_INIT_NORM_OF, 0));
    int v = add(p, "v", slot(SR_SHAPE(64, 40), SR_INIT_NORMAL, 1));
    CHECK_OK(sr_params_allocate(p));
    sr_params_init(p, 3);
    double mean, deviation, most;
    moments(sr_params_at(p, fan_in), &mean, &deviation, &most);
    CHECK_NEAR(deviation, 0.05 / sqrt(3), 5e-4);
    CHECK(most <= 0.05f && most > 0.0499);
    moments(sr_params_at(p, uniform), &mean, &deviation, &most);
    CHECK_NEAR(mean, 0, 0.005);
    CHECK(most <= 0.25 && most > 0.249);
    moments(sr_params_at(p, normal), &mean, &deviation, &most);
    CHECK_NEAR(mean, 0, 0.015);
    CHECK_NEAR(deviation, 0.5, 0.01);
    CHECK(most > 1.5);
    moments(sr_params_at(p, cut), &mean, &deviation, &most);
    // A normal distribution truncated at 2 has 0.8796 of the deviation.
    CHECK_NEAR(deviation, 0.02 * 0.8796, 4e-4);
    CHECK(most <= 0.0400001 && most > 0.039);
    for (int r = 0; r < 64; r += 21) {
        const float *row = (float *)sr_params_at(p, v)->value + 40 * r;
        double sum = 0;
        for (int k = 0; k < 40; k++)
            sum += (double)row[k] * row[k];
        CHECK_NEAR(((float *)sr_params_at(p, g)->value)[r], sqrt(sum), 1e-6);
    }
    sr_params_free(p);
}

// Initial values depend on seed and name, and on neither the order of entries nor the threads.
TEST(test_init_keys) {
    SrParams *p[3];
    const char *order[3][2] = {{"a", "b"}, {"b", "a"}, {"a", "b"}};
    int threads = sr_parallel_threads();
    for (int k = 0; k < 3; k++) {
        CHECK_OK(sr_params_new(&p[k]));
        for (int i = 0; i < 2; i++)
            add(p[k], order[k][i], slot(SR_SHAPE(300, 200), SR_INIT_NORMAL, 1));
        CHECK_OK(sr_params_allocate(p[k]));
        sr_parallel_set_threads(k == 0 ? 1 : 2);
        sr_params_init(p[k], k == 2 ? 12 : 11);
    }
    sr_parallel_set_threads(threads);
    size_t bytes = 300 * 200 * sizeof(float);
    CHECK(memcmp(sr_params_at(p[0], 0)->value, sr_params_at(p[1], 1)->value, bytes) == 0);
    CHECK(memcmp(sr_params_at(p[0], 0)->value, sr_params_at(p[0], 1)->value, bytes) != 0);
    CHECK(memcmp(sr_params_at(p[0], 0)->value, sr_params_at(p[2], 0)->value, bytes) != 0);
    for (int k = 0; k < 3; k++)
        sr_params_free(p[k]);
}

// Each allocation of the table fails once: an error is returned and everything is freed.
TEST(test_out_of_memory) {
    int64_t live = sr_mem_live();
    bool done = false;
    for (int n = 1; !done && n < 100; n++) {
        SrParams *p = NULL;
        sr_mem_fail_at(n);
        SrSlot s = slot(SR_SHAPE(8), SR_INIT_NORMAL, 1);
        int i;
        SrStatus status = sr_params_new(&p);
        for (int k = 0; status == SR_OK && k < 70; k++) {
            char name[16];
            snprintf(name, sizeof name, "p%d", k);
            status = sr_params_add(p, name, &s, &i);
        }
        if (status == SR_OK)
            status = sr_params_allocate(p);
        sr_mem_fail_at(0);
        CHECK(status == SR_OK || status == SR_ERR_MEMORY);
        done = status == SR_OK;
        sr_params_free(p);
        CHECK_INT(sr_mem_live(), live);
    }
    CHECK(done);
}

// Four heads look at four patches: by columns, by rows, and not farther (graph/ir/init.c).
TEST(test_locality) {
    static const float expected[4][6] = {{-2, -2, -2, -2, -2, -2},
                                         {-2, -2, 2, 2, -2, -2},
                                         {2, 2, -2, -2, -2, -2},
                                         {2, 2, 2, 2, -2, -2}};
    SrParams *p;
    CHECK_OK(sr_params_new(&p));
    int i = add(p, "w", slot(SR_SHAPE(4, 6), SR_INIT_LOCALITY, 2));
    CHECK_OK(sr_params_allocate(p));
    sr_params_init(p, 1);
    const float *w = sr_params_at(p, i)->value;
    for (int k = 0; k < 24; k++)
        CHECK_NEAR(w[k], expected[k / 6][k % 6], 0);
    sr_params_free(p);
}

SR_TESTS(params, unit(test_names), unit(test_memory), unit(test_init_kinds), unit(test_init_keys),
         unit(test_out_of_memory), unit(test_locality))
