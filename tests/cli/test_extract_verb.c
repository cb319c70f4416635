// Tests sslrun extract: features of a tensor, shards of features of a folder, resuming after a
// stop, refusals.
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/npy.h"
#include "formats/weights/safetensors.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "trainer/eval/extract/feature_files.h"
#include "trainer/features/feature_values.h"

#define CONFIG "tests/cli/tiny.yaml"
static ProgramResult result; // two 64 kB texts: too large for the stack of a test

#define RUN(...) program_run(&result, 0, (const char *const[]){"extract", __VA_ARGS__, NULL})

typedef struct {
    char dir[64], weights[128], x[128], out[128], images[128];
    SrFeatureSource e;
} Fixture;

static void save_weights(const Fixture *f) {
    SrNamedTensor tensors[256];
    SrParams *params = f->e.extraction.params;
    for (int i = 0; i < sr_params_count(params); i++) {
        const SrParam *p = sr_params_at(params, i);
        tensors[i] = (SrNamedTensor){p->name, {p->shape, p->dtype, p->value}};
    }
    CHECK_OK(sr_safetensors_save(f->weights, tensors, sr_params_count(params), NULL, NULL, 0));
}

static void begin(Fixture *f) {
    SrFeatureOptions o = {.trunk = CONFIG,
                          .batch = 2,
                          .height = 16,
                          .width = 12,
                          .layers = "layer1,flatten",
                          .mode = SR_MODE_EVAL,
                          .seed = 3,
                          .keep_norms = true};
    temp_dir_make(f->dir);
    snprintf(f->weights, sizeof f->weights, "%s/w.safetensors", f->dir);
    snprintf(f->x, sizeof f->x, "%s/x.safetensors", f->dir);
    snprintf(f->out, sizeof f->out, "%s/out", f->dir);
    snprintf(f->images, sizeof f->images, "%s/images", f->dir);
    CHECK_OK(sr_feature_source_open(&o, &f->e));
    save_weights(f);
}

static void end(Fixture *f) {
    sr_feature_source_close(&f->e);
    temp_dir_remove(f->dir);
}

TEST(test_input) {
    Fixture f;
    begin(&f);
    float x[5 * 3 * 16 * 12], nchw[2 * 4 * 16 * 12]; // layer1: (2, 16, 12, 4)
    for (int i = 0; i < SR_COUNT(x); i++)
        x[i] = sinf((float)i);
    SrNamedTensor named = {"x", {SR_SHAPE(5, 3, 16, 12), SR_F32, x}};
    CHECK_OK(sr_safetensors_save(f.x, &named, 1, NULL, NULL, 0));
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1:low,flatten", "--input", f.x, "--out",
        f.out, "--batch", "2");
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "5 images"));
    SrSafetensors st;
    CHECK_OK(sr_safetensors_open(&st, f.out));
    const SrTensor *low = sr_safetensors_find(&st, "low"),
                   *flat = sr_safetensors_find(&st, "flatten");
    CHECK(low && sr_shape_equal(low->shape, SR_SHAPE(5, 4, 16, 12)));
    CHECK(flat && sr_shape_equal(flat->shape, SR_SHAPE(5, 32)));
    SrTensor in = sr_feature_source_input(&f.e);
    sr_layout_to_nhwc(x, in.shape, in.data);
    sr_feature_source_forward(&f.e);
    SrTensor y = sr_feature_source_value(&f.e, 0);
    sr_layout_to_nchw(y.data, y.shape, nchw);
    for (int i = 0; i < SR_COUNT(nchw); i++)
        CHECK_NEAR(((float *)low->data)[i], nchw[i], 1e-4);
    sr_safetensors_close(&st);
    RUN(CONFIG, "--weights", f.weights, "--nodes", "res2", "--input", f.x, "--out", f.out,
        "--layout", "nhwc", "--mode", "train");
    CHECK_INT(result.code, 0);
    CHECK_OK(sr_safetensors_open(&st, f.out));
    CHECK(sr_shape_equal(sr_safetensors_find(&st, "res2")->shape, SR_SHAPE(5, 16, 12, 4)));
    sr_safetensors_close(&st);
