// Tests arenas: aligned and zeroed memory, no overlap, large blocks, failures of allocation.
#include "base/arena.h"
#include "base/mem.h"
#include "tests/check.h"

TEST(test_blocks_do_not_overlap) {
    enum { N = 2000 };
    static unsigned char *blocks[N];
    int64_t live = sr_mem_live();
    SrArena arena = SR_ARENA_INIT;
    for (int i = 0; i < N; i++) {
        size_t bytes = (size_t)(i * 37 % 301);
        blocks[i] = sr_arena_alloc(&arena, bytes);
        CHECK(blocks[i] && (uintptr_t)blocks[i] % _Alignof(max_align_t) == 0);
        for (size_t j = 0; j < bytes; j++)
            CHECK_INT(blocks[i][j], 0);
        memset(blocks[i], i & 0xFF, bytes);
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i * 37 % 301; j++)
            CHECK_INT(blocks[i][j], i & 0xFF);
    CHECK(sr_mem_live() - live < 12); // blocks grow, so 300 kB take a handful of them
    sr_arena_deinit(&arena);
    CHECK_INT(sr_mem_live(), live);
    CHECK(!arena.head);
}

TEST(test_large_requests) {
    SrArena arena = SR_ARENA_INIT;
    char *small = sr_arena_strdup(&arena, "small");
    char *large = sr_arena_alloc(&arena, 1 << 20);
    CHECK(small && large);
    memset(large, 7, 1 << 20);
    CHECK_STR(small, "small");
    volatile size_t too_much = SIZE_MAX - 8;
    CHECK(!sr_arena_alloc(&arena, too_much));
    CHECK(!sr_arena_alloc(&arena, too_much / 2));
    sr_arena_deinit(&arena);
}

TEST(test_bound) {
    SrArena arena = {.bound = 10000};
    CHECK(sr_arena_alloc(&arena, 100) && sr_arena_alloc(&arena, 5000));
    CHECK(!sr_arena_alloc(&arena, 5000) && arena.refused && arena.bytes <= 10000);
    CHECK_FAILS(sr_arena_failure(&arena, "f"), SR_ERR_CONFIG, "f: the file's contents need more");
    sr_arena_deinit(&arena);
    sr_mem_fail_at(1);
    CHECK(!sr_arena_alloc(&arena, 4000)); // the arena is empty again, so this asks the system
    sr_mem_fail_at(0);
    CHECK_FAILS(sr_arena_failure(&arena, "f"), SR_ERR_MEMORY, "f: out of memory");
    sr_arena_deinit(&arena);
}

TEST(test_strings) {
    SrArena arena = SR_ARENA_INIT;
    CHECK_STR(sr_arena_printf(&arena, "%s-%03d", "a", 7), "a-007");
    char *empty = sr_arena_strdup(&arena, "");
    CHECK_STR(empty, "");
    CHECK(sr_arena_copy(&arena, NULL, 0));
    sr_arena_deinit(&arena);
    sr_arena_deinit(&arena); // a second deinit is allowed
}

TEST(test_out_of_memory) {
    SrArena arena = SR_ARENA_INIT;
    sr_mem_fail_at(1);
    CHECK(!sr_arena_strdup(&arena, "x"));
    sr_mem_fail_at(1);
    CHECK(!sr_arena_printf(&arena, "x"));
    CHECK_STR(sr_arena_strdup(&arena, "then again"), "then again");
    sr_arena_deinit(&arena);
}

SR_TESTS(arena, unit(test_blocks_do_not_overlap), unit(test_large_requests), unit(test_bound),
         unit(test_strings), unit(test_out_of_memory))
