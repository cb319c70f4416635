// Every input the fuzzer was ever given, as a regression test; inputs that broke something stay here for good.
#include "base/file.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/fuzz/graph_fuzz.h"

#define CORPUS "tests/fuzz/corpus/graph"

static void test_corpus(void **state) {
    (void)state;
    char **names, path[512], *data;
    size_t bytes;
    int n;
    int64_t live = sr_mem_live();
    CHECK_OK(sr_file_list(CORPUS, &names, &n));
    CHECK(n >= 10);
    for (int i = 0; i < n; i++) {
        CHECK_OK(sr_file_join(path, sizeof path, CORPUS, names[i]));
        CHECK_OK(sr_file_read(path, 1 << 20, &data, &bytes));
        CHECK_INT(graph_fuzz((const uint8_t *)data, bytes), 0);
        sr_free(data);
    }
    sr_file_list_free(names, n);
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(graph_fuzz, unit(test_corpus))