#define BOTH_LISTS(train, eval, mode)                                                           \
    RUN(CONFIG, "--weights", f.weights, "--train-nodes", train, "--eval-nodes", eval, "--mode", \
        mode, "--input", f.x, "--out", f.out)
    BOTH_LISTS("res2:train", "flatten:eval", "train");
    CHECK_OK(sr_safetensors_open(&st, f.out));
    CHECK(sr_safetensors_find(&st, "train") && !sr_safetensors_find(&st, "eval"));
    sr_safetensors_close(&st);
    BOTH_LISTS("res2:train", "flatten:eval", "eval");
    CHECK_OK(sr_safetensors_open(&st, f.out));
    CHECK(sr_safetensors_find(&st, "eval") && !sr_safetensors_find(&st, "train"));
    sr_safetensors_close(&st);
    BOTH_LISTS("layr1", "layer2", "eval");
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "did you mean 'layer1'"));
    end(&f);
}

static void write_images(const Fixture *f, int n) {
    uint8_t pixels[20 * 24 * 3];
    CHECK_OK(sr_file_mkdirs(f->images));
    for (int i = 0; i < n; i++) {
        char name[32];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *png = fixture_png(pixels, 20, 24, 3, &bytes);
        snprintf(name, sizeof name, "%c/%d.png", 'a' + i % 2, i);
        fixture_write(f->images, name, png, bytes);
        sr_free(png);
    }
}

#define RUN_DATA(...)                                                                      \
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1,flatten:f", "--data", f.images, \
        "--out", f.out, "--batch", "2", "--shard", "4", __VA_ARGS__)

static void check_shard(const Fixture *f, int i, int rows, const char *file) {
    char path[256];
    SrSafetensors st;
    snprintf(path, sizeof path, "%s/features-%05d.safetensors", f->out, i);
    CHECK_OK(sr_safetensors_open(&st, path));
    CHECK(sr_shape_equal(sr_safetensors_find(&st, "layer1")->shape, SR_SHAPE(rows, 4, 16, 16)));
    CHECK(sr_shape_equal(sr_safetensors_find(&st, "f")->shape, SR_SHAPE(rows, 32)));
    const int64_t *label = sr_safetensors_find(&st, "labels")->data;
    CHECK_INT(label[rows - 1], i > 0); // a/: 0 2 4 6, then b/: 1 3 5
    const SrTensor *files = sr_safetensors_find(&st, "files"),
                   *classes = sr_safetensors_find(&st, "classes");
    CHECK(files && files->shape.d[0] == rows &&
          memmem(files->data, (size_t)sr_shape_count(files->shape), file, strlen(file)));
    CHECK(classes && sr_shape_equal(classes->shape, SR_SHAPE(2, 1)) &&
          memcmp(classes->data, "ab", 2) == 0);
    sr_safetensors_close(&st);
}

TEST(test_data_in_shards) {
    Fixture f;
    char path[256];
    begin(&f);
    write_images(&f, 7);
    RUN_DATA("--size", "16");
    CHECK_INT(result.code, 0);
    check_shard(&f, 0, 4, "a/0.png");
    check_shard(&f, 1, 3, "b/5.png");
    snprintf(path, sizeof path, "%s/features-00001.safetensors", f.out);
    CHECK_OK(sr_file_remove(path)); // as after a run that was stopped
    RUN_DATA("--size", "16");
    CHECK(strstr(result.err, "1 existed before"));
    check_shard(&f, 1, 3, "b/5.png");
    RUN_DATA("--size", "24");
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "holds another extraction"));
    end(&f);
}

static void expect_refused(const char *text) {
    if (result.code != 2 || !strstr(result.err, text))
        fail_msg("expected exit code 2 and \"%s\", got %d and:\n%s", text, result.code, result.err);
}

// One folder holds features of one model, one configuration and one set of images; anything else
// is refused.
TEST(test_another_extraction) {
    Fixture f;
    char first[128], path[160];
    uint8_t pixels[20 * 24 * 3];
    size_t bytes;
    begin(&f);
    write_images(&f, 7);
    RUN_DATA("--size", "16");
    CHECK_INT(result.code, 0);
    memcpy(first, f.weights, sizeof first);
    snprintf(f.weights, sizeof f.weights, "%s/copy.safetensors", f.dir);
    save_weights(&f);
    RUN_DATA("--size", "16"); // equal weights in another file
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "2 existed before"));
    memcpy(f.weights, first, sizeof first);
    float *weight = sr_params_at(f.e.extraction.params, 0)->value, kept = *weight;
    *weight += 1;
    save_weights(&f); // other weights in the same file
    RUN_DATA("--size", "16");
    expect_refused("its weights_checksum is");
    *weight = kept;
    save_weights(&f);
    RUN_DATA("--size", "16",
             "DATA.TEST.TRANSFORMS=[{name: Resize, size: 16}, {name: CenterCrop, "
             "size: 16}, {name: ToTensor}]");
    expect_refused("its transforms is");
    fixture_noise(pixels, sizeof pixels, 77);
    void *png = fixture_png(pixels, 20, 24, 3, &bytes);
    fixture_write(f.images, "a/2.png", png, bytes);
    sr_free(png);
    RUN_DATA("--size", "16");
    expect_refused("its images_checksum is");
    snprintf(path, sizeof path, "%s/extract.json", f.out);
    CHECK_OK(sr_file_remove(path));
    RUN_DATA("--size", "16");
    expect_refused("no extract.json");
    end(&f);
}

