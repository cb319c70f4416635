// Tests reading weights from files that PyTorch 1.13 and NumPy wrote (tests/formats/files), and
// from damaged ones: for every cut and a sweep of flipped bytes, reading succeeds or fails with
// an error.
#include "formats/weights/weights.h"

#include "formats/names/naming.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/failures.h"
#include "tests/formats/hand_file.h"

#define FILES "tests/formats/files/"

static void check_nested(const char *path, SrWeightsFormat format) {
    SrWeights w;
    char shape[SR_SHAPE_TEXT_BYTES];
    CHECK_OK(sr_weights_open(&w, path));
    CHECK_INT(w.format, format);
    CHECK_INT(w.n, 9);
    CHECK_STR(w.tensors[0].name, "state_dict.module.fc.weight");
    CHECK_STR(sr_shape_text(w.tensors[0].shape, shape, sizeof shape), "[2, 3]");
    CHECK_NEAR(hand_file_element(&w, "state_dict.module.fc.weight", 4), 4, 0);
    CHECK_NEAR(hand_file_element(&w, "state_dict.module.n", 0), 7, 0);
    CHECK_NEAR(hand_file_element(&w, "optimizer.state.0.momentum_buffer", 1), 1, 0);
    CHECK_NEAR(hand_file_element(&w, "t", 1), 3, 0); // shape (3, 2), strides (1, 3)
    CHECK_NEAR(hand_file_element(&w, "t", 4), 2, 0);
    CHECK_NEAR(hand_file_element(&w, "h", 1), -0.5, 0);
    CHECK_NEAR(hand_file_element(&w, "h", 2), 65504, 0);
    CHECK_NEAR(hand_file_element(&w, "h", 3), 0x1p-24, 0); // the smallest subnormal number
    CHECK_NEAR(hand_file_element(&w, "bf", 1), -2, 0);
    CHECK_NEAR(hand_file_element(&w, "b", 0), 1, 0);
    CHECK_NEAR(hand_file_element(&w, "e", 3), 3, 0); // an expanded tensor, with strides 0
    CHECK_STR(sr_weights_meta(&w, "epoch"), "3");
    CHECK_STR(sr_weights_meta(&w, "best"), "0.5");
    CHECK_STR(sr_weights_meta(&w, "args.name"), "x");
    CHECK_STR(sr_weights_meta(&w, "big"), "1099511627776");
    CHECK_STR(sr_weights_meta(&w, "neg"), "-3");
    CHECK_STR(sr_weights_meta(&w, "none"), "None");
    CHECK_STR(sr_weights_meta(&w, "optimizer.param_groups.0.params"), "[0, 1]");
    sr_weights_close(&w);
}

TEST(test_torch) {
    check_nested(FILES "nested.pth", SR_WEIGHTS_TORCH);
    check_nested(FILES "nested_protocol4.pth", SR_WEIGHTS_TORCH);
    check_nested(FILES "nested_legacy.pth", SR_WEIGHTS_TORCH_LEGACY);
}

TEST(test_numpy) {
    const char *const paths[] = {FILES "arrays.npz", FILES "arrays_deflated.npz"};
    SrWeights w;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(sr_weights_open(&w, paths[i]));
        CHECK_INT(w.n, 3);
        CHECK_STR(w.tensors[0].name, "w");
        CHECK_NEAR(hand_file_element(&w, "w", 11), 11, 0);
        CHECK_NEAR(hand_file_element(&w, "b", 2), 2, 0);
        CHECK_NEAR(hand_file_element(&w, "f", 1), 1, 0); // column-major in the file
        CHECK_NEAR(hand_file_element(&w, "f", 3), 3, 0);
        sr_weights_close(&w);
    }
    CHECK_OK(sr_weights_open(&w, FILES "matrix.npy"));
    CHECK_INT(w.format, SR_WEIGHTS_NPY);
    CHECK_NEAR(hand_file_element(&w, "array", 5), 5, 0);
    sr_weights_close(&w);
}

