// Tests the allocator: its counters, and the switch that makes the n-th allocation fail.
#include "base/compiler.h"
#include "base/mem.h"
#include "tests/check.h"

TEST(test_counts) {
    int64_t calls = sr_mem_calls(), live = sr_mem_live();
    void *blocks[] = {sr_alloc(10), sr_calloc(3, 5), sr_strdup("abc"), sr_map(5000),
                      sr_realloc(NULL, 7)};
    CHECK_INT(sr_mem_calls() - calls, 5);
    CHECK_INT(sr_mem_live() - live, 5);
    blocks[0] = sr_realloc(blocks[0], 1000);
    CHECK_INT(sr_mem_calls() - calls, 6);
    CHECK_INT(sr_mem_live() - live, 5); // growing adds no block
    sr_unmap(blocks[3], 5000);
    for (int i = 0; i < SR_COUNT(blocks); i++)
        if (i != 3)
            sr_free(blocks[i]);
    sr_free(NULL);
    sr_unmap(NULL, 100);
    CHECK_INT(sr_mem_live(), live);
    CHECK_INT(sr_mem_calls() - calls, 6);
}

TEST(test_bytes) {
    int64_t before = sr_mem_bytes();
    sr_mem_peak_reset();
    void *a = sr_alloc(1000), *b = sr_map(100000);
    int64_t both = sr_mem_bytes() - before;
    CHECK(both >= 101000 && both < 102000);
    a = sr_realloc(a, 5000);
    CHECK(sr_mem_bytes() - before >= 105000);
    sr_unmap(b, 100000);
    sr_free(a);
    CHECK_INT(sr_mem_bytes(), before);
    CHECK(sr_mem_peak() - before >= 105000);
    sr_mem_peak_reset();
    CHECK_INT(sr_mem_peak(), before);
}

TEST(test_empty_and_impossible) {
    int64_t live = sr_mem_live();
    void *a = sr_alloc(0), *b = sr_calloc(0, 8), *c = sr_map(0);
    CHECK(a && b && c && a != b);
    sr_free(a);
    sr_free(b);
    sr_unmap(c, 0);
    volatile size_t half = SIZE_MAX / 2 + 1; // volatile silences the compiler's warning
    CHECK(!sr_calloc(half, 2));              // the product is 0 in size_t
    CHECK(!sr_alloc(half));
    CHECK_INT(sr_mem_live(), live);
}

TEST(test_map_is_zero_and_aligned) {
    enum { BYTES = 3 << 20 };
    unsigned char *p = sr_map(BYTES);
    CHECK(p && (uintptr_t)p % SR_ALIGN == 0);
    for (int i = 0; i < BYTES; i += 511)
        CHECK_INT(p[i], 0);
    memset(p, 1, BYTES);
    sr_unmap(p, BYTES);
}

TEST(test_fuse) {
    int64_t live = sr_mem_live();
    sr_mem_fail_at(3);
    void *a = sr_alloc(1), *b = sr_alloc(1), *c = sr_alloc(1), *d = sr_alloc(1);
    CHECK(a && b && !c && d); // one allocation fails, later ones succeed
    sr_mem_fail_at(1);
    CHECK(!sr_realloc(a, 100)); // the block stays valid
    sr_mem_fail_at(1);
    sr_mem_fail_at(0);
    char *s = sr_strdup("x");
    CHECK_STR(s, "x");
    sr_mem_fail_at(1);
    CHECK(!sr_map(10));
    sr_free(a);
    sr_free(b);
    sr_free(d);
    sr_free(s);
    CHECK_INT(sr_mem_live(), live);
}

SR_TESTS(mem, unit(test_counts), unit(test_bytes), unit(test_empty_and_impossible),
         unit(test_map_is_zero_and_aligned), unit(test_fuse))
