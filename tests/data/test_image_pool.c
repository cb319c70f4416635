// Tests the image pool, the bump allocator of a loader thread: alignment, reuse without
// allocation, marks.
#include <string.h>

#include "base/mem.h"
#include "data/image_pool.h"
#include "tests/check.h"

TEST(test_alignment_and_growth) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    char *last = NULL;
    for (size_t n = 1; n < 8u << 20; n = n * 3 + 1) {
        char *p = sr_image_pool_take(pool, n);
        CHECK(p != NULL && (uintptr_t)p % 64 == 0 && p != last);
        memset(p, 1, n);
        last = p;
    }
    CHECK(sr_image_pool_take(pool, SIZE_MAX) == NULL);
    CHECK(sr_image_pool_take(pool, SIZE_MAX / 2) == NULL);
    sr_image_pool_free(pool);
    sr_image_pool_free(NULL);
}

static void take_some(SrImagePool *pool) {
    sr_image_pool_reset(pool);
    for (int i = 1; i < 40; i++)
        CHECK(sr_image_pool_take(pool, (size_t)i * 100000) != NULL);
}

TEST(test_steady_state_allocates_nothing) {
    SrImagePool *pool;
    int64_t live = sr_mem_live();
    CHECK_OK(sr_image_pool_new(&pool));
    take_some(pool);
    take_some(pool); // the blocks of the first round were merged into one
    int64_t calls = sr_mem_calls();
    for (int i = 0; i < 5; i++)
        take_some(pool);
    CHECK_INT(sr_mem_calls(), calls);
    sr_image_pool_free(pool);
    CHECK_INT(sr_mem_live(), live);
}

// Memory for one huge image goes back to the system; memory for a large photo is kept.
TEST(test_gives_back) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    int64_t before = sr_mem_bytes();
    take_some(pool);
    sr_image_pool_reset(pool);
    int64_t usual = sr_mem_bytes() - before;
    CHECK(usual > 78000000 && usual < 200000000);
    // The pages are never touched, so they cost no memory
    CHECK(sr_image_pool_take(pool, (size_t)1 << 30) != NULL);
    CHECK(sr_mem_bytes() - before >= 1 << 30);
    sr_image_pool_reset(pool);
    CHECK(sr_mem_bytes() - before < usual);
    take_some(pool);
    take_some(pool);
    int64_t calls = sr_mem_calls();
    take_some(pool);
    CHECK_INT(sr_mem_calls(), calls);
    sr_image_pool_free(pool);
}

TEST(test_rewind) {
    SrImagePool *pool;
    CHECK_OK(sr_image_pool_new(&pool));
    char *kept = sr_image_pool_take(pool, 100);
    strcpy(kept, "kept");
    size_t mark = sr_image_pool_mark(pool);
    char *scratch = sr_image_pool_take(pool, 1000);
    sr_image_pool_rewind(pool, mark);
    CHECK(sr_image_pool_take(pool, 10) == scratch);
    // Rewinding to a mark keeps a block that was begun after it: the pointers that were kept stay
    // valid.
    mark = sr_image_pool_mark(pool);
    CHECK(sr_image_pool_take(pool, 64u << 20) != NULL);
    sr_image_pool_rewind(pool, mark);
    CHECK(sr_image_pool_take(pool, 10) != NULL);
    CHECK_STR(kept, "kept");
    sr_image_pool_free(pool);
}

TEST(test_out_of_memory) {
    SrImagePool *pool;
    sr_mem_fail_at(1);
    CHECK_FAILS(sr_image_pool_new(&pool), SR_ERR_MEMORY, "image pool");
    CHECK_OK(sr_image_pool_new(&pool));
    sr_mem_fail_at(1);
    SrImage image;
    CHECK_FAILS(sr_image_new(pool, 10, 10, &image), SR_ERR_MEMORY, "10 x 10");
    CHECK_OK(sr_image_new(pool, 10, 10, &image));
    CHECK_INT(image.H * image.W, 100);
    sr_image_pool_free(pool);
}

SR_TESTS(image_pool, unit(test_alignment_and_growth), unit(test_steady_state_allocates_nothing),
         unit(test_gives_back), unit(test_rewind), unit(test_out_of_memory))
