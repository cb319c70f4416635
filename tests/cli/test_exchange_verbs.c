// Tests sslrun inspect, diff and convert as a user runs them: every flag on every format.
// test_bad_input.c has damaged files.
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "formats/weights/safetensors.h"
#include "formats/weights/weights.h"
#include "tests/check.h"
#include "tests/program.h"
#include "tests/temp_dir.h"
#include "tests/words.h"

#define FILES "tests/formats/files/"
static ProgramResult result; // two 64 kB texts: too large for the stack of a test
static char dir[64], path[160], other[160];

#define RUN(...) program_run(&result, 0, (const char *const[]){__VA_ARGS__, NULL})

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

static const char *in_dir(char out[160], const char *name) {
    snprintf(out, 160, "%s/%s", dir, name);
    return out;
}

static void expect(int code, const char *text) {
    if (result.code != code || !strstr(result.out, text))
        fail_msg("exit code %d, expected %d with '%s' in:\n%s%s", result.code, code, text,
                 result.out, result.err);
}

// Fails unless the exit code is 2, stdout is empty, and stderr is one line that names the file.
static void expect_refused(const char *file) {
    const char *newline = strchr(result.err, '\n');
    if (result.code != 2 || *result.out || !newline || newline[1] || !strstr(result.err, file))
        fail_msg("%s: exit code %d, expected 2 and one line:\n%s%s", file, result.code, result.out,
                 result.err);
}

static const float five[] = {0, -1.5f, 4, NAN, INFINITY};

// Writes a safetensors file like a checkpoint: tensors of a trunk, one of which holds NaN.
static void write_trunk(const char *name, float first) {
    float conv[4 * 3] = {first, 1, 2};
    SrNamedTensor tensors[] = {
        {"module.layer1.0.conv1.weight", {SR_SHAPE(4, 3, 1, 1), SR_F32, conv}},
        {"module.conv1.weight", {SR_SHAPE(4, 3, 1, 1), SR_F32, conv}},
        {"module.bn1.running_var", {SR_SHAPE(5), SR_F32, (void *)(uintptr_t)five}},
    };
    CHECK_OK(sr_safetensors_save(in_dir(path, name), tensors, 3, (const char *[]){"epoch"},
                                 (const char *[]){"7"}, 1));
}

// ---- inspect

TEST(test_inspect) {
    static const struct {
        const char *file, *format, *tensor;
    } cases[] = {{FILES "nested.pth", "PyTorch (zip), 9 tensors", "state_dict.module.fc.weight "},
                 {FILES "nested_legacy.pth", "PyTorch (legacy), 9 tensors", "epoch: 3"},
                 {FILES "arrays.npz", "NumPy .npz, 3 tensors", "  w "},
                 {FILES "arrays_deflated.npz", "NumPy .npz, 3 tensors", "  f "},
                 {FILES "matrix.npy", "NumPy .npy, 1 tensor,", "  array "}};
    for (int i = 0; i < SR_COUNT(cases); i++) {
        RUN("inspect", cases[i].file);
        expect(0, cases[i].format);
        expect(0, cases[i].tensor);
    }
    write_trunk("t.safetensors", 0);
    RUN("inspect", path);
    expect(0, "safetensors, 3 tensors, 29 numbers");
    expect(0, "written by: torchvision's names in a wrapper");
    expect(0, "under 'module.'");
    expect(0, "epoch: 7");
    CHECK(!strstr(result.out, "NaN"));
}

TEST(test_inspect_flags) {
    write_trunk("t.safetensors", 0);
    RUN("inspect", path, "--stats", "--filter", "*running_var");
    expect(0, "min -1.5  max 4  mean 0.8333  std 2.321  norm 4.272  zeros 20%  1 NaN, 1 infinite");
    CHECK(!strstr(result.out, "conv1"));
    RUN("inspect", path, "--tree");
    expect(0, "module: 29\n    layer1: 12\n      0: 12\n        conv1: 12\n");
    expect(0, "weight F32 [4, 3, 1, 1]");
    RUN("inspect", FILES "nested.pth", "--stats");
    expect(0, "checksums: all ");
    RUN("inspect", path, "--config");
    expect_refused(path);
    RUN("inspect", path, "--statts");
    CHECK(result.code == 2 && strstr(result.err, "--stats"));
}

