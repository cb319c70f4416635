// The contract of data sets: where the bytes or pixels of images and their labels come from.  Each
// data set is a file data/sets/<stem>.c with the descriptor `const SrDataset sr_dataset_<stem>`.
#ifndef SR_DATA_DATASET_H
#define SR_DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "data/image_pool.h"

typedef struct {
    const void *encoded; // bytes of an image file, owned by the pool; NULL: see image
    size_t encoded_bytes;
    SrImage image;    // pixels, owned by the pool; unset if `encoded` is set
    const char *path; // file name for messages; "": the source has no files
} SrSample;
// Takes the image of a sample: opens an encoded one for floats of `channels` channels (0: rgb), and
// turns pixels that a data set gives as rgb into floats.
SrStatus sr_sample_image(const SrSample *sample, int channels, SrImagePool *pool, SrImage *out);

// The keys of DATA.TRAIN or DATA.TEST that a data set reads.  Strings are borrowed.
typedef struct {
    const char *split;      // "TRAIN" or "TEST"
    const char *data_path;  // DATA_PATHS[i]
    const char *label_path; // LABEL_PATHS[i], "" if none
    const char *remove_prefix, *new_prefix;
    int64_t data_limit; // DATA_LIMIT; only `synthetic` reads it, as its length
    int gray_size;      // DEFAULT_GRAY_IMG_SIZE
    bool random_images; // RANDOM_SYNTHETIC_IMAGES
    int random_labels;  // RANDOM_SYNTHETIC_LABELS
    int channels;       // SrPixelForm.channels; a set that gives rgb may leave the floats to others
    uint64_t seed;
} SrDatasetConfig;

// One file of a small example set.  The contract tests write the files into an empty folder and
// open them as DATA.TRAIN.
typedef struct {
    const char *path;   // path below that folder; NULL ends the list
    const char *bytes;  // first bytes of the file; NULL: the file is a picture of h x w
    int n_bytes, zeros; // length of `bytes`, and number of zero bytes after them
    int h, w;           // size in pixels of the picture
} SrExampleFile;
#define SR_EXAMPLE_TEXT(text) .bytes = text, .n_bytes = (int)sizeof(text) - 1

typedef struct {
    SrExampleFile files[6];
    // Paths in `config` are relative to the folder; "." is the folder itself.
    SrDatasetConfig config;
    int64_t images;
    int classes;
} SrDatasetExample;

typedef struct SrDataset {
    const char *name; // entry of DATA_SOURCES, such as "disk_folder"
    const char *help; // description for lists of data sets
    // True: the source reads its labels from LABEL_PATHS.  False: the images bring their labels.
    bool reads_label_path;
    // True: the source makes its images itself and reads no file.
    bool makes_images;
    // Keys of DATA.TRAIN that only this source reads, separated by blanks.  NULL: none.
    const char *keys;
    size_t set_bytes; // size in bytes of an opened set, which the caller allocates
    // Fills a zeroed set.  `close` is called also after a failure and frees what `open` took.
    SrStatus (*open)(const SrDatasetConfig *config, void *set);
    // Frees what the set holds, not the set itself.  NULL: the set holds nothing.
    void (*close)(void *set);
    int64_t (*length)(const void *set); // number of items
    // Reads item i into memory of the pool.  Thread-safe.
    // SR_ERR_IO: the image is bad, and a replacement may take its place.  SR_ERR_RUN: the system
    // failed (disk, descriptors), which ends the run.  SR_ERR_MEMORY: out of memory.
    SrStatus (*read)(const void *set, int64_t i, SrImagePool *pool, SrSample *out);
    // Gives the path of item i's file without opening it, in memory of the pool.  An item of an
    // archive has the path ARCHIVE.tar/MEMBER.  NULL: items have no files.
    SrStatus (*path)(const void *set, int64_t i, SrImagePool *pool, const char **out);
    int64_t (*label)(const void *set, int64_t i); // class of item i; -1: none
    // For several labels per image (VOC): returns (classes) values 1, 0 or -1 (not known) of item
    // i. The set owns them.  A NULL function, or NULL for item 0: every image has one class.
    const int8_t *(*targets)(const void *set, int64_t i);
    int (*classes)(const void *set);                   // number of classes; 0: no labels
    const char *(*class_name)(const void *set, int c); // name of class c; may be NULL
    // Returns the first item of each run, (*n + 1) with the end; the set owns the array.  Items of
    // a run are neighbours on disk, and an epoch reads run by run (sampler.h).  NULL: all items
    // cost the same in any order.
    const int64_t *(*runs)(const void *set, int64_t *n);
    // Tells the samples of the images at a path without opening the set: channels per pixel, and
    // bits of a sample (32: floats).  NULL: the files' headers tell (image_probe.h).
    SrStatus (*samples)(const char *path, int *channels, int *bits);
    // Describes the files that were passed over, by type ("3 .gif, 1 other").  "": none were.
    // NULL: the source passes nothing over.
    const char *(*skipped)(const void *set);
    // Tells whether the path looks like this source's and holds images of the split ("TRAIN",
    // "TEST").  TEST is accepted only if the source itself tells its test images apart.  Used when
    // DATA_SOURCES is empty; looks at names only.  NULL: the source is never inferred.
    bool (*accepts)(const char *path, const char *split);
    const SrDatasetExample *examples; // (n_examples), at least one
    int n_examples;
} SrDataset;

SrStatus sr_dataset_open(const SrDataset *source, const SrDatasetConfig *config, void **set);
void sr_dataset_close(const SrDataset *source, void *set); // set NULL: does nothing
const SrDataset *sr_dataset_at(int i);
SrStatus sr_dataset_find(const char *name, const SrDataset **out);
// Finds the first source whose `accepts` returns true, in the order of the registry.  disk_folder
// is asked last because it takes any folder.  SR_ERR_CONFIG: no source accepts the path.
SrStatus sr_dataset_infer(const char *path, const char *split, const SrDataset **out);

#endif
