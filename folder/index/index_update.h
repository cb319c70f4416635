// Brings the index of a folder up to date: new and changed images are embedded, images that are
// gone leave the list.
#ifndef SR_FOLDER_INDEX_INDEX_UPDATE_H
#define SR_FOLDER_INDEX_INDEX_UPDATE_H

#include "folder/index/index.h"

typedef struct {
    const char *data; // a folder, a list of paths (.txt), a data set, tar shards
    // The file.  NULL: sr_index_path, next to the run
    const char *file;
    SrLook look; // SR_LOOK_PLAIN for everything but the search for copies
    bool quiet;  // do not name images that cannot be read: an earlier index of the folder has
} SrIndexOptions;

// Counts of what an update found.
typedef struct {
    int64_t rows;     // images in the index now
    int64_t added;    // images that it did not know
    int64_t changed;  // images whose files have other bytes
    int64_t removed;  // images that are no longer there
    int64_t bad;      // images that cannot be read; they have no row
    int64_t embedded; // images that the model ran on in this call
    double seconds;
} SrIndexReport;

// Brings the index of options->data up to date and opens it.  Rows are appended batch by batch,
// so that a killed process loses one batch.  Shows a bar.  report: may be NULL.
// SR_ERR_INTERRUPT: base/stop.h asked to stop; what was embedded is kept.
// SR_ERR_IO: another process updates the file.  SR_ERR_CONFIG: the file belongs to another model.
SrStatus sr_index_update(SrEmbedder *embedder, const SrIndexOptions *options, SrIndexReport *report,
                         SrIndex **out);

#endif
