// The list of data sets: opens them, and finds the one that reads a path.
#include "data/dataset.h"

#include "base/file.h"
#include "base/mem.h"
#include "base/plugin/plugin.h"
#include "data/decode.h"
#include "data/image_form.h"
#include "gen/dataset.def"

SR_REGISTRY(SrDataset, dataset, dataset, "data source")

SrStatus sr_dataset_open(const SrDataset *source, const SrDatasetConfig *config, void **set) {
    *set = sr_calloc(1, source->set_bytes);
    if (!*set)
        return sr_out_of_memory("a data set");
    SrStatus status = source->open(config, *set);
    if (status != SR_OK) {
        sr_dataset_close(source, *set);
        *set = NULL;
    }
    return status;
}

void sr_dataset_close(const SrDataset *source, void *set) {
    if (set && source->close)
        source->close(set);
    sr_free(set);
}

// disk_folder is found by its name, not by its place: it accepts every folder and must come last.
SrStatus sr_dataset_infer(const char *path, const char *split, const SrDataset **out) {
    const SrDataset *last = &sr_dataset_disk_folder;
    for (int i = 0; dataset_registry[i]; i++)
        if (dataset_registry[i] != last && dataset_registry[i]->accepts &&
            dataset_registry[i]->accepts(path, split)) {
            *out = dataset_registry[i];
            return SR_OK;
        }
    *out = last;
    if (last->accepts(path, split))
        return SR_OK;
    SR_TRY(sr_file_check_known(path));
    if (!sr_file_exists(path))
        SR_FAIL(SR_ERR_CONFIG, "DATA.%s.DATA_PATHS: no such file or folder: %s", split, path);
    SR_FAIL(SR_ERR_CONFIG,
            "DATA.%s.DATA_PATHS: %s is neither a folder of images nor an image, a list of paths "
            "(.npy, .txt), a stack of images (.npy), an IDX file or a CIFAR batch; set "
            "DATA.%s.DATA_SOURCES if its name is "
            "unusual",
            split, path, split);
}

SrStatus sr_sample_image(const SrSample *sample, int channels, SrImagePool *pool, SrImage *out) {
    if (sample->encoded) {
        SR_TRY(sr_image_open(sample->encoded, sample->encoded_bytes, out));
        out->channels = channels;
        return SR_OK;
    }
    *out = sample->image;
    return sr_image_to_floats(out, channels, pool);
}