// A shard with 4 MiB of file names can be written and read again.
TEST(test_many_names) {
    enum { IMAGES = 9000 };
    Fixture f;
    char name[480], list[128];
    SrText lines = SR_TEXT_INIT;
    begin(&f);
    CHECK_OK(sr_file_mkdirs(f.images));
    memset(name, 'd', sizeof name);
    name[200] = '/'; // a path component has at most 255 bytes
    memcpy(name + 440, "/0.png", 7);
    size_t bytes;
    uint8_t pixels[8 * 8 * 3];
    fixture_noise(pixels, sizeof pixels, 1);
    void *png = fixture_png(pixels, 8, 8, 3, &bytes);
    fixture_write(f.images, name, png, bytes);
    sr_free(png);
    for (int i = 0; i < IMAGES; i++)
        sr_text_printf(&lines, "%s\n", name);
    snprintf(list, sizeof list, "%s", fixture_write(f.images, "list.txt", lines.s, lines.len));
    sr_text_deinit(&lines);
    RUN(CONFIG, "--weights", f.weights, "--nodes", "flatten", "--data", list, "--size", "8",
        "--out", f.out);
    if (result.code)
        fail_msg("%s", result.err);
    SrMatrix features;
    SrFeatureNames names = {0};
    CHECK_OK(
        sr_features_load(&(SrFeatureFiles){.path = f.out, .split = "train"}, &features, &names));
    CHECK_INT(features.n, IMAGES);
    CHECK_INT(names.files.n, IMAGES);
    CHECK(strstr(sr__string_list_get(&names.files, IMAGES - 1), "d/0.png"));
    sr_feature_names_deinit(&names);
    sr_matrix_deinit(&features);
    end(&f);
}

TEST(test_npy) {
    Fixture f;
    SrNpy npy;
    char path[256], name[256];
    begin(&f);
    write_images(&f, 3);
    RUN_DATA("--size=16", "--format", "npy");
    CHECK_INT(result.code, 0);
    snprintf(path, sizeof path, "%s/f-00000.npy", f.out);
    CHECK_OK(sr_npy_open(path, &npy));
    CHECK_INT(npy.n, 3);
    CHECK_INT(npy.columns, 32);
    sr_npy_close(&npy);
    snprintf(path, sizeof path, "%s/files-00000.npy", f.out);
    CHECK_OK(sr_npy_open(path, &npy));
    sr_npy_string(&npy, 2, name, sizeof name);
    CHECK(strstr(name, "b/1.png"));
    sr_npy_close(&npy);
    snprintf(path, sizeof path, "%s/classes.npy", f.out);
    CHECK_OK(sr_npy_open(path, &npy));
    CHECK_INT(npy.n, 2);
    sr_npy_string(&npy, 1, name, sizeof name);
    CHECK_STR(name, "b");
    sr_npy_close(&npy);
    end(&f);
}

// Writes n images of 16 x 16 and their labels, i % 3, as MNIST's files.
static void write_idx(const Fixture *f, const char *split, int n) {
    uint8_t pixels[16 + 16 * 256] = {0, 0, 8, 3, 0, 0, 0, (uint8_t)n, 0, 0, 0, 16, 0, 0, 0, 16};
    uint8_t labels[8 + 16] = {0, 0, 8, 1, 0, 0, 0, (uint8_t)n};
    char name[64];
    CHECK(n <= 16);
    fixture_noise(pixels + 16, (size_t)n * 256, (uint64_t)n);
    for (int i = 0; i < n; i++)
        labels[8 + i] = (uint8_t)(i % 3);
    snprintf(name, sizeof name, "idx/%s-images-idx3-ubyte", split);
    fixture_write(f->dir, name, pixels, 16 + (size_t)n * 256);
    snprintf(name, sizeof name, "idx/%s-labels-idx1-ubyte", split);
    fixture_write(f->dir, name, labels, 8 + (size_t)n);
}

