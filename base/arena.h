// A bump allocator for data with one lifetime, such as the names of a graph or the strings of a
// configuration.  Tensors use sr_map instead.  An arena belongs to one thread.
#ifndef SR_BASE_ARENA_H
#define SR_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/status.h"

typedef struct SrArenaBlock SrArenaBlock;
typedef struct {
    SrArenaBlock *head; // newest block; all are freed together
    size_t bytes;       // bytes in all blocks
    size_t bound;       // most bytes of all blocks, for arenas with untrusted input; 0: no bound
    bool refused;       // a request failed at the bound, not for lack of memory
} SrArena;

#define SR_ARENA_INIT \
    { 0 } // an empty arena owns nothing

// Returns zeroed memory, aligned for any type; NULL: memory is out or the bound is reached.
void *sr_arena_alloc(SrArena *arena, size_t bytes);
// The three below return a copy or a text in the arena, and NULL as sr_arena_alloc does.
void *sr_arena_copy(SrArena *arena, const void *src, size_t bytes);
char *sr_arena_strdup(SrArena *arena, const char *s);
char *sr_arena_printf(SrArena *arena, const char *fmt, ...) SR_PRINTF(2, 3);
// Records why a request returned NULL: SR_ERR_CONFIG at the bound, else SR_ERR_MEMORY.  `path`
// names the file whose contents the arena holds.
SrStatus sr_arena_failure(const SrArena *arena, const char *path);
void sr_arena_deinit(SrArena *arena); // frees all blocks; the bound stays

#endif
