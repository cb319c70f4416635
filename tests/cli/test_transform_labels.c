// Tests losses with labels that the transforms make: RotNet trains on any folder of images,
// whatever its classes.
#include <stdio.h>

#include "base/mem.h"
#include "tests/check.h"
#include "tests/data/fixture.h"
#include "tests/program.h"
#include "tests/temp_dir.h"

#define ROTNET "configs/pretrain/rotnet/rotnet_8gpu_resnet.yaml"

static ProgramResult result; // two 64 kB texts: too large for the stack of a test

// Writes eleven images in `classes` folders; 0: in none.
static void write_images(const char *dir, int classes) {
    uint8_t pixels[20 * 24 * 3];
    for (int i = 0; i < 11; i++) {
        char name[48];
        size_t bytes;
        fixture_noise(pixels, sizeof pixels, (uint64_t)i);
        void *png = fixture_png(pixels, 20, 24, 3, &bytes);
        if (classes)
            snprintf(name, sizeof name, "images/c%d/%d.png", i % classes, i);
        else
            snprintf(name, sizeof name, "images/%d.png", i);
        fixture_write(dir, name, png, bytes);
        sr_free(png);
    }
}

static void run(const char *dir, const char *extra) {
    char data[128], out[128];
    snprintf(data, sizeof data, "DATA.TRAIN.DATA_PATHS=[%s/images]", dir);
    snprintf(out, sizeof out, "CHECKPOINT.DIR=%s/run", dir);
    program_run(&result, 0,
                (const char *const[]){ROTNET, data, out, "DATA.TRAIN.BATCHSIZE_PER_REPLICA=4",
                                      "DATA.TRAIN.TRANSFORMS.1.size=32", "OPTIMIZER.num_epochs=1",
                                      "OPTIMIZER.param_schedulers.lr.milestones=[]",
                                      "OPTIMIZER.param_schedulers.lr.values=[0.1]",
                                      "MODEL.TRUNK.RESNETS.WIDTH_MULTIPLIER=0.0625",
                                      "MODEL.TRUNK.RESNETS.DEPTH=18",
                                      "MODEL.HEAD.PARAMS=[[mlp, {dims: [32, 4]}]]", extra, NULL});
}

TEST(test_rotnet) {
    const int classes[] = {5, 0}; // more classes than angles; no classes
    for (int i = 0; i < 2; i++) {
        char dir[64];
        temp_dir_make(dir);
        write_images(dir, classes[i]);
        run(dir, "TEST_MODEL=False");
        if (result.code != 0 || !strstr(result.out, "trained 3 updates"))
            fail_msg("%d classes: exit code %d:\n%s%s", classes[i], result.code, result.out,
                     result.err);
        temp_dir_remove(dir);
    }
}

// The head is checked against the labels that are made, and the test phase against training.
TEST(test_refused) {
    char dir[64], test[160];
    temp_dir_make(dir);
    write_images(dir, 5);
    run(dir, "+DATA.TRAIN.TRANSFORMS.0.num_angles=6");
    CHECK_INT(result.code, 2);
    CHECK(strstr(result.err, "DATA.TRAIN has 6 classes, but output 0 of the model has 4 scores"));
    snprintf(test, sizeof test, "DATA.TEST.DATA_PATHS=[%s/images]", dir);
    run(dir, test);
    CHECK_INT(result.code, 2);
    if (!strstr(result.err, "transforms (ImgRotatePil, ShuffleImgPatches) make the labels"))
        fail_msg("%s", result.err);
    temp_dir_remove(dir);
}

// Jigsaw: the nine patches of an image are rows of one tensor with one label per image, and the
// head concatenates them. Without siamese_collator, nine views of N rows would have another
// order.
TEST(test_jigsaw) {
    static const char config[] =
        "MODEL: {TRUNK: {NAME: resnet, RESNETS: {DEPTH: 18, WIDTH_MULTIPLIER: 0.0625}},\n"
        "  HEAD: {PARAMS: [[mlp, {dims: [32, 8], use_bn: true}], [siamese_concat_view, "
        "{num_towers: 9}], [mlp, {dims: [72, 5]}]]}}\n"
        "LOSS: {name: cross_entropy_multiple_output_single_target}\n"
        "OPTIMIZER: {num_epochs: 1, param_schedulers: {lr: {name: constant, value: 0.1}}}\n"
        "TEST_MODEL: False\n"
        "DATA: {TRAIN: {BATCHSIZE_PER_REPLICA: 4, COLLATE_FUNCTION: siamese_collator,\n"
        "  TRANSFORMS: [{name: Resize, size: [30, 30]}, {name: ToTensor},\n"
        "    {name: ImgPatchesFromTensor, num_patches: 9, patch_jitter: 2},\n"
        "    {name: ShuffleImgPatches, num_permutations: 5}]}}\n";
    char dir[64], file[96], data[128], out[128];
    temp_dir_make(dir);
    write_images(dir, 2);
    fixture_write(dir, "jigsaw.yaml", config, sizeof config - 1);
    snprintf(file, sizeof file, "%s/jigsaw.yaml", dir);
    snprintf(data, sizeof data, "DATA.TRAIN.DATA_PATHS=[%s/images]", dir);
    snprintf(out, sizeof out, "CHECKPOINT.DIR=%s/run", dir);
    program_run(&result, 0, (const char *const[]){file, data, out, NULL});
    if (result.code != 0 || !strstr(result.out, "trained 3 updates"))
        fail_msg("exit code %d:\n%s%s", result.code, result.out, result.err);
    temp_dir_remove(dir);
}

SR_TESTS(transform_labels, unit(test_rotnet), unit(test_refused), unit(test_jigsaw))
