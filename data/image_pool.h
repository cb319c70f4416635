// Scratch memory of one loader thread, for images and the bytes of their files.  It grows with the
// first images and is reused afterwards.  A pool is not thread-safe.
#ifndef SR_DATA_IMAGE_POOL_H
#define SR_DATA_IMAGE_POOL_H

#include "base/status.h"
#include "data/image.h"

typedef struct SrImagePool SrImagePool;
SrStatus sr_image_pool_new(SrImagePool **out);
void sr_image_pool_free(SrImagePool *pool);
void sr_image_pool_reset(SrImagePool *pool); // takes back all memory that was handed out
// Returns memory aligned to 64 bytes, valid until the next reset.  NULL: out of memory.
void *sr_image_pool_take(SrImagePool *pool, size_t bytes);
// A mark names a position of the pool; rewinding to it gives back all that was taken after it.
// Several marks are rewound in the reverse of the order in which they were made.
size_t sr_image_pool_mark(const SrImagePool *pool);
void sr_image_pool_rewind(SrImagePool *pool, size_t mark);

// Gives the pool an object to free with itself: its decoder's process (sandbox.h).  At most one.
void sr_image_pool_attach(SrImagePool *pool, void *companion, void (*free_it)(void *companion));
void *sr_image_pool_companion(const SrImagePool *pool); // NULL: none

// Makes an image of h x w with rgb in the pool and pixels not set.  SR_ERR_IO (a bad image): the
// size is above SR_IMAGE_MAX_PIXELS.
SrStatus sr_image_new(SrImagePool *pool, int h, int w, SrImage *out);

#endif
