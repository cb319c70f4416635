// Catalogue of data sets, as VISSL has it: a JSON file that gives names to folders and lists of
// images,
//
//   {"imagenet1k_folder": {"train": [images, labels], "val": [images, labels]}, ...}
//
// The file is the one that the environment variable VISSL_DATASET_CATALOG_PATH names, else
// dataset_catalog.json in the folder of the configuration or in one above it, else
// configs/config/dataset_catalog.json in the current folder.
#ifndef SR_TRAINER_CONFIG_DATASET_CATALOG_H
#define SR_TRAINER_CONFIG_DATASET_CATALOG_H

#include "base/arena.h"
#include "base/text/yaml.h"

#define SR_CATALOG_FILE "dataset_catalog.json"
#define SR_CATALOG_VARIABLE "VISSL_DATASET_CATALOG_PATH"

// Looks up DATA.TRAIN.DATASET_NAMES and, if the run evaluates, DATA.TEST.DATASET_NAMES, where the
// user has set them and DATA_PATHS is empty.  Sets DATA_PATHS, and LABEL_PATHS if the source of
// labels reads a file and the file exists.  Logs a line for each.  Does nothing without a
// catalogue.
//   config  path of the configuration
// SR_ERR_CONFIG: the catalogue is no such JSON file, or lacks the name or the split.
SrStatus sr__catalog_resolve(SrYaml *tree, const char *config, SrArena *arena);

#endif
