// Opens the model and the index of the verbs that put a folder in order.
#include "cli/args/folder_args.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/stop.h"
#include "base/text/number.h"
#include "cli/interrupt.h"
#include "cli/next.h"
#include "data/sandbox.h"
#include "trainer/run/run_folder.h"

static bool is_run(const SrFolderArgs *a) {
    return !a->weights && sr_file_exists(a->model) && !sr_text_ends(a->model, ".yaml");
}

// Takes the best layer of the evaluation, where the model is a run and no layer is given.
static SrStatus choose_layer(SrFolder *f) {
    char checkpoint[4096];
    if (f->args.layer || !is_run(&f->args))
        return SR_OK;
    SR_TRY(sr_folder_weights(f->args.model, checkpoint, sizeof checkpoint));
    return sr_best_layer_of(checkpoint, "flatten", &f->args.layer, &f->best);
}

SrStatus sr_folder_open(const SrFolderArgs *args, SrFolder *out) {
    *out = (SrFolder){.args = *args};
    if (args->sandbox)
        SR_TRY(sr_sandbox_use());
    if (!args->model)
        SR_FAIL(SR_ERR_CONFIG, "name a model with --model: a run folder such as runs/photos, a "
                               "checkpoint, resnet50 with --weights, or pixels");
    SR_TRY(choose_layer(out));
    return sr_embedder_open(&(SrEmbedOptions){out->args.model, out->args.weights, out->args.layer,
                                              out->args.size, out->args.batch},
                            &out->embedder);
}

void sr_folder_close(SrFolder *folder) {
    sr_embedder_close(folder->embedder);
    folder->embedder = NULL;
}

void sr_folder_next(SrText *next, const char *what, const char *verb, const char *data,
                    const SrFolderArgs *args) {
    char size[16];
    const char *words[12] = {verb, data, "--model", args->model};
    int n = 4;
    snprintf(size, sizeof size, "%d", args->size);
    const char *const flags[][2] = {{"--weights", args->weights},
                                    {"--layer", args->layer},
                                    {"--size", args->size ? size : NULL}};
    for (int i = 0; i < SR_COUNT(flags); i++)
        if (flags[i][1]) {
            words[n++] = flags[i][0];
            words[n++] = flags[i][1];
        }
    words[n] = NULL;
    sr_next_add(next, what, words);
}

SrStatus sr_folder_index(const SrFolder *folder, const char *data, SrLook look,
                         SrIndexReport *report, SrIndex **out) {
    const SrIndexOptions options = {.data = data,
                                    .file = look ? NULL : folder->args.index,
                                    .look = look,
                                    .quiet = look || folder->args.quiet};
    sr_interrupt_listen("finishing this batch of images");
    sr_stop_set(sr_interrupt_asked, NULL);
    SrStatus status = sr_index_update(folder->embedder, &options, report, out);
    sr_stop_set(NULL, NULL);
    if (status == SR_ERR_INTERRUPT)
        status = sr_fail(status, "stopped; the index keeps what was embedded, and the same command "
                                 "continues");
    else
        sr_interrupt_uninstall();
    return status;
}

SrStatus sr_folder_cells(const SrIndex *index, int probes, SrCells **out) {
    SR_TRY(sr_cells_open(index, out));
    sr_cells_say(*out, probes);
    return SR_OK;
}

SrStatus sr_folder_memory(const char *text, size_t otherwise, size_t *out) {
    *out = otherwise;
    if (!text)
        return SR_OK;
    double bytes = sr_number_bytes(text);
    if (!(bytes >= 1 << 20) || bytes > 1e15)
        SR_FAIL(SR_ERR_CONFIG, "--memory %s: expected a size of at least 1M, such as 2G", text);
    *out = (size_t)bytes;
    return SR_OK;
}
