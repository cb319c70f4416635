// Trains losses on odd data: black images, one colour, denormal, huge and missing numbers, one
// pixel, one class, one image, batches of one image, fewer rows than prototypes, and odd starting
// weights.
// A run ends with finite numbers only, or is refused with one line that says what to do.
//
// SSLRUN_ODD=1 tries all examples of all losses in f32 and in bf16 (make long-runs), otherwise two
// losses meet each kind of data.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/npy.h"
#include "base/rng.h"
#include "formats/weights/safetensors.h"
#include "losses/loss.h"
#include "tests/check.h"
#include "tests/cli/loss_run.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/run/run_folder.h"

enum { SIDE = 20, IMAGES = 16, MOST_ARGS = 20 };

static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char dir[64];

static int set_up(void **state) {
    (void)state;
    temp_dir_make(dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

// ---- the data

typedef enum { ALL, NOISE, FLOATS } Fill;

typedef struct {
    const char *name;
    int images, side, batch;
    Fill fill;
    float value;             // of every sample; NOISE: unused
    int classes;             // 0: no image has a label
    const char *refusals[6]; // a part of each line that may refuse a loss; NULL-terminated
} Kind;

// clang-format off
// wmse_loss needs more images than features, and groups that fit the batch.
#define WMSE "_loss whitens groups of ", "LOSS.wmse_loss.w_size is "
#define NOT_FINITE "lower the learning rate, or check the images"
static const Kind kinds[] = {
    {"black", IMAGES, SIDE, 4, ALL, 0, 4, {WMSE}},
    {"one colour", IMAGES, SIDE, 4, ALL, 200, 4, {WMSE}},
    {"denormal", IMAGES, SIDE, 4, FLOATS, 1e-40F, 4, {WMSE}},
    {"missing", IMAGES, SIDE, 4, FLOATS, NAN, 4, {WMSE}},
    {"huge", IMAGES, SIDE, 4, FLOATS, 1e30F, 4, {WMSE, NOT_FINITE}},
    {"largest", IMAGES, SIDE, 4, FLOATS, 3e38F, 4, {WMSE, NOT_FINITE}},
    {"one pixel", IMAGES, 1, 4, NOISE, 0, 4, {WMSE}},
    {"one class", IMAGES, SIDE, 4, NOISE, 0, 1, {WMSE}},
    {"no class", IMAGES, SIDE, 4, NOISE, 0, 0, {WMSE, " needs labels, but the images have none"}},
    {"one image", 1, SIDE, 4, NOISE, 0, 1,
     {WMSE, "DATA.TRAIN has one image", "1 images do not fill one batch of 4: lower", "but there are 1 images"}},
    {"two images", 2, SIDE, 2, NOISE, 0, 2, {WMSE, "but there are 2 images"}},
    {"batch of one", IMAGES, SIDE, 1, NOISE, 0, 4,
     {WMSE, "set DATA.TRAIN.BATCHSIZE_PER_REPLICA to at least 2", "BATCHSIZE_PER_REPLICA is 1, so the batch norm "}},
    {"rest of one", 5, SIDE, 4, NOISE, 0, 4, {WMSE, "DROP_LAST=False leaves a last batch of "}},
    // Examples with prototypes have at least 4.
    {"few rows", IMAGES, SIDE, 2, NOISE, 0, 4, {WMSE}},
};
// clang-format on

// Writes <dir>/images.npy and <dir>/labels.npy.
static void write_images(const Kind *k) {
    char path[96];
    size_t items = (size_t)k->images * (size_t)(k->side * k->side) * 3;
    float *f = calloc(items, sizeof *f);
    uint8_t *u = calloc(items, 1);
    int64_t label[IMAGES];
    SrRng rng = sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0);
    CHECK(f && u);
    for (size_t i = 0; i < items; i++) {
        f[i] = k->value;
        u[i] = (uint8_t)(k->fill == NOISE ? sr_rng_below(&rng, 256)
                         : k->fill == ALL ? (uint32_t)k->value
                                          : 0);
    }
    for (int i = 0; i < k->images; i++)
        label[i] = k->classes ? i % k->classes : -1;
    SrShape shape = SR_SHAPE(k->images, k->side, k->side, 3);
    snprintf(path, sizeof path, "%s/images.npy", dir);
    if (k->fill == FLOATS)
        CHECK_OK(sr_npy_save(path, "<f4", shape, f, items * sizeof *f));
    else
        CHECK_OK(sr_npy_save(path, "|u1", shape, u, items));
    snprintf(path, sizeof path, "%s/labels.npy", dir);
    CHECK_OK(
        sr_npy_save(path, "<i8", SR_SHAPE(k->images), label, (size_t)k->images * sizeof *label));
    free(f);
    free(u);
}

// ---- runs

static void config_of(const SrLoss *loss, int example) {
    char path[96];
    snprintf(path, sizeof path, "%s/toy.yaml", dir);
    loss_run_config(path, loss, &loss->examples[example], (LossRun){2, 1, 4});
}

// Runs <dir>/toy.yaml for two epochs in a new folder, <dir>/run.
static void run(const SrLoss *loss, bool bf16, const char *const *more) {
    static char key[4][128], queue[96];
    const char *args[MOST_ARGS] = {key[0], key[1], "--random", "OPTIMIZER.num_epochs=2",
                                   "CHECKPOINT.CHECKPOINT_ITER_FREQUENCY=100"};
    int n = 5;
    snprintf(key[0], sizeof key[0], "%s/toy.yaml", dir);
    snprintf(key[1], sizeof key[1], "CHECKPOINT.DIR=%s/run", dir);
    snprintf(queue, sizeof queue, "%s.queue_size=0", loss->subtree); // 0: as the images allow
    if (strcmp(loss->name, "feature_distillation_loss") == 0 ||
        strcmp(loss->name, "patch_distillation_loss") == 0)
        args[n++] = queue;
    if (bf16)
        args[n++] = "MODEL.AMP_PARAMS.USE_AMP=True";
    for (int i = 0; more[i]; i++)
        args[n++] = more[i];
    CHECK(n < MOST_ARGS);
    temp_dir_remove(key[1] + strlen("CHECKPOINT.DIR="));
    program_run(&result, 1, args);
}

static void run_on(const Kind *k, const SrLoss *loss, bool bf16) {
    char images[128], labels[128], batch[64];
    snprintf(images, sizeof images, "DATA.TRAIN.DATA_PATHS=[%s/images.npy]", dir);
    snprintf(labels, sizeof labels, "DATA.TRAIN.LABEL_PATHS=[%s/labels.npy]", dir);
    snprintf(batch, sizeof batch, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=%d", k->batch);
    write_images(k);
    run(loss, bf16,
        (const char *const[]){"DATA.TRAIN.DATA_SOURCES=[numpy_stack]", images, labels, batch,
                              "DATA.TRAIN.DATA_LIMIT=-1",
                              k->fill == FLOATS ? "DATA.KEEP_BITS=True" : NULL, NULL});
}

// ---- the judgement

// Counts what became of the runs.
static struct { int trained, refused, failed; } sum;

// A refused run has the exit code 1 or 2 and one line, which contains one of the texts.
static void judge(const char *what, const char *const *refusals) {
    char run_dir[96];
    if (result.code == 0) {
        snprintf(run_dir, sizeof run_dir, "%s/run", dir);
        CHECK(loss_run_check_numbers(run_dir) > 0);
        sum.trained++;
        return;
    }
    const char *line = strstr(result.err, "sslrun: ");
    bool one = line && strchr(line, '\n') == line + strlen(line) - 1;
    for (int i = 0; one && (result.code == 1 || result.code == 2) && refusals[i]; i++)
        if (strstr(line, refusals[i])) {
            sum.refused++;
            return;
        }
    print_message("%s: exit code %d and: %s\n", what, result.code, line ? line : result.err);
    sum.failed++;
}

// VISReg's gradient grows as embeddings become equal, which those of equal images must.
static bool may_diverge(const Kind *k, const SrLoss *loss) {
    return k->fill != NOISE && strcmp(loss->name, "visreg_loss") == 0;
}

static void try_kind(const Kind *k, const SrLoss *loss, int example, bool bf16) {
    static const char *const diverges[] = {NOT_FINITE, NULL};
    char what[128];
    snprintf(what, sizeof what, "%s, example %d, %s in %s", loss->name, example, k->name,
             bf16 ? "bf16" : "f32");
    config_of(loss, example);
    run_on(k, loss, bf16);
    judge(what, may_diverge(k, loss) ? diverges : k->refusals);
}

static int count_losses(void) {
    int n = 0;
    while (sr_loss_at(n))
        n++;
    return n;
}

static bool all(void) { return getenv("SSLRUN_ODD") != NULL; }

TEST(test_images) {
    int n = count_losses();
    sum.failed = 0;
    for (int k = 0; k < SR_COUNT(kinds); k++) {
        sum.trained = sum.refused = 0; // failed ones of all kinds are counted
        for (int i = 0; i < n; i++) {
            const SrLoss *loss = sr_loss_at(i);
            for (int e = 0; all() && e < 2 * loss->n_examples; e++)
                try_kind(&kinds[k], loss, e / 2, e % 2);
            if (!all() && (i == 5 * k % n || i == (5 * k + 21) % n))
                try_kind(&kinds[k], loss, 0, k % 2);
        }
        print_message("    %-14s %4d trained, %4d refused\n", kinds[k].name, sum.trained,
                      sum.refused);
    }
    CHECK_INT(sum.failed, 0);
}

static const SrLoss *loss_of(const char *name) {
    const SrLoss *loss = NULL;
    CHECK_OK(sr_loss_find(name, &loss));
    return loss;
}

static const Kind *kind_of(const char *name) {
    for (int k = 0; k < SR_COUNT(kinds); k++)
        if (strcmp(kinds[k].name, name) == 0)
            return &kinds[k];
    fail_msg("there is no kind %s", name);
    return NULL;
}

static void expect(const char *loss, const char *kind, int code, const char *text) {
    config_of(loss_of(loss), 0);
    run_on(kind_of(kind), loss_of(loss), false);
    if (result.code != code || !strstr(result.err, text))
        fail_msg("%s, %s: expected exit code %d and \"%s\", got %d and: %s", loss, kind, code, text,
                 result.code, result.err);
}

// A loss that compares images names itself, the cause and the key. A last batch of one image in
// SimCLR has no negatives, which does no harm.
TEST(test_one_image) {
    static const char *const comparing[] = {
        "vicreg_loss", "barlow_twins_loss", "dcl_loss",    "align_uniform_loss",
        "mocov3_loss", "nnclr_loss",        "dinov2_loss", "simclr_info_nce_loss"};
    for (int i = 0; i < SR_COUNT(comparing); i++)
        if (all() || i % 4 == 0)
            expect(comparing[i], "batch of one", 2,
                   "_loss compares the images of a step, but a step has one; set "
                   "DATA.TRAIN.BATCHSIZE_PER_REPLICA to at least 2");
    expect("swav_loss", "batch of one", 2, "BATCHSIZE_PER_REPLICA is 1, so the batch norm layer4");
    expect("vicreg_loss", "rest of one", 2,
           "DATA.TRAIN.DROP_LAST=False leaves a last batch of one image, but vicreg_loss compares "
           "the images of a step; set it to True, or change BATCHSIZE_PER_REPLICA");
    expect("vicreg_loss", "one image", 2,
           "DATA.TRAIN has one image, but vicreg_loss compares the images of a step; give it two");
    expect("swav_loss", "one image", 2, "DATA.TRAIN has one image, so the batch norm layer4");
    expect("simclr_info_nce_loss", "rest of one", 0, "");
}

// Statistics overflow before the loss does; the line says what to do.
TEST(test_huge) {
    expect("swav_loss", "huge", 1, "running_var' holds a NaN or an infinity; " NOT_FINITE);
    expect("swav_loss", "largest", 1, "the loss is NaN; it first appeared in layer");
}

// ---- weights

// Writes <dir>/odd.safetensors: the newest checkpoint of <dir>/run with all floats of the trunk
// times `scale`; NaN: the first number is NaN, and the others stay.
static void write_weights(float scale) {
    char path[128], folder[96];
    SrSafetensors st;
    snprintf(folder, sizeof folder, "%s/run", dir);
    CHECK_OK(sr_folder_newest(folder, path, sizeof path));
    CHECK_OK(sr_safetensors_open(&st, path));
    SrNamedTensor *copy = calloc((size_t)st.n + 1, sizeof *copy);
    CHECK(copy != NULL);
    bool damaged = false;
    for (int i = 0; i < st.n; i++) {
        copy[i] = st.tensors[i];
        SrTensor *t = &copy[i].tensor;
        int64_t n = sr_shape_count(t->shape);
        if (t->dtype != SR_F32 || strncmp(copy[i].name, "trunk.", 6) != 0)
            continue;
        float *x = calloc((size_t)n + 1, sizeof *x);
        CHECK(x != NULL);
        for (int64_t k = 0; k < n; k++)
            x[k] = ((const float *)t->data)[k] * (isnan(scale) ? 1 : scale);
        if (isnan(scale) && !damaged)
            x[0] = NAN;
        damaged = true;
        t->data = x;
    }
    snprintf(path, sizeof path, "%s/odd.safetensors", dir);
    CHECK_OK(sr_safetensors_save(path, copy, st.n, NULL, NULL, 0));
    for (int i = 0; i < st.n; i++)
        if (copy[i].tensor.data != st.tensors[i].tensor.data)
            free(copy[i].tensor.data);
    free(copy);
    sr_safetensors_close(&st);
}

static void try_weights(const SrLoss *loss, bool bf16) {
    static const float scales[] = {0, 1e-40F, 1e20F, NAN};
    static const char *const refusals[] = {NOT_FINITE, "holds a weight that is NaN", NULL};
    char key[128], what[96];
    snprintf(key, sizeof key, "MODEL.WEIGHTS_INIT.PARAMS_FILE=%s/odd.safetensors", dir);
    for (int i = 0; i < SR_COUNT(scales); i++) {
        config_of(loss, loss->n_examples - 1);
        run(loss, bf16, (const char *const[]){NULL});
        CHECK_INT(result.code, 0);
        write_weights(scales[i]);
        run(loss, bf16, (const char *const[]){key, NULL});
        snprintf(what, sizeof what, "%s, weights times %g in %s", loss->name, (double)scales[i],
                 bf16 ? "bf16" : "f32");
        judge(what, refusals);
    }
}

TEST(test_weights) {
    sum.trained = sum.refused = sum.failed = 0;
    for (int i = 0; i < count_losses(); i++)
        for (int bf16 = 0; bf16 < 2; bf16++)
            if (all() || (!bf16 && i == 7))
                try_weights(sr_loss_at(i), bf16);
    print_message("    %-14s %4d trained, %4d refused\n", "odd weights", sum.trained, sum.refused);
    CHECK_INT(sum.failed, 0);
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(odd_data, in_folder(test_images), in_folder(test_one_image), in_folder(test_huge),
         in_folder(test_weights))
