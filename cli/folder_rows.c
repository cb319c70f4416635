// Opens model and index of a folder and chooses where its rows lie, by --memory.
#include "cli/folder_rows.h"

#include "base/compiler.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text/number.h"
#include "measure/probes/chosen_probe.h"

// Bytes of a search next to the rows: blocks of products, and for each image its neighbours, its
// place in a tree or a cluster, and its result.
enum { SEARCH_BYTES = 24 << 20, IMAGE_BYTES = 176, BLOCK_ROWS = 9216, THREAD_ROWS = 128 };

static double search_bytes(const SrIndex *index) {
    double row = (double)sr_index_dim(index) * sizeof(float);
    return SEARCH_BYTES + (double)sr_index_rows(index) * IMAGE_BYTES +
           row * (BLOCK_ROWS + THREAD_ROWS * (double)sr_parallel_threads());
}

// The rows that choose the penalty and a copy of them, and the predictions of all.
static double probe_bytes(const SrIndex *index) {
    double n = (double)sr_index_rows(index), row = (double)sr_index_dim(index) * sizeof(float);
    return 2 * row * SR_MIN(n, 1.1 * SR_CHOSEN_PROBE_ROWS) +
           n * (double)sr_index_classes(index) * sizeof(float);
}

static SrStatus too_small(const SrIndex *index, double need, size_t most) {
    SR_FAIL(SR_ERR_CONFIG,
            "%lld images of %d numbers need %.0f MB, but --memory allows %.0f MB: raise it, or "
            "choose a --layer of fewer numbers",
            (long long)sr_index_rows(index), sr_index_dim(index), need / 1e6, (double)most / 1e6);
}

// Reads the rows if they fit, and else leaves them in the file.
static SrStatus place_rows(SrFolderRowsUse use, size_t most, SrFolderRows *r) {
    double need =
               search_bytes(r->index) + (use == SR_FOLDER_ROWS_PROBE ? probe_bytes(r->index) : 0),
           n = (double)sr_index_rows(r->index),
           held = n * ((double)sr_index_dim(r->index) * sizeof(float) + sizeof *r->label);
    if (need > (double)most)
        return too_small(r->index, need, most);
    if (need + held <= (double)most) {
        SR_TRY(sr_index_matrix(r->index, &r->held));
        r->rows = sr_row_view(&r->held);
        return SR_OK;
    }
    r->label = sr_alloc((size_t)sr_index_rows(r->index) * sizeof *r->label);
    SR_TRY_MEMORY(r->label, "the classes of %.0f images", n);
    r->rows = sr_index_view(r->index, r->label);
    return SR_OK;
}

SrStatus sr_folder_rows_open(const SrFolderArgs *args, const char *command, const char *data,
                             const char *memory, SrFolderRowsUse use, SrFolderRows *out) {
    SrFolder folder = {0};
    size_t most;
    *out = (SrFolderRows){.index = NULL};
    SR_TRY(sr_folder_memory(memory, (size_t)2 << 30, &most));
    SR_TRY(sr_args_check_images(command, data));
    SrStatus status = sr_folder_open(args, &folder);
    if (status == SR_OK)
        status = sr_folder_index(&folder, data, SR_LOOK_PLAIN, NULL, &out->index);
    sr_folder_close(&folder);
    if (status == SR_OK)
        status = place_rows(use, most, out);
    if (status != SR_OK)
        sr_folder_rows_close(out);
    return status;
}

void sr_folder_rows_close(SrFolderRows *rows) {
    sr_matrix_deinit(&rows->held);
    sr_free(rows->label);
    sr_index_close(rows->index);
    *rows = (SrFolderRows){.index = NULL};
}

const char *sr_folder_rows_name(const SrFolderRows *rows, int64_t i) {
    return sr_index_name(rows->index, i);
}

const char *sr_folder_rows_class(const SrFolderRows *rows, int64_t label) {
    bool known = label >= 0 && label < sr_index_classes(rows->index);
    return known ? sr_index_class(rows->index, (int)label) : "";
}

SrStatus sr_folder_rows_check(const SrArgs *args, const char *command) {
    SR_TRY(sr_args_no_overrides(args, command));
    if (args->n_names != 1)
        SR_FAIL(SR_ERR_CONFIG, "sslrun %s needs one folder of images, and a model with --model",
                command);
    return SR_OK;
}

SrStatus sr_folder_share(const char *text, double *out) {
    char *end;
    *out = sr_number_parse(text, &end);
    if (end == text || *end || !(*out > 0 && *out < 0.5))
        SR_FAIL(SR_ERR_CONFIG, "--share %s: expected a number above 0 and below 0.5", text);
    return SR_OK;
}
