// Rows of all images of a folder, for verbs that compare every image with every other.  They are
// held in memory where --memory allows it, and else read from the index again and again; what the
// verbs print is the same.
#ifndef SR_CLI_FOLDER_ROWS_H
#define SR_CLI_FOLDER_ROWS_H

#include "cli/args/folder_args.h"

typedef struct {
    SrIndex *index; // names, classes
    SrRowView rows; // (n, d) of length 1, with labels
    SrMatrix held;  // the rows, if they are in memory
    int64_t *label; // (n) of the rows, if they are in the file
} SrFolderRows;

// Says what a verb does with the rows, which decides how much memory it needs next to them.
typedef enum {
    SR_FOLDER_ROWS_SEARCH, // compares them
    SR_FOLDER_ROWS_PROBE,  // fits probes (measure/probes/fold_predictions.h) as well
} SrFolderRowsUse;

#define SR_FOLDER_MEMORY_FLAG(Options)                \
    SR_FLAG_TEXT(Options, memory, "--memory", "SIZE", \
                 "most memory for the search, such as 512M or 2G (2G)")

// Brings the index of `data` up to date and opens its rows.  memory: text of --memory; NULL: 2G.
// command: the verb, for messages.  SR_ERR_CONFIG: the work space of the verb needs more than
// that.
SrStatus sr_folder_rows_open(const SrFolderArgs *args, const char *command, const char *data,
                             const char *memory, SrFolderRowsUse use, SrFolderRows *out);
void sr_folder_rows_close(SrFolderRows *rows); // legal for a zeroed struct

// Returns the name of row i, and of its class or "".
const char *sr_folder_rows_name(const SrFolderRows *rows, int64_t i);
const char *sr_folder_rows_class(const SrFolderRows *rows, int64_t label);

// Checks that the verb got one folder and no KEY=VALUE.
SrStatus sr_folder_rows_check(const SrArgs *args, const char *command);
// Parses "--share 0.1": above 0, below 0.5.  SR_ERR_CONFIG: another text.
SrStatus sr_folder_share(const char *text, double *out);

#endif
