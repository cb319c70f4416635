// Flags of the verbs that put a folder in order, and the index that they read
// (folder/index/index.h).
//
//     typedef struct { SrFolderArgs folder; ... } Options;
//     static const SrFlag flags[] = {SR_FOLDER_FLAGS(Options), ..., {0}};
//     SR_TRY(sr_folder_open(&o.folder, &f));
//     status = sr_folder_index(&f, args.names[0], &index);   // embeds what is new
//     sr_folder_close(&f);
#ifndef SR_CLI_ARGS_FOLDER_ARGS_H
#define SR_CLI_ARGS_FOLDER_ARGS_H

#include "cli/args/args.h"
#include "cli/best_layer.h"
#include "folder/index/cells.h"
#include "folder/index/index_update.h"

typedef struct {
    const char *model, *weights, *layer, *index;
    int size;
    bool quiet; // SrIndexOptions.quiet
    int batch;  // SrEmbedOptions.batch
    bool sandbox;
} SrFolderArgs;

#define SR_FOLDER_FLAGS(Options)                                                       \
    SR_FLAG_TEXT(Options, folder.model, "--model", "RUN",                              \
                 "a run folder, a checkpoint, a model's name (resnet50), or pixels"),  \
        SR_FLAG_TEXT(Options, folder.weights, "--weights", "FILE",                     \
                     "weights of a model that is named; without them they are drawn"), \
        SR_FLAG_TEXT(Options, folder.layer, "--layer", "NAME",                         \
                     "feature to compare, such as res4 (the run's best)"),             \
        SR_FLAG_NUMBER(Options, folder.size, "--size",                                 \
                       "pixels per side for a named model (its own)"),                 \
        SR_FLAG_TEXT(Options, folder.index, "--index", "FILE",                         \
                     "the index (RUN/index/..., or runs/index/... without a run)"),    \
        SR_SANDBOX_FLAG(Options, folder.sandbox)

// For a struct with `int probes`: 0, as without the flag, stands for an exact search.
#define SR_FOLDER_PROBES(Options)               \
    SR_FLAG_NUMBER(Options, probes, "--probes", \
                   "search only so many cells of the index: faster, approximate (all, exactly)")

typedef struct {
    SrFolderArgs args;
    SrBestLayer best;
    SrEmbedder *embedder;
} SrFolder;

// Opens the model.  SR_ERR_CONFIG: there is no --model.
SrStatus sr_folder_open(const SrFolderArgs *args, SrFolder *out);
void sr_folder_close(SrFolder *folder); // legal for a zeroed struct
// Suggests `verb` for the images at `data` with the same model, weights, layer and size.
void sr_folder_next(SrText *next, const char *what, const char *verb, const char *data,
                    const SrFolderArgs *args);
// Brings the index of the images at `data` up to date and opens it.  A signal ends it after the
// present batch with SR_ERR_INTERRUPT; what was embedded is kept.  report: may be NULL.
SrStatus sr_folder_index(const SrFolder *folder, const char *data, SrLook look,
                         SrIndexReport *report, SrIndex **out);
// Opens the cells of an index for a search of `probes` of them, and prints the recall.
SrStatus sr_folder_cells(const SrIndex *index, int probes, SrCells **out);
// Parses "--memory 2G": bytes with K, M, G or without.  NULL: `otherwise`.  SR_ERR_CONFIG: no size,
// or less than 1M.
SrStatus sr_folder_memory(const char *text, size_t otherwise, size_t *out);

#endif
