// Finds copies and near copies among the images of an index, or between two of them.
//
// Candidates are the nearest rows by the model's features, of the image, of its mirror
// image and of its middle, and the nearest small pictures.
// Each candidate pair is then scored: by its pictures (folder/picture_match.h), or by the cosine
// alone.  A pair from the threshold on is a copy.
//
// The threshold comes from the data.  The best scores of most images show what different images
// reach by chance; the tail of their Fisher's z is extended to the asked rate of false alarms.
#ifndef SR_FOLDER_COPIES_H
#define SR_FOLDER_COPIES_H

#include "folder/index/cells.h"

typedef struct {
    const SrIndex *images;
    const SrIndex *looks[SR_LOOKS]; // of the same images; [SR_LOOK_PLAIN] is not read
    const SrIndex *thumbnails;      // of the same images.  NULL: cosines are the scores
    // The other folder.  NULL: copies among `images`
    const SrIndex *others, *other_thumbnails;
    const SrCells *cells; // of the images, or of `others`: candidates come from them; NULL: exact
    int probes;       // cells that are searched for each image; small pictures then propose nothing
    double threshold; // score of a copy.  NAN: from the data
    double false_alarms; // rate per image, above 0, for a threshold from the data
    size_t memory;       // bytes that may be used
} SrCopiesOptions;

typedef struct {
    int64_t a, b; // rows: a < b among `images`; b of the other folder
    float score;
    bool mirrored;
} SrCopyPair;

// A group: its keeper is the image with most copies, then the largest file, then the first.  Every
// member has a score from the threshold on with the keeper.
typedef struct {
    int64_t keeper, first, n; // members are `member`[first .. first + n), without the keeper
} SrCopyGroup;

typedef struct {
    double threshold;
    bool from_data;
    double found; // share of mirrored crops of these images that are above the threshold; NAN: not
                  // measured
    int64_t n_pairs;
    SrCopyPair *pair; // from the threshold on, best first; ties by rows
    int64_t n_groups;
    SrCopyGroup *group; // larger ones first, then by keeper; none between two folders
    SrCopyPair *member; // of groups: b is the member, a the keeper; best first in each
} SrCopies;

// Rows of the indexes must be the same images in one order.  Free with sr_copies_deinit.
SrStatus sr_copies_find(const SrCopiesOptions *options, SrCopies *out);
void sr_copies_deinit(SrCopies *copies);

#endif