// --json prints one JSON document, whose entry of a tensor has its statistics.
// Copies a file without tensor `without`, or with its shape flattened.
static void spoil(const char *from, const char *to, const char *without, bool flatten) {
    static SrNamedTensor tensors[256];
    SrWeights w;
    int n = 0;
    CHECK_OK(sr_weights_open(&w, from));
    for (int i = 0; i < w.n && n < SR_COUNT(tensors); i++) {
        bool it = strcmp(w.tensors[i].name, without) == 0;
        if (it && !flatten)
            continue;
        tensors[n].name = w.tensors[i].name;
        CHECK_OK(sr_weights_read(&w, i, &tensors[n].tensor));
        if (it)
            tensors[n].tensor.shape = SR_SHAPE((int)sr_shape_count(tensors[n].tensor.shape));
        n++;
    }
    CHECK_INT(n, w.n - !flatten);
    CHECK_OK(sr_safetensors_save(to, tensors, n, NULL, NULL, 0));
    sr_weights_close(&w);
}

#define TINY "tests/cli/tiny.yaml"
#define SECOND "encoder.stages.0.layers.1.layer.0.convolution.weight"

// A file is complete for a model, or its faults are listed by the names in the file.
TEST(test_inspect_as) {
    char run[160], to_run[200], whole[160], bad[160];
    snprintf(to_run, sizeof to_run, "CHECKPOINT.DIR=%s", in_dir(run, "run"));
    RUN(TINY, to_run, "OPTIMIZER.num_epochs=1");
    CHECK_INT(result.code, 0);
    RUN("convert", run, in_dir(whole, "whole.safetensors"), "--to", "huggingface");
    CHECK_INT(result.code, 0);
    RUN("inspect", whole);
    expect(0, "written by: Hugging Face");
    RUN("inspect", whole, "--as", TINY);
    expect(0, "100 of 100 tensors used, 0 left over\n");
    spoil(whole, in_dir(bad, "bad.safetensors"), SECOND, false);
    RUN("inspect", bad, "--as", TINY);
    expect(2,
           "99 of 100 tensors used, 0 left over\n  1 missing: " SECOND " (layer1.1.conv1.weight)");
    spoil(whole, bad, SECOND, true);
    RUN("inspect", bad, "--as", TINY);
    expect(2, "1 of another shape or type: " SECOND " (F32");
    RUN("inspect", whole, "--as", "resnett18");
    CHECK(result.code == 2 && strstr(result.err, "did you mean 'resnet18'"));
}

TEST(test_inspect_json) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree;
    write_trunk("t.safetensors", 0);
    RUN("inspect", path, "--json", "--stats", "--tree");
    CHECK_INT(result.code, 0);
    CHECK_OK(sr_json_parse(&arena, result.out, strlen(result.out), "output", &tree));
    CHECK_STR(sr_yaml_find(tree, "format")->text, "safetensors");
    CHECK_STR(sr_yaml_find_path(tree, "meta.epoch")->text, "7");
    CHECK_INT(sr_yaml_find(tree, "numbers")->i, 29);
    const SrYaml *modules = sr_yaml_find(tree, "modules"), *tensors = sr_yaml_find(tree, "tensors");
    CHECK_INT(tensors->n, 3);
    CHECK_STR(sr_yaml_find(modules->items[1], "name")->text, "module.layer1");
    CHECK_INT(sr_yaml_find(modules->items[1], "numbers")->i, 12);
    const SrYaml *last = tensors->items[2];
    CHECK_STR(sr_yaml_find(last, "name")->text, "module.bn1.running_var");
    CHECK_INT(sr_yaml_find(last, "shape")->items[0]->i, 5);
    CHECK_INT(sr_yaml_find(last, "nan")->i, 1);
    CHECK_INT(sr_yaml_find(last, "infinite")->i, 1);
    CHECK_INT(sr_yaml_find(last, "zeros")->i, 1);
    CHECK_NEAR(sr_yaml_find(last, "max")->f, 4, 0);
    sr_arena_deinit(&arena);
}

// With --json the document is closed where reading fails.
TEST(test_inspect_damaged) {
    SrArena arena = SR_ARENA_INIT;
    SrYaml *tree;
    RUN("inspect", FILES "bomb.npz", "--json", "--stats");
    CHECK_INT(result.code, 2);
    CHECK_OK(sr_json_parse(&arena, result.out, strlen(result.out), "output", &tree));
    sr_arena_deinit(&arena);
}

