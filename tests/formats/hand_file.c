#include "tests/formats/hand_file.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "tests/check.h"
#include "tests/formats/weights_bound.h"
#include "tests/temp_dir.h"

char hand_file_path[128];
static char dir[64];

int hand_file_begin(void **state) {
    (void)state;
    temp_dir_make(dir);
    snprintf(hand_file_path, sizeof hand_file_path, "%s/file", dir);
    return 0;
}

int hand_file_end(void **state) {
    (void)state;
    temp_dir_remove(dir);
    return 0;
}

void hand_file_number(SrText *out, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++)
        sr_text_addn(out, (char[]){i < 8 ? (char)(v >> (8 * i)) : 0}, 1);
}

void hand_file_write(SrText *text) {
    CHECK_OK(sr_file_write_text(hand_file_path, text));
    sr_text_deinit(text);
}

void hand_file_refuse(const char *message) {
    SrStatus status;
    weights_bound_check(hand_file_path, &status);
    if (status != SR_ERR_CONFIG || !strstr(sr_status_message(), message) ||
        !strstr(sr_status_message(), hand_file_path))
        fail_msg("status %d, \"%s\", expected \"%s\"", (int)status, sr_status_message(), message);
}

double hand_file_element(SrWeights *w, const char *name, int64_t i) {
    SrTensor t = {0};
    double out = 0;
    int at = sr_weights_find(w, name);
    CHECK(at >= 0);
    CHECK_OK(sr_weights_read(w, at, &t));
    sr_weights_doubles(&t, i, 1, &out);
    return out;
}
