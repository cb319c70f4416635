// The search for images like one image, which `similar` and `search` share.  Both read the rows of
// the folder's index and embed what is new first.
#ifndef SR_CLI_IMAGE_SEARCH_H
#define SR_CLI_IMAGE_SEARCH_H

#include "cli/args/folder_args.h"
#include "cli/args/photo_page_args.h"

typedef struct {
    SrFolderArgs folder;
    bool json, csv, null; // forms of the list; none: text
    int count;            // images to list, at least 1
    int probes;           // cells to search; 0: all images, exactly
    const char *data;     // the images to search; NULL: those of folder.index
    const char *crop;     // text of --crop; NULL: the whole image
    SrPhotoFiles files;
} SrSearchArgs;

// Checks the flags and prints the list for the one image that `args` names.  Suggests `duplicates`
// afterwards.  usage: what the verb needs, for a message.  SR_ERR_CONFIG: flags exclude each other,
// there is no such image, or the index holds no other one.
SrStatus sr_image_search(const SrArgs *args, SrSearchArgs *o, const char *usage);

#endif
