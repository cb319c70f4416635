// Shared by index.c and index_update.c.
#ifndef SR_FOLDER_INDEX_INDEX_INTERNAL_H
#define SR_FOLDER_INDEX_INDEX_INTERNAL_H

#include "folder/embedder.h"

// Returns the key of the file of a model and a look.
uint64_t sr__index_key(const SrEmbedder *embedder, SrLook look);

#endif
