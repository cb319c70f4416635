// Decoding in processes of their own, which can only read and write the socket to this program:
// DATA.SANDBOX, and --sandbox of verbs on folders.  An image that takes over its decoder gains a
// process without files, network and other system calls, and can send wrong pixels.
//
// Each image pool, and so each thread that decodes, has a process while the pool lives.  Pixels are
// the same as without.
#ifndef SR_DATA_SANDBOX_H
#define SR_DATA_SANDBOX_H

#include "data/image_pool.h"

const char *sr_sandbox_name(void); // library that locks the processes: "libseccomp" or "nothing"
// From now on all images of this process are decoded so.  SR_ERR_CONFIG: the build has no
// libseccomp.
SrStatus sr_sandbox_use(void);
void sr_sandbox_leave(void); // images are decoded in this process again (tests)
bool sr_sandbox_used(void);

// Decodes an encoded image into pixels of the pool; errors as in sr_image_finish.
typedef SrStatus (*SrDecode)(SrImage *image, int reduce, SrImagePool *pool);
// Does what `decode` does, in the pool's process.  SR_ERR_IO: also an image whose decoding ended
// the process or took a minute; the next image gets a new process.
SrStatus sr__sandbox_decode(SrDecode decode, SrImage *image, int reduce, SrImagePool *pool);

#endif