// One folder can hold the training and the test side, for verbs that compare them.
TEST(test_splits) {
    static const struct {
        const char *split;
        int images;
    } sides[] = {{"train", 7}, {"test", 5}};
    Fixture f;
    char data[128], out[2][160];
    SrSafetensors st;
    begin(&f);
    write_idx(&f, "train", 7);
    write_idx(&f, "t10k", 5);
    snprintf(data, sizeof data, "%s/idx", f.dir);
    for (int i = 0; i < 2; i++) {
        char shard[400];
        snprintf(out[i], sizeof out[i], "%s/%s", f.dir, sides[i].split);
        RUN(CONFIG, "--weights", f.weights, "--nodes", "flatten", "--data", data, "--split",
            sides[i].split, "--size", "16", "--out", out[i]);
        CHECK_INT(result.code, 0);
        snprintf(shard, sizeof shard, "%s/features-00000.safetensors", out[i]);
        CHECK_OK(sr_safetensors_open(&st, shard));
        const SrTensor *labels = sr_safetensors_find(&st, "labels");
        CHECK(labels && sr_shape_equal(labels->shape, SR_SHAPE(sides[i].images)));
        CHECK_INT(((const int64_t *)labels->data)[4], 1);
        sr_safetensors_close(&st);
    }
    program_run(&result, 0,
                (const char *const[]){"knn", out[0], out[1], "NEAREST_NEIGHBOR.TOPK=3", NULL});
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.out, "5 test images against 7"));
    RUN(CONFIG, "--weights", f.weights, "--nodes", "flatten", "--data", data, "--split", "val",
        "--out", f.out);
    CHECK(result.code == 2 && strstr(result.err, "expected train or test"));
    end(&f);
}

// Labels of a list with a matrix of labels are written as `sslrun svm` reads them.
TEST(test_labels) {
    Fixture f;
    char list[128], labels[128], shard[160];
    int8_t target[3 * 2] = {1, 0, 0, 1, -1, 1};
    SrSafetensors st;
    begin(&f);
    write_images(&f, 3);
    snprintf(list, sizeof list, "%s",
             fixture_write(f.images, "list.txt", "a/0.png\nb/1.png\na/2.png\n", 24));
    snprintf(labels, sizeof labels, "%s/labels.npy", f.dir);
    CHECK_OK(sr_npy_save(labels, "|i1", SR_SHAPE(3, 2), target, sizeof target));
    RUN(CONFIG, "--weights", f.weights, "--nodes", "flatten", "--data", list, "--labels", labels,
        "--size", "16", "--out", f.out);
    CHECK_INT(result.code, 0);
    snprintf(shard, sizeof shard, "%s/features-00000.safetensors", f.out);
    CHECK_OK(sr_safetensors_open(&st, shard));
    const SrTensor *t = sr_safetensors_find(&st, "labels");
    CHECK(t && sr_shape_equal(t->shape, SR_SHAPE(3, 2)));
    CHECK_INT(((const int64_t *)t->data)[4], -1);
    CHECK_INT(((const int64_t *)t->data)[3], 1);
    sr_safetensors_close(&st);
    end(&f);
}

// conv1 is torchvision's node, before norm and ReLU; a line says that VISSL has a stage of that
// name.
TEST(test_conv1) {
    Fixture f;
    begin(&f);
    write_images(&f, 2);
    RUN(CONFIG, "--weights", f.weights, "--nodes", "conv1", "--data", f.images, "--size", "16",
        "--out", f.out);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "  conv1: torchvision's node (VISSL's stage of that name is relu)\n"));
    end(&f);
}

TEST(test_refused) {
    Fixture f;
    begin(&f);
    RUN(CONFIG, "--nodes", "layer1", "--input", f.x, "--out", f.out);
    expect_refused("needs --weights FILE, or --random");
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1", "--out", f.out);
    expect_refused("needs either --input");
    RUN(CONFIG, "--weights", f.weights, "--train-nodes", "layer1", "--input", f.x, "--out", f.out);
    expect_refused("--train-nodes is given without --eval-nodes");
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1", "--input", f.x, "--split", "test",
        "--out", f.out);
    expect_refused("work only with --data");
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1", "--data", f.dir, "--out",
        "f.safetensors");
    expect_refused("name a folder");
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1", "--input", f.x, "--out", "f.npz");
    expect_refused("--out f.npz: --input writes one .safetensors");
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1", "--input", f.weights, "--out", f.out);
    expect_refused("expected a tensor \"x\"");
    RUN(CONFIG, "--weights", f.weights, "--nodes", "layer1", "--input", f.x, "--out", f.out,
        "--layout", "chwn");
    expect_refused("expected nchw or nhwc");
    RUN("resnet50", "--weights", f.weights, "--nodes");
    expect_refused("--nodes needs a value");
    end(&f);
}

