// Readers of weights never hold more memory than the size of the file plus 64 MiB. Each test
// makes a small file that would unfold to much more.
#include "formats/weights/weights.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text/text.h"
#include "formats/weights/save.h"
#include "formats/weights/zip_write.h"
#include "tests/check.h"
#include "tests/formats/hand_file.h"
#include "tests/formats/weights_bound.h"

// ---- safetensors --------------------------------------------------------------------------------

static SrStatus open_safetensors(const SrText *header) {
    SrText file = SR_TEXT_INIT;
    hand_file_number(&file, header->len, 8);
    sr_text_addn(&file, header->s, header->len);
    hand_file_write(&file);
    return weights_bound_check(hand_file_path, NULL);
}

TEST(test_many_tensors) {
    SrText header = SR_TEXT_INIT;
    for (int i = 0; i < 99999; i++)
        sr_text_printf(&header, "%c\"%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                       i ? ',' : '{', i);
    sr_text_add(&header, "}");
    CHECK_OK(open_safetensors(&header));
    sr_text_deinit(&header);
}

// A header may have 100 MB, and jansson takes 40 bytes for each "0," and the tree three times as
// much.
TEST(test_many_values) {
    SrText header = SR_TEXT_INIT;
    sr_text_add(&header, "{\"a\":{\"x\":[0");
    for (int i = 0; i < 1500000; i++)
        sr_text_add(&header, ",0");
    sr_text_add(&header, "]}}");
    CHECK_INT(open_safetensors(&header), SR_ERR_CONFIG);
    CHECK(strstr(sr_status_message(), "JSON values"));
    sr_text_deinit(&header);
    sr_text_add(&header, "{\"__metadata__\":{");
    for (int i = 0; i < 65000; i++)
        sr_text_printf(&header, "%s\"%x\":\"%060d\"", i ? "," : "", i, i);
    sr_text_add(&header, "}}");
    CHECK_INT(open_safetensors(&header), SR_ERR_CONFIG); // 4 MiB
    CHECK(strstr(sr_status_message(), "JSON member"));
    sr_text_deinit(&header);
    sr_text_add(&header, "{\"__metadata__\":{");
    for (int i = 0; i < 65000; i++)
        sr_text_printf(&header, "%s\"%x\":\"%040d\"", i ? "," : "", i, i);
    sr_text_add(&header, "}}");
    CHECK_OK(open_safetensors(&header));
    sr_text_deinit(&header);
}

// ---- pickles ------------------------------------------------------------------------------------

static SrStatus open_pickle(const SrText *pickle) {
    SrZipWriter z;
    CHECK_OK(sr_zip_begin(&z, hand_file_path));
    CHECK_OK(sr_zip_add(&z, "archive/data.pkl", NULL, 0, pickle->s, pickle->len));
    CHECK_OK(sr_zip_commit(&z));
    return weights_bound_check(hand_file_path, NULL);
}

static void repeat(SrText *out, const char *s, int n) {
    for (int i = 0; i < n; i++)
        sr_text_add(out, s);
}

TEST(test_pickles) {
    SrText p = SR_TEXT_INIT;
    repeat(&p, "N", 1 << 20); // 24 bytes on the stack for each byte of the file
    sr_text_add(&p, "N.");
    CHECK_INT(open_pickle(&p), SR_ERR_CONFIG);
    sr_text_deinit(&p);
    sr_text_add(&p, "](");
    repeat(&p, "N", 1000000); // a list of as many pointers, twice while it grows
    sr_text_add(&p, "e.");
    (void)open_pickle(&p);
    sr_text_deinit(&p);
    sr_text_add(&p, "](");
    for (int i = 0; i < 700000; i++)
        sr_text_addn(&p, (char[]){']', 'r', (char)i, (char)(i >> 8), (char)(i >> 16), 0}, 6);
    sr_text_add(&p, "e."); // 700000 empty lists, each in the memo
    (void)open_pickle(&p);
    sr_text_deinit(&p);
    sr_text_add(&p, "]r");
    sr_text_addn(&p, "\377\377\17\0.", 5); // a memo of 8 MiB requested in 6 bytes
    CHECK_INT(open_pickle(&p), SR_ERR_CONFIG);
    CHECK(strstr(sr_status_message(), "a memo number that is out of range"));
    sr_text_deinit(&p);
    // Each string is slightly larger than half of an arena's block.
    for (int block = 0; block < 200; block++) {
        sr_text_addn(&p, "X\20\0\2\0", 5);
        repeat(&p, "0123456789abcdef", 0x20010 / 16);
        sr_text_add(&p, "0");
    }
    sr_text_add(&p, "N.");
    (void)open_pickle(&p);
    sr_text_deinit(&p);
}

// ---- archives -----------------------------------------------------------------------------------

TEST(test_many_entries) {
    SrZipWriter z;
    char name[32];
    CHECK_OK(sr_zip_begin(&z, hand_file_path));
    for (int i = 0; i < 120000; i++) {
        snprintf(name, sizeof name, "%x.npy", i);
        CHECK_OK(sr_zip_add(&z, name, NULL, 0, "", 0));
    }
    CHECK_OK(sr_zip_commit(&z));
    CHECK_INT(weights_bound_check(hand_file_path, NULL), SR_ERR_CONFIG);
}

TEST(test_bomb) {
    snprintf(hand_file_path, sizeof hand_file_path, "tests/formats/files/bomb.npz");
    CHECK_OK(weights_bound_check(hand_file_path,
                                 NULL)); // opening succeeds; reading the tensor is refused
}

#define in_folder(f) cmocka_unit_test_setup_teardown(f, hand_file_begin, hand_file_end)
SR_TESTS(weights_memory, in_folder(test_many_tensors), in_folder(test_many_values),
         in_folder(test_pickles), in_folder(test_many_entries), in_folder(test_bomb))
