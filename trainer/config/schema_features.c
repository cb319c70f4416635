// Holds the option tables of work on extracted features: SVM, LOW_SHOT_BENCHMARK, CLUSTERFIT.
// Names and defaults are VISSL's; keys marked "ours" are not.
#include "trainer/config/schema.h"

#define OFF(field) offsetof(SrConfig, field)

// clang-format off
const SrOption sr__schema_svm[] = {
    {"normalize", SR_OPT_BOOL, OFF(svm.normalize), "True", 0, 0, NULL, "Divide each feature by its length."},
    {"cls_list", SR_OPT_INTS, OFF(svm.classes), "[]", 0, 1e6, NULL, "Classes to train; empty: all."},
    {"loss", SR_OPT_ENUM, OFF(svm.loss), "squared_hinge", 0, 0, "squared_hinge|hinge", "Of a margin below 1."},
    {"penalty", SR_OPT_ENUM, OFF(svm.penalty), "l2", 0, 0, "l2|l1", "On the weights."},
    {"cross_val_folds", SR_OPT_INT, OFF(svm.folds), "3", 2, 100, NULL, "Parts of the cross-validation that chooses the cost."},
    {"costs.costs_list", SR_OPT_FLOATS, OFF(svm.costs), "[0.1, 0.01]", 1e-12, 1e12, NULL, "Costs C to choose from."},
    {"costs.base", SR_OPT_FLOAT, OFF(svm.cost_base), "-1.0", -1, 1e6, NULL,
     "Above 0: base^k joins the costs for each k of power_range."},
    {"costs.power_range", SR_OPT_INTS, OFF(svm.power_range), "[4, 20]", -60, 60, NULL, "First k and the one after the last."},
    {"low_shot.sample_inds", SR_OPT_INTS, OFF(svm.low_shot_draws), "[1, 2, 3, 4, 5]", 0, 1e6, NULL,
     "Numbers of the independent draws."},
    {"low_shot.k_values", SR_OPT_INTS, OFF(svm.low_shot_k), "[1, 2, 4, 8, 16, 32, 64, 96]", 1, 1e6, NULL,
     "Images a class."},
    SR_OPTION_END,
};

const SrOption sr__schema_low_shot[] = {
    {"LOGISTIC_REGRESSION.LAMBDA", SR_OPT_FLOATS, OFF(low_shot.lambdas), "0.025", 1e-12, 1e12, NULL,
     "Penalties; the cost is the number of training images over it.  A list gives one result each."},
    {"LOGISTIC_REGRESSION.SEEDS", SR_OPT_INTS, OFF(low_shot.seeds), "[0]", 0, 2e9, NULL,
     "Numbers of the independent draws, where SAMPLES_PER_CLASS limits the training images."},
    {"LOGISTIC_REGRESSION.SAMPLES_PER_CLASS", SR_OPT_INT, OFF(low_shot.per_class), "0", 0, 1e9, NULL,
     "Training images a class, drawn once a seed (ours); 0: all."},
    {"LOGISTIC_REGRESSION.MULTI_CLASS", SR_OPT_ENUM, OFF(low_shot.one_vs_rest), "multinomial", 0, 0, "multinomial|ovr",
     "All classes in one softmax, or each against the rest by liblinear (ours; several labels an image are always)."},
    {"LOGISTIC_REGRESSION.MAX_ITER", SR_OPT_INT, OFF(low_shot.max_iter), "100", 1, 1e9, NULL,
     "Iterations of the softmax's fit at most (ours; scikit-learn's default, which VISSL takes)."},
    SR_OPTION_END,
};
const SrOption sr__schema_cluster[] = {
    {"OUTPUT_DIR", SR_OPT_STRING, OFF(cluster.output_dir), "\".\"", 0, 0, NULL, "Where label files go."},
    {"NUM_ITER", SR_OPT_INT, OFF(cluster.iterations), "50", 0, 1e6, NULL, "Iterations at most."},
    {"NUM_CLUSTERS", SR_OPT_INT, OFF(cluster.clusters), "16000", 1, 1e6, NULL, "How many clusters."},
    {"DATA_LIMIT", SR_OPT_INT64, OFF(cluster.limit), "-1", -1, 1e15, NULL,
     "Rows that the centres are made from, drawn at random; -1: all.  All rows get a label."},
    {"DATA_LIMIT_SAMPLING.SEED", SR_OPT_INT, OFF(cluster.limit_seed), "0", 0, 2e9, NULL, "Which rows DATA_LIMIT takes."},
    {"NORMALIZE", SR_OPT_BOOL, OFF(cluster.normalize), "True", 0, 0, NULL, "Divide each row by its length (ours; VISSL always does)."},
    {"SPHERICAL", SR_OPT_BOOL, OFF(cluster.spherical), "False", 0, 0, NULL,
     "Centres have length 1 and are compared by their product (ours)."},
    {"FEATURES.DATASET_NAME", SR_OPT_STRING, OFF(cluster.name), "\"\"", 0, 0, NULL, "How the files' names begin; empty: features."},
    {"FEATURES.LAYER_NAME", SR_OPT_STRING, OFF(cluster.layer), "\"\"", 0, 0, NULL, "The layer; empty: the only one."},
    SR_OPTION_END,
};
// clang-format on
