// Holds the option tables of DATA and of its splits TRAIN and TEST.
#include "data/image.h"
#include "trainer/config/vissl/schema.h"

#define OFF(field) offsetof(SrSplitConfig, field)

// clang-format off
const SrOption sr__schema_data[] = {
    {"NUM_DATALOADER_WORKERS", SR_OPT_INT, offsetof(SrConfig, num_dataloader_workers), "4", 0, 256,
     .help = "Number of threads that load images; 0: images are decoded between steps, by the training thread."},
    {"CHANNELS", SR_OPT_INT, offsetof(SrConfig, channels), "3", 1, SR_MAX_CHANNELS,
     .help = "Channels of an image, and inputs of the trunk's first layer (not in VISSL).  3: RGB.  Images of another number"
     " come from numpy_stack or TIFF, of 1 also from grey pictures; their samples keep all bits."},
    {"KEEP_BITS", SR_OPT_BOOL, offsetof(SrConfig, keep_bits), "False",
     .help = "Keep all bits of samples of three CHANNELS (not in VISSL): 16-bit PNG, PPM, TIFF and numpy_stack, and floats of TIFF"
     " and numpy_stack.  False: images have 8 bits."},
    {"COLOR_TRANSFORMS", SR_OPT_ENUM, offsetof(SrConfig, color_transforms), "keep", .choices = "keep|skip",
     .help = "What happens to the transforms that change colours, such as ColorJitter and RandomGrayscale (not in VISSL).  keep:"
     " they run on RGB of 8 bits, and are an error for other images.  skip: they are left out of TRANSFORMS."},
    {"SANDBOX", SR_OPT_BOOL, offsetof(SrConfig, sandbox), "False",
     .help = "Decode images in processes that can only read and write the socket to this program (not in VISSL): one per thread"
     " that decodes, locked by libseccomp.  The pixels are the same.  For images of strangers."},
    {"STAGES", SR_OPT_TREE, offsetof(SrConfig, stages), "[]",
     .help = "Other transforms of the training images for the first epochs (not in VISSL): a list of {until: SHARE, set: [OVERRIDE,"
     " ...]}.  Up to that share of OPTIMIZER.num_epochs the overrides of DATA.TRAIN.TRANSFORMS hold, which are written as on"
     " the command line; after the last entry TRANSFORMS holds as it is.  Small crops first save time; weak ones at the end"
     " are two entries."},
    {"TRAIN", SR_OPT_TREE, offsetof(SrConfig, train.tree), "{}", .help = "Images to train on."},
    {"TEST", SR_OPT_TREE, offsetof(SrConfig, test.tree), "{}", .help = "Images to evaluate on."},
    SR_OPTION_END,
};

