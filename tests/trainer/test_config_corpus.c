// What the fuzzer once found hard, kept: every file of tests/fuzz/corpus/config through the loader.
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/trainer/config_input.h"

static void test_corpus(void **state) {
    (void)state;
    static const char folder[] = "tests/fuzz/corpus/config";
    char **names = NULL;
    int n = 0;
    CHECK_OK(sr_file_list(folder, &names, &n));
    CHECK(n > 0);
    sr_log_set_level(SR_LOG_ERROR); // thousands of lines about ignored keys help nobody
    for (int i = 0; i < n; i++) {
        char path[1024], *data = NULL;
        size_t bytes = 0;
        CHECK_OK(sr_file_join(path, sizeof path, folder, names[i]));
        CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
        config_input_try(data, bytes);
        sr_free(data);
    }
    sr_log_set_level(SR_LOG_INFO);
    sr_file_list_free(names, n);
}

SR_TESTS(config_corpus, unit(test_corpus))
