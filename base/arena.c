// Bump allocation in blocks that double up to 256 KiB; a larger request gets a block of exactly its
// size.
#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/number.h"

enum { FIRST_BLOCK = 1024, LARGEST_BLOCK = 256 * 1024, UNIT = alignof(max_align_t) };

// Blocks form a list from the newest to the oldest; only the newest has room.
struct SrArenaBlock {
    SrArenaBlock *older;
    size_t used, bytes;                        // used and total bytes of `data`
    alignas(max_align_t) unsigned char data[]; // zeroed at birth and handed out once
};

// Adds a block and gives up the rest of the previous one.  Requests are small compared with a
// block, and a list of half-empty blocks would have to be searched each time.
static SrArenaBlock *add_block(SrArena *arena, size_t at_least) {
    size_t bytes =
        arena->head ? SR_MIN(2 * arena->head->bytes, (size_t)LARGEST_BLOCK) : FIRST_BLOCK;
    bytes = SR_MAX(bytes, at_least);
    if (bytes > SIZE_MAX - sizeof(SrArenaBlock))
        return NULL;
    if (arena->bound && (arena->bytes > arena->bound || bytes > arena->bound - arena->bytes)) {
        arena->refused = true;
        return NULL;
    }
    SrArenaBlock *block = sr_calloc(1, sizeof *block + bytes);
    if (!block)
        return NULL;
    arena->bytes += bytes;
    block->bytes = bytes;
    block->older = arena->head;
    arena->head = block;
    return block;
}

// One bound keeps every sum below from overflowing: rounding up and the header add less than the
// other half of the address space.
void *sr_arena_alloc(SrArena *arena, size_t bytes) {
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t rounded = (SR_MAX(bytes, (size_t)1) + UNIT - 1) / UNIT * UNIT;
    SrArenaBlock *block = arena->head;
    if (!block || block->bytes - block->used < rounded)
        block = add_block(arena, rounded);
    if (!block)
        return NULL;
    SR_ASSERT(block->used % UNIT == 0 && block->bytes - block->used >= rounded);
    void *p = block->data + block->used;
    block->used += rounded;
    return p;
}

void *sr_arena_copy(SrArena *arena, const void *src, size_t bytes) {
    void *p = sr_arena_alloc(arena, bytes);
    if (p && bytes)
        memcpy(p, src, bytes);
    return p;
}

char *sr_arena_strdup(SrArena *arena, const char *s) {
    return sr_arena_copy(arena, s, strlen(s) + 1);
}

// Measures the text before it allocates: the arena cannot take back an allocation that was too
// large.
char *sr_arena_printf(SrArena *arena, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = sr_number_vprint(NULL, 0, fmt, args);
    va_end(args);
    char *s = len < 0 ? NULL : sr_arena_alloc(arena, (size_t)len + 1);
    if (s)
        sr_number_vprint(s, (size_t)len + 1, fmt, again);
    va_end(again);
    return s;
}

SrStatus sr_arena_failure(const SrArena *arena, const char *path) {
    if (!arena->refused)
        SR_FAIL(SR_ERR_MEMORY, "%s: out of memory", path);
    SR_FAIL(SR_ERR_CONFIG, "%s: the file's contents need more than %zu bytes of memory; refused",
            path, arena->bound);
}

void sr_arena_deinit(SrArena *arena) {
    while (arena->head) {
        SrArenaBlock *older = arena->head->older;
        sr_free(arena->head);
        arena->head = older;
    }
    arena->bytes = 0;
    arena->refused = false;
}