const SrOption sr__schema_split[] = {
    {"DROP_LAST", SR_OPT_BOOL, OFF(drop_last), "False",
     .help = "Leave out the last batch of an epoch or of a test phase if it is incomplete.  In training, losses that keep a"
     " queue and steps of several replicas always leave it out."},
    {"REMOVE_IMG_PATH_PREFIX", SR_OPT_STRING, OFF(remove_img_path_prefix), "\"\"",
     .help = "Prefix that is removed from paths in file lists."},
    {"NEW_IMG_PATH_PREFIX", SR_OPT_STRING, OFF(new_img_path_prefix), "\"\"",
     .help = "Prefix that is added to paths in file lists, after REMOVE_IMG_PATH_PREFIX."},
    {"DATA_SOURCES", SR_OPT_STRINGS, OFF(data_sources), "[]",
     .help = "Kind of each source: disk_folder, disk_filelist, webdataset and others that `sslrun list` shows.  Empty: the"
     " kind is recognised from the path."},
    {"DATA_PATHS", SR_OPT_STRINGS, OFF(data_paths), "[]", .help = "Folder or file of each source."},
    {"DATASET_NAMES", SR_OPT_STRINGS, OFF(dataset_names), "[imagenet1k_folder]",
     .help = "Names of the sources in VISSL's catalogue of data sets, looked up where DATA_PATHS is empty.  The catalogue is"
     " the file that VISSL_DATASET_CATALOG_PATH names, else dataset_catalog.json in the folder of the configuration"
     " or above, else configs/config/dataset_catalog.json: {\"name\": {\"train\": [images, labels], \"val\":"
     " [images, labels]}}."},
    {"LABEL_SOURCES", SR_OPT_STRINGS, OFF(label_sources), "[]",
     .help = "Kind of the label source, one for each source of images."},
    {"LABEL_PATHS", SR_OPT_STRINGS, OFF(label_paths), "[]", .help = "Label file of each source."},
    {"LABEL_TYPE", SR_OPT_STRING, OFF(label_type), "standard",
     .help = "Labels of the images: standard (their class), sample_index (their index in the data set) or zero (always 0)."},
    {"DEFAULT_GRAY_IMG_SIZE", SR_OPT_INT, OFF(default_gray_img_size), "224", 1, 65500,
     .help = "Side in pixels of the grey image that replaces an unreadable one."},
    {"MAX_BAD_IMAGE_SHARE", SR_OPT_FLOAT, OFF(max_bad_share), "0.1", 0, 1,
     .help = "The run fails when a larger share of images cannot be read (not in VISSL)."},
    {"PIXELS", SR_OPT_ENUM, OFF(pixels), "exact", .choices = "exact|fast",
     .help = "How images are decoded and resized (not in VISSL).  exact: the same pixels as PIL.  fast: pixels may differ"
     " by one or two grey levels, and large JPEGs are decoded at a reduced size."},
    {"RANDOM_SYNTHETIC_IMAGES", SR_OPT_BOOL, OFF(random_synthetic_images), "False",
     .help = "For the source synthetic: noise instead of one grey image."},
    {"RANDOM_SYNTHETIC_LABELS", SR_OPT_INT, OFF(random_synthetic_labels), "0", 0, 1e9,
     .help = "For the source synthetic: number of classes."},
    {"BATCHSIZE_PER_REPLICA", SR_OPT_INT, OFF(batchsize_per_replica), "256", 1, 1e6,
     .help = "Images per step in one replica (see DISTRIBUTED.REPLICAS)."},
    {"TRANSFORMS", SR_OPT_TREE, OFF(transforms), "[]",
     .help = "List of transforms, {name: ..., options}, applied in this order."},
    {"COLLATE_FUNCTION", SR_OPT_STRING, OFF(collate_function), "default_collate",
     .help = "Collator: how samples become a batch."},
    {"COLLATE_FUNCTION_PARAMS", SR_OPT_TREE, OFF(collate_params), "{}",
     .help = "Options of COLLATE_FUNCTION.  Evaluation reads one view per image and uses no collator."},
    {"DATA_LIMIT", SR_OPT_INT64, OFF(data_limit), "-1", -1, 1e15, .help = "Number of images to use; -1: all."},
    {"DATA_LIMIT_SAMPLING.SEED", SR_OPT_INT, OFF(data_limit_seed), "0", 0, 2e9,
     .help = "Seed of the random choice that DATA_LIMIT makes."},
    {"DATA_LIMIT_SAMPLING.IS_BALANCED", SR_OPT_BOOL, OFF(data_limit_balanced), "False",
     .help = "DATA_LIMIT takes the same number of images of each class."},
    {"DATA_LIMIT_SAMPLING.SKIP_NUM_SAMPLES", SR_OPT_INT64, OFF(data_limit_skip), "0", 0, 1e15,
     .help = "Number of images to skip before DATA_LIMIT counts."},
    {"INPUT_KEY_NAMES", SR_OPT_STRINGS, OFF(input_keys), "[data]",
     .help = "Names of the inputs that MODEL.MULTI_INPUT_HEAD_MAPPING refers to.  A collator that names its inputs (images,"
     " patches) takes its names in any order; with another collator, several names stand for the views, in order."},
    {"TARGET_KEY_NAMES", SR_OPT_STRINGS, OFF(target_keys), "[label]",
     .help = "Target of the loss: label, or mask with a collator that makes masks (iBOT)."},
    SR_OPTION_END,
};
// clang-format on
