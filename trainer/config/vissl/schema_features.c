// Holds the option tables of work on extracted features: SVM, LOW_SHOT_BENCHMARK, CLUSTERFIT.
// Names and defaults are VISSL's; keys marked "not in VISSL" are additions.
#include "trainer/config/vissl/schema.h"

#define OFF(field) offsetof(SrConfig, field)

// clang-format off
const SrOption sr__schema_svm[] = {
    {"normalize", SR_OPT_BOOL, OFF(svm.normalize), "True", 0, 0, NULL, "Divide each feature by its length."},
    {"cls_list", SR_OPT_INTS, OFF(svm.classes), "[]", 0, 1e6, NULL, "Classes to train; empty: all."},
    {"loss", SR_OPT_ENUM, OFF(svm.loss), "squared_hinge", 0, 0, "squared_hinge|hinge", "Loss for a margin below 1."},
    {"penalty", SR_OPT_ENUM, OFF(svm.penalty), "l2", 0, 0, "l2|l1", "Norm of the weights that is penalised."},
    {"cross_val_folds", SR_OPT_INT, OFF(svm.folds), "3", 2, 100, NULL,
     "Number of folds of the cross-validation that chooses the cost."},
    {"costs.costs_list", SR_OPT_FLOATS, OFF(svm.costs), "[0.1, 0.01]", 1e-12, 1e12, NULL, "Costs C to choose from."},
    {"costs.base", SR_OPT_FLOAT, OFF(svm.cost_base), "-1.0", -1, 1e6, NULL,
     "If above 0, base^k is added to the costs for each k of power_range."},
    {"costs.power_range", SR_OPT_INTS, OFF(svm.power_range), "[4, 20]", -60, 60, NULL, "First k, and the k after"
     " the last one."},
    {"low_shot.sample_inds", SR_OPT_INTS, OFF(svm.low_shot_draws), "[1, 2, 3, 4, 5]", 0, 1e6, NULL,
     "Indices of the independent random draws."},
    {"low_shot.k_values", SR_OPT_INTS, OFF(svm.low_shot_k), "[1, 2, 4, 8, 16, 32, 64, 96]", 1, 1e6, NULL,
     "Training images per class."},
    SR_OPTION_END,
};

const SrOption sr__schema_low_shot[] = {
    {"LOGISTIC_REGRESSION.LAMBDA", SR_OPT_FLOATS, OFF(low_shot.lambdas), "0.025", 1e-12, 1e12, NULL,
     "Strengths of the penalty; liblinear's cost is the number of training images divided by it.  A list gives one"
     " result for each."},
    {"LOGISTIC_REGRESSION.SEEDS", SR_OPT_INTS, OFF(low_shot.seeds), "[0]", 0, 2e9, NULL,
     "Seeds of the independent random draws; used where SAMPLES_PER_CLASS limits the training images."},
    {"LOGISTIC_REGRESSION.SAMPLES_PER_CLASS", SR_OPT_INT, OFF(low_shot.per_class), "0", 0, 1e9, NULL,
     "Training images per class, drawn once per seed (not in VISSL); 0: all."},
    {"LOGISTIC_REGRESSION.MULTI_CLASS", SR_OPT_ENUM, OFF(low_shot.one_vs_rest), "multinomial", 0, 0, "multinomial|ovr",
     "multinomial: one softmax over all classes; ovr: each class against the rest, by liblinear (not in VISSL)."
     "  Images with several labels always take ovr."},
    {"LOGISTIC_REGRESSION.MAX_ITER", SR_OPT_INT, OFF(low_shot.max_iter), "100", 1, 1e9, NULL,
     "Largest number of iterations when the softmax is fitted (not in VISSL; the default is scikit-learn's, which"
     " VISSL uses)."},
    SR_OPTION_END,
};
const SrOption sr__schema_cluster[] = {
    {"OUTPUT_DIR", SR_OPT_STRING, OFF(cluster.output_dir), "\".\"", 0, 0, NULL, "Folder for the label files."},
    {"NUM_ITER", SR_OPT_INT, OFF(cluster.iterations), "50", 0, 1e6, NULL, "Largest number of iterations."},
    {"NUM_CLUSTERS", SR_OPT_INT, OFF(cluster.clusters), "16000", 1, 1e6, NULL, "Number of clusters."},
    {"DATA_LIMIT", SR_OPT_INT64, OFF(cluster.limit), "-1", -1, 1e15, NULL,
     "Number of rows, drawn at random, that the centres are computed from; -1: all.  All rows get a label."},
    {"DATA_LIMIT_SAMPLING.SEED", SR_OPT_INT, OFF(cluster.limit_seed), "0", 0, 2e9, NULL,
     "Seed of the random choice that DATA_LIMIT makes."},
    {"NORMALIZE", SR_OPT_BOOL, OFF(cluster.normalize), "True", 0, 0, NULL,
     "Divide each row by its length (not in VISSL, which always does)."},
    {"SPHERICAL", SR_OPT_BOOL, OFF(cluster.spherical), "False", 0, 0, NULL,
     "Spherical k-means: centres have length 1 and the distance is the cosine (not in VISSL)."},
    {"FEATURES.DATASET_NAME", SR_OPT_STRING, OFF(cluster.name), "\"\"", 0, 0, NULL,
     "First part of the files' names; empty: features."},
    {"FEATURES.LAYER_NAME", SR_OPT_STRING, OFF(cluster.layer), "\"\"", 0, 0, NULL,
     "Layer whose features are clustered; empty: the only one."},
    SR_OPTION_END,
};
// clang-format on