static void flip_byte(const char *file, long at) {
    FILE *f = fopen(file, "r+b");
    CHECK(f && fseek(f, at, SEEK_SET) == 0);
    int c = fgetc(f);
    CHECK(fseek(f, at, SEEK_SET) == 0 && fputc(~c, f) != EOF && fclose(f) == 0);
}

TEST(test_checksums) {
    RUN("convert", FILES "nested.pth", in_dir(path, "c.pth"));
    CHECK_INT(result.code, 0);
    char *data;
    size_t bytes;
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
    const float one = 1, two = 2, numbers[] = {one, two};
    char *at = memmem(data, bytes, numbers, sizeof numbers);
    CHECK(at);
    flip_byte(path, at - data);
    sr_free(data);
    RUN("inspect", path); // does not read the tensors
    CHECK_INT(result.code, 0);
    RUN("inspect", path, "--stats");
    CHECK(result.code == 2 && strstr(result.err, "CRC-32"));
}

// A sparse file of 10 GB: only the printed tensors are read. Its header leaves the data
// unaligned.
TEST(test_huge) {
    const long most = PROGRAM_SANITIZED ? 1 << 30 : 64 << 20;
    const char *header =
        "{\"big\":{\"dtype\":\"F32\",\"shape\":[2500000,1024],\"data_offsets\":[0,10240000000]}}";
    FILE *f = fopen(in_dir(path, "big.safetensors"), "wb");
    CHECK(f);
    for (int i = 0; i < 8; i++)
        fputc((int)(strlen(header) >> (8 * i) & 255), f);
    fputs(header, f);
    CHECK(fclose(f) == 0 && truncate(path, (off_t)(8 + strlen(header) + 10240000000)) == 0);
    static const char *const flags[] = {"--json", "--tree", "--filter=big*"};
    for (int i = 0; i < SR_COUNT(flags); i++) {
        RUN("inspect", path, flags[i]);
        expect(0, "[2500000, 1024]");
        expect(0, "2560000000");
        CHECK(result.peak_bytes < most);
    }
    write_trunk("t.safetensors", 0);
    RUN("diff", in_dir(other, "big.safetensors"), path);
    expect(1, "different: 3 added, 1 removed");
    CHECK(result.peak_bytes < most);
}

// ---- diff

TEST(test_diff) {
    RUN("diff", FILES "nested.pth", FILES "nested_legacy.pth");
    expect(0, "identical\n");
    CHECK_STR(words_last_line(result.out), "identical\n");
    RUN("diff", FILES "arrays.npz", FILES "arrays_deflated.npz");
    CHECK_STR(result.out, "identical\n");
    write_trunk("a.safetensors", 0);
    write_trunk("b.safetensors", 0.25f);
    RUN("diff", in_dir(other, "a.safetensors"), path);
    expect(1, "~ module.conv1.weight: largest difference 0.25, relative 0.125, cosine 0.99");
    CHECK_STR(words_last_line(result.out),
              "different: 0 added, 0 removed, 0 of another shape, 2 changed by up to 0.25\n");
    RUN("diff", other, path, "--atol", "0.25");
    expect(0, "equal within the tolerances: 2 tensors differ by up to 0.25\n");
    RUN("diff", other, path, "--rtol=1e-3", "--atol=0.1");
    expect(1, "2 changed by up to 0.25\n");
    RUN("diff", other, path, "--rtol", "much");
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "--rtol much: expected a number"));
    RUN("diff", path, FILES "matrix.npy");
    expect(1, "- module.conv1.weight\n");
    expect(1, "+ array\n");
    RUN("diff", path);
    CHECK_INT(result.code, 2);
}

// ---- convert

TEST(test_convert) {
    static const char *const outputs[] = {"o.safetensors", "o.pth", "o.pt", "o.torch", "o.npz"};
    write_trunk("t.safetensors", 3);
    snprintf(other, sizeof other, "%s", path);
    for (int i = 0; i < SR_COUNT(outputs); i++) {
        RUN("convert", other, in_dir(path, outputs[i]));
        expect(0, "3 tensors written");
        RUN("diff", other, path);
        CHECK_STR(result.out, "identical\n");
    }
    RUN("convert", other, in_dir(path, "v.torch"), "--to", "vissl", "--only", "trunk");
    expect(0, "3 tensors written");
    RUN("inspect", path);
    expect(0, "written by: VISSL");
    expect(0, "classy_state_dict.base_model.model.trunk._feature_blocks.layer1.0.conv1.weight");
    RUN("convert", path, in_dir(other, "back.pth"), "--to", "torchvision", "--only", "trunk");
    expect(0, "3 tensors written");
    RUN("inspect", other);
    expect(0, "\n  layer1.0.conv1.weight ");
}