TEST(test_refused) {
    SrWeights w;
    CHECK_FAILS(sr_weights_open(&w, FILES "foreign_global.pth"), SR_ERR_CONFIG, "posix.system");
    CHECK_FAILS(sr_weights_open(&w, FILES "foreign_global_legacy.pth"), SR_ERR_CONFIG,
                "posix.system");
    CHECK_FAILS(sr_weights_open(&w, FILES "recursive.pth"), SR_ERR_CONFIG, "nested deeper");
    CHECK_FAILS(sr_weights_open(&w, FILES "laughs.pth"), SR_ERR_CONFIG,
                "more values than its bytes");
    CHECK_FAILS(sr_weights_open(&w, FILES "objects.npy"), SR_ERR_CONFIG, "element type");
    CHECK_FAILS(sr_weights_open(&w, FILES "big_endian.npy"), SR_ERR_CONFIG, "element type");
    CHECK_FAILS(sr_weights_open(&w, FILES "truncated.pth"), SR_ERR_CONFIG, "truncated");
    CHECK_FAILS(sr_weights_open(&w, FILES), SR_ERR_CONFIG, "a directory");
    CHECK_FAILS(sr_weights_open(&w, FILES "absent.pth"), SR_ERR_CONFIG, "no such file");
    CHECK_FAILS(sr_weights_open(&w, "Makefile"), SR_ERR_CONFIG, "not a weights file");
}

TEST(test_bomb) {
    SrWeights w;
    SrTensor t;
    CHECK_OK(sr_weights_open(&w, FILES "bomb.npz"));
    CHECK_FAILS(sr_weights_read(&w, 0, &t), SR_ERR_CONFIG, "would need 72000128 bytes");
    CHECK_INT(w.scratch_bytes, 0);
    sr_weights_close(&w);
}

// Opens the file and reads all tensors. Both may fail, but must not crash or leak.
static void read_all(const char *path) {
    SrWeights w;
    SrTensor t;
    int64_t live = sr_mem_live();
    SrStatus status = sr_weights_open(&w, path);
    CHECK(status == SR_OK || (status == SR_ERR_CONFIG && *sr_status_message()));
    for (int i = 0; status == SR_OK && i < w.n; i++)
        (void)sr_weights_read(&w, i, &t);
    if (status == SR_OK)
        sr_weights_close(&w);
    CHECK_INT(sr_mem_live(), live);
}

static void sweep(const char *path) {
    char *data, name[] = "/tmp/sslrun-weights-XXXXXX";
    size_t bytes;
    int fd = mkstemp(name);
    CHECK(fd >= 0);
    CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
    for (size_t at = 0; at < bytes; at += 7) {
        char saved = data[at];
        data[at] = (char)~saved;
        CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
        read_all(name);
        data[at] = saved;
        CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, data, at, 0) == (ssize_t)at);
        read_all(name);
    }
    close(fd);
    unlink(name);
    sr_free(data);
}

TEST(test_damaged) {
    sweep(FILES "nested.pth");
    sweep(FILES "nested_legacy.pth");
    sweep(FILES "arrays.npz");
    sweep(FILES "arrays_deflated.npz");
    sweep(FILES "matrix.npy");
}

static SrStatus read_whole(void *path) {
    SrWeights w;
    SrTensor t;
    SrNaming naming;
    int checked;
    SR_TRY(sr_weights_open(&w, path));
    SrStatus status = sr_weights_verify(&w, &checked);
    for (int i = 0; status == SR_OK && i < w.n; i++)
        status = sr_weights_read(&w, i, &t);
    if (status == SR_OK)
        status = sr_naming_open(&w, &naming);
    sr_weights_close(&w);
    return status;
}

TEST(test_out_of_memory) {
    static const char *const files[] = {FILES "nested.pth",           FILES "nested_legacy.pth",
                                        FILES "nested_protocol4.pth", FILES "tiny.pth",
                                        FILES "matrix.npy",           FILES "arrays.npz",
                                        FILES "arrays_deflated.npz"};
    for (int i = 0; i < SR_COUNT(files); i++)
        CHECK(fail_allocations(read_whole, (void *)(uintptr_t)files[i]) > 0);
}

SR_TESTS(weights_files, unit(test_torch), unit(test_numpy), unit(test_refused), unit(test_bomb),
         unit(test_damaged), unit(test_out_of_memory))
