// Holds the option tables of DATA and of its splits TRAIN and TEST.
#include "trainer/config/schema.h"

#define OFF(field) offsetof(SrSplitConfig, field)

// clang-format off
const SrOption sr__schema_data[] = {
    {"NUM_DATALOADER_WORKERS", SR_OPT_INT, offsetof(SrConfig, num_dataloader_workers), "4", 0, 256, NULL,
     "Loader threads; 0: images are decoded between the steps."},
    {"TRAIN", SR_OPT_TREE, offsetof(SrConfig, train.tree), "{}", 0, 0, NULL, "Images to train on."},
    {"TEST", SR_OPT_TREE, offsetof(SrConfig, test.tree), "{}", 0, 0, NULL, "Images to evaluate on."},
    SR_OPTION_END,
};

const SrOption sr__schema_split[] = {
    {"DROP_LAST", SR_OPT_BOOL, OFF(drop_last), "False", 0, 0, NULL, "Leave out an incomplete last batch: of an epoch (losses that keep a queue always do), or of a test phase."},
    {"REMOVE_IMG_PATH_PREFIX", SR_OPT_STRING, OFF(remove_img_path_prefix), "\"\"", 0, 0, NULL,
     "Cut from the front of paths in file lists."},
    {"NEW_IMG_PATH_PREFIX", SR_OPT_STRING, OFF(new_img_path_prefix), "\"\"", 0, 0, NULL,
     "Put before paths in file lists."},
    {"DATA_SOURCES", SR_OPT_STRINGS, OFF(data_sources), "[]", 0, 0, NULL,
     "Kind of each source (`sslrun list` has them: disk_folder, disk_filelist, webdataset); empty: by what lies at the path."},
    {"DATA_PATHS", SR_OPT_STRINGS, OFF(data_paths), "[]", 0, 0, NULL, "Folder or file of each source."},
    {"LABEL_SOURCES", SR_OPT_STRINGS, OFF(label_sources), "[]", 0, 0, NULL, "Where labels come from, a source each."},
    {"LABEL_PATHS", SR_OPT_STRINGS, OFF(label_paths), "[]", 0, 0, NULL, "Label file of each source."},
    {"LABEL_TYPE", SR_OPT_STRING, OFF(label_type), "standard", 0, 0, NULL, "standard, sample_index or zero."},
    {"DEFAULT_GRAY_IMG_SIZE", SR_OPT_INT, OFF(default_gray_img_size), "224", 1, 65500, NULL,
     "Side of the grey image that stands for an unreadable one."},
    {"MAX_BAD_IMAGE_SHARE", SR_OPT_FLOAT, OFF(max_bad_share), "0.1", 0, 1, NULL,
     "The run fails when a larger share of images cannot be read (ours)."},
    {"PIXELS", SR_OPT_ENUM, OFF(fast_pixels), "exact", 0, 0, "exact|fast",
     "exact: PIL's pixels; fast: shortcuts of a grey level or two, and large JPEGs decoded at a fraction (ours)."},
    {"RANDOM_SYNTHETIC_IMAGES", SR_OPT_BOOL, OFF(random_synthetic_images), "False", 0, 0, NULL,
     "synthetic: noise instead of one grey image."},
    {"RANDOM_SYNTHETIC_LABELS", SR_OPT_INT, OFF(random_synthetic_labels), "0", 0, 1e9, NULL,
     "synthetic: number of classes drawn from."},
    {"BATCHSIZE_PER_REPLICA", SR_OPT_INT, OFF(batchsize_per_replica), "256", 1, 1e6, NULL,
     "Images a step of one replica (DISTRIBUTED.REPLICAS)."},
    {"TRANSFORMS", SR_OPT_TREE, OFF(transforms), "[]", 0, 0, NULL, "List of {name: ..., options}, in order."},
    {"COLLATE_FUNCTION", SR_OPT_STRING, OFF(collate_function), "default_collate", 0, 0, NULL,
     "How samples become a batch."},
    {"COLLATE_FUNCTION_PARAMS", SR_OPT_TREE, OFF(collate_params), "{}", 0, 0, NULL, "Options of COLLATE_FUNCTION; evaluation reads one view an image and asks no collator."},
    {"DATA_LIMIT", SR_OPT_INT64, OFF(data_limit), "-1", -1, 1e15, NULL, "Use so many images; -1: all."},
    {"DATA_LIMIT_SAMPLING.SEED", SR_OPT_INT, OFF(data_limit_seed), "0", 0, 2e9, NULL, "Which images DATA_LIMIT takes."},
    {"DATA_LIMIT_SAMPLING.IS_BALANCED", SR_OPT_BOOL, OFF(data_limit_balanced), "False", 0, 0, NULL,
     "As many images of each class."},
    {"DATA_LIMIT_SAMPLING.SKIP_NUM_SAMPLES", SR_OPT_INT64, OFF(data_limit_skip), "0", 0, 1e15, NULL,
     "Pass over so many images first."},
    {"INPUT_KEY_NAMES", SR_OPT_STRINGS, OFF(input_keys), "[data]", 0, 0, NULL,
     "Inputs that MODEL.MULTI_INPUT_HEAD_MAPPING refers to: those of a collator that names its inputs (images, patches),"
     " in any order; of another collator several names are those of the views in their order."},
    {"TARGET_KEY_NAMES", SR_OPT_STRINGS, OFF(target_keys), "[label]", 0, 0, NULL,
     "What the loss learns from: label, or mask with a collator that makes masks (iBOT)."},
    SR_OPTION_END,
};
// clang-format on
