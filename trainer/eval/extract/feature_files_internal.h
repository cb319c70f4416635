// The files that make up a set of features, and the layer that they hold.  feature_pieces.c finds
// them, feature_files.c reads their rows.
#ifndef SR_TRAINER_EVAL_EXTRACT_FEATURE_FILES_INTERNAL_H
#define SR_TRAINER_EVAL_EXTRACT_FEATURE_FILES_INTERNAL_H

#include "base/arena.h"
#include "trainer/eval/extract/feature_files.h"

// One shard.  labels, index, valid, files and classes are "" where there are none.
typedef struct {
    char *features, *labels, *index, *valid, *files, *classes;
} SrFeaturePiece;

typedef struct {
    const SrFeatureFiles *from;
    SrArena arena;
    char **names; // of the folder
    int n_names;
    SrFeaturePiece *pieces;
    int n;
    const char *layer; // whose features these are
    int64_t *index;    // (n) VISSL's data_idx, NULL if there is none
    int8_t *valid;     // (n) 0: this image could not be read; NULL: not asked for
    bool by_split;     // the folder may hold both splits, and `split` chose (VISSL's)
} SrFeaturePieces;

// Fills a struct that holds `from` alone, from a folder's names or one file's tensors.
// SR_ERR_CONFIG: there are no features, or several layers (the message lists them) and none was
// asked for.
SrStatus sr__feature_pieces_find(SrFeaturePieces *l);
void sr__feature_pieces_close(SrFeaturePieces *l); // also after a failure
// True for the names of labels: `labels`, `targets`, `y`.
bool sr__feature_is_labels(const char *name);

#endif
