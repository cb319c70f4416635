// Opens model and index of a folder and reads all rows, within --memory.
#include "cli/folder_rows.h"

#include "base/text/number.h"

enum { SEARCH_BYTES = 48 << 20 }; // blocks of products and places of neighbours

static SrStatus check_memory(const SrIndex *index, size_t most) {
    double need =
        (double)sr_index_rows(index) * ((double)sr_index_dim(index) * sizeof(float) + 128);
    need += SEARCH_BYTES;
    if (need > (double)most)
        SR_FAIL(SR_ERR_CONFIG,
                "%lld images of %d numbers need %.0f MB, but --memory allows %.0f MB: raise it, or "
                "choose a --layer of fewer numbers",
                (long long)sr_index_rows(index), sr_index_dim(index), need / 1e6,
                (double)most / 1e6);
    return SR_OK;
}

SrStatus sr_folder_rows_open(const SrFolderArgs *args, const char *command, const char *data,
                             const char *memory, SrFolderRows *out) {
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
        status = check_memory(out->index, most);
    if (status == SR_OK)
        status = sr_index_matrix(out->index, &out->rows);
    if (status != SR_OK)
        sr_folder_rows_close(out);
    return status;
}

void sr_folder_rows_close(SrFolderRows *rows) {
    sr_matrix_deinit(&rows->rows);
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
