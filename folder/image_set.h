// The images that a path stands for: a folder, a list of paths (.txt), a data set such as CIFAR-10
// or IDX, tar shards.  Gives names, classes and contents; features are folder/embedder.h's.
#ifndef SR_FOLDER_IMAGE_SET_H
#define SR_FOLDER_IMAGE_SET_H

#include "data/dataset.h"

typedef struct {
    const SrDataset *source;
    void *set;
    char path[4096];
    int64_t n;
    int classes; // 0: no labels
} SrImageSet;

// Opens what is at `path`, without opening images.  SR_ERR_CONFIG: there is nothing, or no image.
SrStatus sr_image_set_open(const char *path, SrImageSet *out);
void sr_image_set_close(SrImageSet *images); // legal for a zeroed struct

// Gives the name of item i in memory of the pool: its path, ARCHIVE.tar/MEMBER, or "image 17" in a
// set without files.
SrStatus sr_image_set_name(const SrImageSet *images, int64_t i, SrImagePool *pool,
                           const char **out);
// Reads item i into memory of the pool, still encoded if it is a file.  SR_ERR_IO: the image is
// bad.
SrStatus sr_image_set_read(const SrImageSet *images, int64_t i, SrImagePool *pool, SrImage *out);
// Decodes item i in memory of the pool.  SR_ERR_IO: the image is bad.
SrStatus sr_image_set_decode(const SrImageSet *images, int64_t i, SrImagePool *pool, SrImage *out);
int64_t sr_image_set_label(const SrImageSet *images, int64_t i); // class, or -1
const char *sr_image_set_class(const SrImageSet *images, int c); // name; "" if it has none

// Writes the path of a picture that is made of an image: FOLDER/000017_hat_3.png for hat/3.jpg.
#define SR_PICTURE_PATH_BYTES 4096
void sr_image_set_picture_path(const char *folder, const char *name, int64_t i,
                               char out[SR_PICTURE_PATH_BYTES]);

// Gives size in bytes and time of the last change (nanoseconds since 1970) of the file of `name`,
// for a member those of its archive.  Both 0: there is no such file.  SR_ERR_IO: the system cannot
// tell.
SrStatus sr_image_set_stat(const char *name, int64_t *bytes, int64_t *mtime);

#endif