// Images may have any tensor name, or be an .npy file. A file with several tensors of four
// dimensions is refused with their names.
TEST(test_names_of_images) {
    Fixture f;
    char npy[128];
    float x[2 * 3 * 16 * 12];
    begin(&f);
    for (int i = 0; i < SR_COUNT(x); i++)
        x[i] = cosf((float)i);
    SrNamedTensor two[2] = {{"photos", {SR_SHAPE(2, 3, 16, 12), SR_F32, x}},
                            {"ids", {SR_SHAPE(2, 1), SR_F32, x}}};
    CHECK_OK(sr_safetensors_save(f.x, two, 2, NULL, NULL, 0));
    RUN("config=" CONFIG, "--weights", f.weights, "--nodes", "flatten", "--input", f.x, "--out",
        f.out);
    CHECK_INT(result.code, 0);
    CHECK(strstr(result.err, "2 images"));
    program_run(&result, 0, (const char *const[]){"inspect", f.out, NULL});
    CHECK(strstr(result.out, ", 1 tensor, ") && strstr(result.out, "written by: sslrun extract\n"));
    CHECK(!strstr(result.out, "written_by"));
    snprintf(npy, sizeof npy, "%s/x.npy", f.dir);
    CHECK_OK(sr_npy_save(npy, "<f4", two[0].tensor.shape, x, sizeof x));
    RUN(CONFIG, "--weights", f.weights, "--nodes", "flatten", "--input", npy, "--out", f.out);
    CHECK_INT(result.code, 0);
    two[1] = (SrNamedTensor){"others", two[0].tensor};
    CHECK_OK(sr_safetensors_save(f.x, two, 2, NULL, NULL, 0));
    RUN(CONFIG, "--weights", f.weights, "--nodes", "flatten", "--input", f.x, "--out", f.out);
    expect_refused("found photos [2, 3, 16, 12], others [2, 3, 16, 12]");
    end(&f);
}

// The folder of a run gives its configuration and its weights.
TEST(test_of_a_run) {
    Fixture f;
    char dir[128], own[160];
    float x[2 * 3 * 16 * 12];
    begin(&f);
    for (int i = 0; i < SR_COUNT(x); i++)
        x[i] = cosf((float)i);
    SrNamedTensor named = {"x", {SR_SHAPE(2, 3, 16, 12), SR_F32, x}};
    CHECK_OK(sr_safetensors_save(f.x, &named, 1, NULL, NULL, 0));
    snprintf(dir, sizeof dir, "CHECKPOINT.DIR=%s/run", f.dir);
    snprintf(own, sizeof own, "%s/own.safetensors", f.dir);
    program_run(&result, 1, (const char *const[]){CONFIG, dir, "OPTIMIZER.num_epochs=1", NULL});
    CHECK_INT(result.code, 0);
    const char *run = dir + strlen("CHECKPOINT.DIR=");
    RUN(run, "--nodes", "flatten", "--input", f.x, "--out", own);
    CHECK_INT(result.code, 0);
    RUN(CONFIG, "--weights", run, "--nodes", "flatten", "--input", f.x, "--out", f.out);
    CHECK_INT(result.code, 0);
    SrSafetensors a, b;
    CHECK_OK(sr_safetensors_open(&a, own));
    CHECK_OK(sr_safetensors_open(&b, f.out));
    CHECK(memcmp(sr_safetensors_find(&a, "flatten")->data, sr_safetensors_find(&b, "flatten")->data,
                 2 * 32 * sizeof(float)) == 0);
    sr_safetensors_close(&a);
    sr_safetensors_close(&b);
    RUN(f.dir, "--nodes", "flatten", "--input", f.x, "--out", f.out);
    expect_refused("is not the folder of a run");
    end(&f);
}

SR_TESTS(extract_verb, unit(test_input), unit(test_data_in_shards), unit(test_another_extraction),
         unit(test_many_names), unit(test_npy), unit(test_splits), unit(test_labels),
         unit(test_conv1), unit(test_refused), unit(test_names_of_images), unit(test_of_a_run))
