// Pictures that do not belong to a folder, and classes that differ as a whole.
//
// A picture is judged by the distance to its 10th neighbour and by its leaf distance in the
// single-linkage tree (measure/clusters/spanning_tree.h), which also finds small groups of
// strangers.  Automatic cut-offs follow SelfClean (measure/probes/score_cutoff.h).
#ifndef SR_FOLDER_OUTLIERS_H
#define SR_FOLDER_OUTLIERS_H

#include "measure/row_view.h"

#define SR_OUTLIER_NEIGHBOUR 10
#define SR_OUTLIER_GROUP 5 // most pictures of a group of strangers

typedef struct {
    bool per_class; // search neighbours among the pictures of the same class
    bool no_tree;   // leave out the tree, whose cost grows with the square of the pictures
    double share;   // guessed upper bound of the share of outliers; SrCutoffOptions.share
} SrOutlierOptions;

typedef struct {
    int64_t row;
    float distance; // 1 - cosine to the 10th neighbour; NaN: the row has no direction
    float leaf;     // leaf distance, 1 - cosine; NaN without the tree
    bool found;     // one of the two is beyond its cut-off
} SrOutlier;

// How far a class lies from the others.
typedef struct {
    int label;
    int64_t images;
    double distance; // median of 1 - cosine to the nearest picture of another class
    bool found;      // more than 3 robust deviations above the median of the classes
} SrOddClass;

typedef struct {
    int64_t n, found;
    SrOutlier *v; // (n) the most suspicious first
    int n_classes;
    SrOddClass *of_class; // (n_classes) classes with pictures, the farthest first
} SrOutlierReport;

// Judges all rows, which have length 1, by their blocks: memory grows with the number of rows, not
// with their length.  Free *out with sr_outliers_deinit, also after a failure.
// SR_ERR_CONFIG: there are fewer than 3 rows, or per_class is set and there are no labels.
SrStatus sr_outliers(const SrOutlierOptions *options, const SrRowView *rows, SrOutlierReport *out);
void sr_outliers_deinit(SrOutlierReport *report);

#endif
