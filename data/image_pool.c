// Scratch memory of one loader thread: a bump allocator.  A reset merges its blocks into one of up
// to KEEP_BYTES, so that after the first large images nothing is asked from the system.
//
// The pool is not thread-safe.  Memory goes back by a reset or by rewinding to a mark.
#include "data/image_pool.h"

#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"

#define FIRST_BYTES ((size_t)1 << 20)
// A pool that one huge image has filled gives that memory back.  Such images are rare, and decoding
// one takes ten times as long as asking for its memory.
#define KEEP_BYTES ((size_t)128 << 20)
#define HEADER_BYTES ((size_t)SR_ALIGN) // keeps the first piece aligned

typedef struct Block {
    struct Block *older;
    size_t cap, used; // bytes after the header: capacity, and number in use
    size_t before;    // bytes used in all older blocks, so that a mark is one number
} Block;

struct SrImagePool {
    Block *head; // newest block; memory is taken from this one only
    size_t peak; // most bytes in use since the last reset
    void *companion;
    void (*free_companion)(void *companion); // NULL: there is none
};

// Blocks are large and rare: they come from the system directly, in huge pages if it has them.
static Block *block_new(size_t cap) {
    Block *block = sr_map(HEADER_BYTES + cap);
    if (block)
        block->cap = cap;
    return block;
}

static void blocks_free(Block *block) {
    while (block) {
        Block *older = block->older;
        sr_unmap(block, HEADER_BYTES + block->cap);
        block = older;
    }
}

SrStatus sr_image_pool_new(SrImagePool **out) {
    *out = sr_calloc(1, sizeof **out);
    if (!*out)
        return sr_out_of_memory("an image pool");
    return SR_OK;
}

void sr_image_pool_free(SrImagePool *pool) {
    if (!pool)
        return;
    blocks_free(pool->head);
    if (pool->free_companion)
        pool->free_companion(pool->companion);
    sr_free(pool);
}

void sr_image_pool_attach(SrImagePool *pool, void *companion, void (*free_it)(void *companion)) {
    SR_ASSERT(!pool->free_companion);
    pool->companion = companion;
    pool->free_companion = free_it;
}

void *sr_image_pool_companion(const SrImagePool *pool) { return pool->companion; }

void sr_image_pool_reset(SrImagePool *pool) {
    Block *head = pool->head;
    size_t peak = pool->peak, total = 0;
    pool->peak = 0;
    if (!head)
        return;
    for (const Block *b = head; b; b = b->older)
        total += b->cap;
    if (head->older || total > KEEP_BYTES) {
        blocks_free(head);
        // NULL does no harm: the next take tries a smaller block.
        pool->head = head = peak > KEEP_BYTES ? NULL : block_new(SR_MIN(total, KEEP_BYTES));
    }
    if (head)
        head->used = 0;
}

// Blocks at least double, so a pool of any size is reached in a few steps.
void *sr_image_pool_take(SrImagePool *pool, size_t bytes) {
    if (bytes > SIZE_MAX / 4)
        return NULL;
    size_t need = (bytes + SR_ALIGN - 1) / SR_ALIGN * SR_ALIGN;
    Block *head = pool->head;
    if (!head || head->cap - head->used < need) {
        size_t cap = SR_MAX(need, head ? 2 * head->cap : FIRST_BYTES);
        Block *block = block_new(cap);
        if (!block)
            return NULL;
        block->older = head;
        block->before = head ? head->before + head->used : 0;
        pool->head = head = block;
    }
    unsigned char *piece = (unsigned char *)head + HEADER_BYTES + head->used;
    SR_ASSERT(pool->head->cap - pool->head->used >= need && (uintptr_t)piece % SR_ALIGN == 0);
    head->used += need;
    pool->peak = SR_MAX(pool->peak, head->before + head->used);
    return piece;
}

size_t sr_image_pool_mark(const SrImagePool *pool) {
    return pool->head ? pool->head->before + pool->head->used : 0;
}

void sr_image_pool_rewind(SrImagePool *pool, size_t mark) {
    SR_ASSERT(mark <= sr_image_pool_mark(pool));
    // A block begun after the mark stays until the reset; that happens at the first images only.
    if (pool->head && mark >= pool->head->before)
        pool->head->used = mark - pool->head->before;
}

SrStatus sr_image_new(SrImagePool *pool, int h, int w, SrImage *out) {
    // An image of 1 x 65,500 pixels with its shorter side resized to 224 would take 10 GB.
    if ((int64_t)h * w > SR_IMAGE_MAX_PIXELS)
        SR_FAIL(SR_ERR_IO,
                "the image would become %d x %d pixels, expected at most %d; it is too long for "
                "its width",
                w, h, SR_IMAGE_MAX_PIXELS);
    *out = (SrImage){.H = h, .W = w, .rgb = sr_image_pool_take(pool, (size_t)h * (size_t)w * 3)};
    SR_TRY_MEMORY(out->rgb, "an image of %d x %d", w, h);
    return SR_OK;
}
