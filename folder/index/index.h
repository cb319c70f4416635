// The index of a folder: one row of features per image, kept in a file next to the run.
// folder/index/index_update.h brings it up to date for new and changed images.
//
//     SrEmbedder *e;   sr_embedder_open(&(SrEmbedOptions){.model = "runs/photos"}, &e);
//     SrIndex *index;  sr_index_update(e, &(SrIndexOptions){.data = "photos"}, NULL, &index);
//     for (int64_t i = 0; i < sr_index_rows(index); i += 512)
//         sr_index_read(index, i, SR_MIN(512, sr_index_rows(index) - i), x); // (512, d) floats
//
// Rows have length 1 and the order of the data set; images that cannot be read have none.  A file
// belongs to one model, layer, pooling and preprocessing, and to one look (folder/embedder.h).
// folder/index/index_file.h describes it.
#ifndef SR_FOLDER_INDEX_INDEX_H
#define SR_FOLDER_INDEX_INDEX_H

#include "folder/embedder.h"
#include "measure/row_view.h"

typedef struct SrIndex SrIndex;

// Opens a file as it is.  SR_ERR_CONFIG: there is no file, or it has no whole list.
SrStatus sr_index_open(const char *file, SrIndex **out);
void sr_index_close(SrIndex *index); // NULL is legal

// Writes the path of the index of `data`: <run>/index/<name>-<key>.index, or runs/index/... for a
// model that is no run.
SrStatus sr_index_path(const SrEmbedder *embedder, const char *data, SrLook look, char *out,
                       size_t out_bytes);

int64_t sr_index_rows(const SrIndex *index);
int sr_index_dim(const SrIndex *index);
const char *sr_index_file_path(const SrIndex *index);
uint64_t sr_index_key(const SrIndex *index);   // hash of what the rows depend on
uint64_t sr_index_state(const SrIndex *index); // hash that changes with the rows and their order
// Returns the JSON that describes model, layer and preprocessing.
const char *sr_index_description(const SrIndex *index);
// Returns the path of image i, or "image 17" in a set without files; valid until the index is
// closed.
const char *sr_index_name(const SrIndex *index, int64_t i);
int64_t sr_index_find(const SrIndex *index, const char *name); // row of a name; -1: none
int64_t sr_index_label(const SrIndex *index, int64_t i);       // class, or -1
int sr_index_classes(const SrIndex *index);                    // 0: no labels
const char *sr_index_class(const SrIndex *index, int c);       // name; "" if it has none
uint64_t sr_index_hash(const SrIndex *index, int64_t i);       // of the file's bytes

// Reads rows [first, first + n) or those of the n numbers in `rows` as floats, (n, d).
// Thread-safe.
void sr_index_read(const SrIndex *index, int64_t first, int64_t n, float *out);
void sr_index_take(const SrIndex *index, const int64_t *rows, int64_t n, float *out);
// Views the rows, which are read from the file by blocks.  label: (rows) is filled with the classes
// and belongs to the caller; it and the index must outlive the view.  NULL: the view has no labels.
SrRowView sr_index_view(const SrIndex *index, int64_t *label);
// Reads all rows with their labels; free with sr_matrix_deinit.
SrStatus sr_index_matrix(const SrIndex *index, SrMatrix *out);
// Writes the product of each row of [first, first + n) with q (d).  Thread-safe.
void sr_index_products(const SrIndex *index, const float *q, int64_t first, int64_t n, float *out);

#endif
