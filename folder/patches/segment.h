// Segments of images from the features of their patches, without labels: the main directions of
// all patches as colours (Oquab et al., "DINOv2", TMLR 2024, section 7.5), and clusters.
//
// One basis and one set of clusters serve all images, so that a colour means the same everywhere.
// Results do not depend on the number of threads.
#ifndef SR_FOLDER_PATCHES_SEGMENT_H
#define SR_FOLDER_PATCHES_SEGMENT_H

#include "folder/patches/patch_source.h"

#define SR_SEGMENT_CLUSTERS 64                // most clusters
#define SR_SEGMENT_MEMORY ((size_t)256 << 20) // bytes of patches that a fit takes

// Values of the patches of one image; `channels` numbers for each of rows x columns patches.
// map NULL: the image cannot be read.
typedef SrStatus (*SrEachMap)(void *arg, int64_t image, const float *map, int channels);

typedef struct {
    int64_t images, bad; // images; those that cannot be read
    int64_t patches;     // that the basis or the clusters were fitted to
    double share;        // of the variance that the three directions hold, 0 to 1
} SrSegmentReport;

// Computes the three main directions as colours: a map (rows, columns, 3) of 0 to 1.  A channel
// runs from the first to the last percentile of its direction over all images.
//
// foreground: the first direction is cut in two by Otsu's threshold, the side with fewer patches at
// the borders of images counts as foreground, and colours are the main directions of foreground
// patches.  Patches of the background are black.
SrStatus sr_segment_pca(SrPatchSource *source, const SrImageSet *images, bool foreground,
                        SrSegmentReport *report, SrEachMap each, void *arg);

// Clusters the patches of all images by spherical k-means.  The map (rows, columns, k) has the
// cosine to each centre; a patch belongs to the largest.  Clusters are in the order of their size.
// SR_ERR_CONFIG: k is not from 2 to SR_SEGMENT_CLUSTERS.
SrStatus sr_segment_cluster(SrPatchSource *source, const SrImageSet *images, int k, uint64_t seed,
                            SrSegmentReport *report, SrEachMap each, void *arg);

#endif
