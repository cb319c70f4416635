// A bump allocator for what lives and dies together: a graph's names, a config's strings.
// Not for tensors (sr_map) and not thread-safe.
#ifndef SR_BASE_ARENA_H
#define SR_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/status.h"

typedef struct SrArenaBlock SrArenaBlock;
typedef struct {
    SrArenaBlock *head; // newest block; all are freed together
    size_t bytes;       // in all blocks
    size_t bound; // what they may take, for arenas that hold what strangers wrote; 0: anything
    bool refused; // a request failed because of the bound, not of the system
} SrArena;

#define SR_ARENA_INIT \
    { 0 } // an empty arena owns nothing

void *sr_arena_alloc(SrArena *arena,
                     size_t bytes); // zeroed, aligned for any type; NULL if memory is out
void *sr_arena_copy(SrArena *arena, const void *src, size_t bytes);
char *sr_arena_strdup(SrArena *arena, const char *s);
char *sr_arena_printf(SrArena *arena, const char *fmt, ...) SR_PRINTF(2, 3);
// Why a request gave nothing: SR_ERR_CONFIG when it was the bound, else SR_ERR_MEMORY.  `path` names
// the file whose contents the arena holds.
SrStatus sr_arena_failure(const SrArena *arena, const char *path);
void sr_arena_deinit(SrArena *arena); // empty again; the bound stays

#endif
