// Holds the option tables of work on extracted features: SVM, LOW_SHOT_BENCHMARK, CLUSTERFIT.
// Names and defaults are VISSL's; keys marked "not in VISSL" are additions.
#include "trainer/config/vissl/schema.h"

#define OFF(field) offsetof(SrConfig, field)

// clang-format off
const SrOption sr__schema_svm[] = {
    {"normalize", SR_OPT_BOOL, OFF(svm.normalize), "True", .help = "Divide each feature by its length."},
    {"cls_list", SR_OPT_INTS, OFF(svm.classes), "[]", 0, 1e6, .help = "Classes to train; empty: all."},
    {"loss", SR_OPT_ENUM, OFF(svm.loss), "squared_hinge", .choices = "squared_hinge|hinge", .help = "Loss for a margin below 1."},
    {"penalty", SR_OPT_ENUM, OFF(svm.penalty), "l2", .choices = "l2|l1", .help = "Norm of the weights that is penalised."},
    {"cross_val_folds", SR_OPT_INT, OFF(svm.folds), "3", 2, 100,
     .help = "Number of folds of the cross-validation that chooses the cost."},
    {"costs.costs_list", SR_OPT_FLOATS, OFF(svm.costs), "[0.1, 0.01]", 1e-12, 1e12, .help = "Costs C to choose from."},
    {"costs.base", SR_OPT_FLOAT, OFF(svm.cost_base), "-1.0", -1, 1e6,
     .help = "If above 0, base^k is added to the costs for each k of power_range."},
    {"costs.power_range", SR_OPT_INTS, OFF(svm.power_range), "[4, 20]", -60, 60, .help = "First k, and the k after"
     " the last one."},
    {"low_shot.sample_inds", SR_OPT_INTS, OFF(svm.low_shot_draws), "[1, 2, 3, 4, 5]", 0, 1e6,
     .help = "Indices of the independent random draws."},
    {"low_shot.k_values", SR_OPT_INTS, OFF(svm.low_shot_k), "[1, 2, 4, 8, 16, 32, 64, 96]", 1, 1e6,
     .help = "Training images per class."},
    SR_OPTION_END,
};

const SrOption sr__schema_low_shot[] = {
    {"LOGISTIC_REGRESSION.LAMBDA", SR_OPT_FLOATS, OFF(low_shot.lambdas), "0.025", 1e-12, 1e12,
     .help = "Strengths of the penalty; liblinear's cost is the number of training images divided by it.  A list gives one"
     " result for each."},
    {"LOGISTIC_REGRESSION.SEEDS", SR_OPT_INTS, OFF(low_shot.seeds), "[0]", 0, 2e9,
     .help = "Seeds of the independent random draws; used where SAMPLES_PER_CLASS limits the training images."},
    {"LOGISTIC_REGRESSION.SAMPLES_PER_CLASS", SR_OPT_INT, OFF(low_shot.per_class), "0", 0, 1e9,
     .help = "Training images per class, drawn once per seed (not in VISSL); 0: all."},
    {"LOGISTIC_REGRESSION.MULTI_CLASS", SR_OPT_ENUM, OFF(low_shot.one_vs_rest), "multinomial", .choices = "multinomial|ovr",
     .help = "multinomial: one softmax over all classes; ovr: each class against the rest, by liblinear (not in VISSL)."
     "  Images with several labels always take ovr."},
    {"LOGISTIC_REGRESSION.MAX_ITER", SR_OPT_INT, OFF(low_shot.max_iter), "100", 1, 1e9,
     .help = "Largest number of iterations when the softmax is fitted (not in VISSL; the default is scikit-learn's, which"
     " VISSL uses)."},
    SR_OPTION_END,
};
const SrOption sr__schema_cluster[] = {
    {"OUTPUT_DIR", SR_OPT_STRING, OFF(cluster.output_dir), "\".\"", .help = "Folder for the label files."},
    {"NUM_ITER", SR_OPT_INT, OFF(cluster.iterations), "50", 0, 1e6, .help = "Largest number of iterations."},
    {"NUM_CLUSTERS", SR_OPT_INT, OFF(cluster.clusters), "16000", 1, 1e6, .help = "Number of clusters."},
    {"DATA_LIMIT", SR_OPT_INT64, OFF(cluster.limit), "-1", -1, 1e15,
     .help = "Number of rows, drawn at random, that the centres are computed from; -1: all.  All rows get a label."},
    {"DATA_LIMIT_SAMPLING.SEED", SR_OPT_INT, OFF(cluster.limit_seed), "0", 0, 2e9,
     .help = "Seed of the random choice that DATA_LIMIT makes."},
    {"NORMALIZE", SR_OPT_BOOL, OFF(cluster.normalize), "True",
     .help = "Divide each row by its length (not in VISSL, which always does)."},
    {"SPHERICAL", SR_OPT_BOOL, OFF(cluster.spherical), "False",
     .help = "Spherical k-means: centres have length 1 and the distance is the cosine (not in VISSL)."},
    {"FEATURES.DATASET_NAME", SR_OPT_STRING, OFF(cluster.name), "\"\"",
     .help = "First part of the files' names; empty: features."},
    {"FEATURES.LAYER_NAME", SR_OPT_STRING, OFF(cluster.layer), "\"\"",
     .help = "Layer whose features are clustered; empty: the only one."},
    SR_OPTION_END,
};
// clang-format on