// A trunk of a quarter of the width with another stem has names like a ResNet's and does not fit
// it otherwise.
TEST(test_convert_tells_what_it_is_not) {
    static float zeros[64];
    static const int blocks = 2;
    SrNamedTensor tensors[32];
    char names[32][64];
    int n = 0;
    for (int s = 1; s <= 4; s++)
        for (int b = 0; b < blocks; b++, n++) {
            snprintf(names[n], sizeof names[n], "layer%d.%d.conv1.weight", s, b);
            tensors[n] = (SrNamedTensor){names[n], {SR_SHAPE(2, 2, 1, 1), SR_F32, zeros}};
        }
    tensors[n++] = (SrNamedTensor){"conv1.weight", {SR_SHAPE(2, 3, 3, 3), SR_F32, zeros}};
    CHECK_OK(sr_safetensors_save(in_dir(other, "q.safetensors"), tensors, n, NULL, NULL, 0));
    RUN("convert", other, in_dir(path, "q.pth"), "--to", "torchvision", "--only", "trunk");
    expect(0, "9 tensors written");
    CHECK(strstr(result.out, "unlike resnet18)"));
    CHECK(strstr(result.err, "warning: ") &&
          strstr(result.err, "has the names of a resnet18, but conv1 is [2, 3, 3, 3], a resnet18's "
                             "is [64, 3, 7, 7]"));
}

TEST(test_convert_refuses) {
    write_trunk("t.safetensors", 3);
    write_trunk("u.safetensors", 4);
    RUN("convert", in_dir(other, "t.safetensors"), path);
    expect_refused("--force");
    RUN("diff", other, path);
    CHECK_INT(result.code, 1); // nothing was written
    RUN("convert", other, path, "--force");
    CHECK_INT(result.code, 0);
    RUN("diff", other, path);
    CHECK_INT(result.code, 0);
    RUN("convert", other, in_dir(path, "x.pth"), "--to", "tensorflow");
    expect_refused("torchvision, vissl, timm, meta or huggingface");
    RUN("convert", other, path, "--only", "head");
    expect_refused("trunk");
    RUN("convert", other, in_dir(path, "x.onnx"));
    expect_refused(".safetensors");
    RUN("convert", other, dir, "--force");
    expect_refused(dir);
    RUN("convert", FILES "matrix.npy", in_dir(path, "x.pth"), "--to", "vissl");
    expect_refused("no trunk of a known kind");
    CHECK(!sr_file_exists(path));
}

TEST(test_wrong_shapes) {
    char out[160];
    write_trunk("t.safetensors", 0); // holds conv1.weight (4, 3, 1, 1)
    RUN("export", "resnet18", "--weights", path, "--nodes", "layer1", "--out",
        in_dir(out, "o.onnx"), "--size", "32", "--lax");
    expect_refused("of another shape or type: module.conv1.weight (F32 [4, 3, 1, 1] in the file");
    RUN("export", "resnet18", "--weights", path, "--nodes", "layer1", "--out",
        in_dir(out, "o.pth"));
    expect_refused(".onnx");
    RUN("export", "resnet81", "--weights", path, "--nodes", "layer1", "--out",
        in_dir(out, "o.onnx"));
    expect_refused("did you mean 'resnet18'");
    RUN("export", "resnet18", "--nodes", "layer1");
    expect_refused("--weights FILE");
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
SR_TESTS(exchange_verbs, in_folder(test_inspect), in_folder(test_inspect_flags),
         in_folder(test_inspect_as), in_folder(test_inspect_json), in_folder(test_inspect_damaged),
         in_folder(test_checksums), in_folder(test_huge), in_folder(test_diff),
         in_folder(test_convert), in_folder(test_convert_refuses),
         in_folder(test_convert_tells_what_it_is_not), in_folder(test_wrong_shapes))
