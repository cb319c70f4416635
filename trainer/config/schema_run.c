// Holds the option tables of the run: root, MACHINE, HOOKS, METERS, LOSS, CHECKPOINT, DISTRIBUTED,
// NEAREST_NEIGHBOR.
// Names and defaults are VISSL's; keys marked "ours" are not.
#include "trainer/config/schema.h"

#define OFF(field) offsetof(SrConfig, field)

// clang-format off
const SrOption sr__schema_root[] = {
    {"LOG_FREQUENCY", SR_OPT_INT, OFF(log_frequency), "10", 1, 1e9, NULL, "Iterations between two progress lines."},
    {"TEST_ONLY", SR_OPT_BOOL, OFF(test_only), "False", 0, 0, NULL, "Evaluate, do not train."},
    {"TEST_MODEL", SR_OPT_BOOL, OFF(test_model), "True", 0, 0, NULL, "Evaluate during and after training."},
    {"TEST_EVERY_NUM_EPOCH", SR_OPT_INT, OFF(test_every_num_epoch), "1", 1, 1e9, NULL,
     "With labels: a test phase after epochs 0, n, 2n, ... and the last.  A trunk alone is evaluated at the end."},
    {"SEED_VALUE", SR_OPT_INT64, OFF(seed), "0", 0, 9e15, NULL, "Everything random in the run follows from it."},
    {"MACHINE", SR_OPT_TREE, OFF(sections.machine), "{}", 0, 0, NULL, "The machine."},
    {"HOOKS", SR_OPT_TREE, OFF(sections.hooks), "{}", 0, 0, NULL, "What happens around the steps."},
    {"DATA", SR_OPT_TREE, OFF(sections.data), "{}", 0, 0, NULL, "Where images come from."},
    {"METERS", SR_OPT_TREE, OFF(sections.meters), "{}", 0, 0, NULL, "What phases with labels measure."},
    {"MODEL", SR_OPT_TREE, OFF(sections.model), "{}", 0, 0, NULL, "Trunk, heads and what is frozen."},
    {"LOSS", SR_OPT_TREE, OFF(loss_tree), "{}", 0, 0, NULL, "The method."},
    {"OPTIMIZER", SR_OPT_TREE, OFF(sections.optimizer), "{}", 0, 0, NULL, "How parameters move."},
    {"CHECKPOINT", SR_OPT_TREE, OFF(sections.checkpoint), "{}", 0, 0, NULL, "What is kept of a run."},
    {"DISTRIBUTED", SR_OPT_TREE, OFF(sections.distributed), "{}", 0, 0, NULL, "Processes of a run."},
    {"DISTILLATION.TEACHER_MODEL", SR_OPT_TREE, OFF(sections.teacher),
     "{FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, FREEZE_TRUNK_AND_HEAD: True, EVAL_TRUNK_AND_HEAD: True}}",
     0, 0, NULL,
     "Keys of MODEL in which the teacher of a distillation differs from the student; WEIGHTS_INIT names its weights."},
    {"CLUSTERFIT", SR_OPT_TREE, OFF(sections.cluster), "{}", 0, 0, NULL, "k-means of features."},
    {"RANKING.NORMALIZE_FEATS", SR_OPT_BOOL, OFF(rank_normalized), "True", 0, 0, NULL,
     "`sslrun retrieve`: divide each feature by its length."},
    {"SVM", SR_OPT_TREE, OFF(sections.svm), "{}", 0, 0, NULL, "Linear support vector machines on features."},
    {"NEAREST_NEIGHBOR", SR_OPT_TREE, OFF(sections.neighbor), "{}", 0, 0, NULL, "Nearest-neighbour evaluation."},
    {"LOW_SHOT_BENCHMARK", SR_OPT_TREE, OFF(sections.low_shot), "{}", 0, 0, NULL, "Logistic regression on features."},
    SR_OPTION_END,
};

const SrOption sr__schema_machine[] = {
    {"DEVICE", SR_OPT_ENUM, OFF(device), "gpu", 0, 0, "gpu|cpu", "Both mean the CPU here."},
    {"WINOGRAD", SR_OPT_ENUM, OFF(winograd), "f4", 0, 0, "none|f2|f4",
     "3x3 convolutions by Winograd where that is faster (ours): f4 up to F(4x4,3x3), F(3x3,3x3) too, with rounding errors"
     " of 1e-6 to 2e-5; f2 as exact as direct products; none."},
    {"FP32", SR_OPT_ENUM, OFF(fp32), "auto", 0, 0, "ieee|x6|x3|auto",
     "How convolutions multiply floats on tile registers (AMX), layer by layer where that is faster (ours): x6 as six"
     " bfloat16 products, more exact than fused multiply-adds; x3 as three, with rounding errors of 5e-6 as Winograd"
     " F(4x4); ieee not at all; auto x6.  Without tile registers all are ieee."},
    {"RECOMPUTE", SR_OPT_ENUM, OFF(recompute), "auto", 0, 0, "auto|never|always",
     "The backward computes normalised and activated maps again instead of keeping them, which takes less memory and a"
     " few per cent more time (ours; no bit changes): auto where all that a step keeps would take more than 384 MB."},
    SR_OPTION_END,
};

const SrOption sr__schema_hooks[] = {
    {"CHECK_NAN", SR_OPT_BOOL, OFF(check_nan), "True", 0, 0, NULL, "Stop at the first loss that is not finite, and save no parameters that are not."},
    {"EMA_MODEL.SAVE_EMA_MODEL", SR_OPT_BOOL, OFF(ema.save), "False", 0, 0, NULL,
     "Keep an averaged copy of trunk and heads in every checkpoint; evaluation takes it with"
     " MODEL.WEIGHTS_INIT.REMOVE_PREFIX=ema_model."},
    {"EMA_MODEL.UPDATE_ITER", SR_OPT_INT64, OFF(ema.update_iter), "1", 1, 1e12, NULL, "It moves after every n-th update."},
    {"EMA_MODEL.WARMUP", SR_OPT_FLOAT, OFF(ema.warmup), "0.05", 0, 1, NULL,
     "For this part of the run it is the weights themselves."},
    {"EMA_MODEL.DECAY", SR_OPT_FLOAT, OFF(ema.decay), "0.9999", 0, 1, NULL, "Share it keeps when it moves."},
    {"PROBE.EVERY_NUM_EPOCHS", SR_OPT_INT, OFF(probe.every_num_epochs), "0", 0, 1e9, NULL,
     "After every n-th epoch: kNN (NEAREST_NEIGHBOR) and a linear classifier on features of the trunk as it stands"
     " (ours); training keeps its bits; 0: off."},
    {"PROBE.LIMIT", SR_OPT_INT64, OFF(probe.limit), "5000", 0, 1e15, NULL,
     "A probe looks at so many training images at most, drawn at random, and at so many test images (ours); 0: all."},
    {"TENSORBOARD_SETUP.USE_TENSORBOARD", SR_OPT_BOOL, OFF(tensorboard.on), "False", 0, 0, NULL,
     "Event files for TensorBoard in tb_logs/ of the run folder: scalars, parameters, augmentations, the projector."},
    {"TENSORBOARD_SETUP.FLUSH_EVERY_N_MIN", SR_OPT_FLOAT, OFF(tensorboard.flush_min), "5", 0, 1e6, NULL,
     "Minutes after which readers see what was written."},
    {"TENSORBOARD_SETUP.LOG_PARAMS", SR_OPT_BOOL, OFF(tensorboard.params), "True", 0, 0, NULL,
     "Histograms of parameters."},
    {"TENSORBOARD_SETUP.LOG_PARAMS_GRADIENTS", SR_OPT_BOOL, OFF(tensorboard.gradients), "True", 0, 0, NULL,
     "Histograms of gradients."},
    {"TENSORBOARD_SETUP.LOG_PARAMS_EVERY_N_ITERS", SR_OPT_INT64, OFF(tensorboard.params_every), "310", 0, 1e12, NULL,
     "Updates between two histograms; 0: none."},
    SR_OPTION_END,
};

// The options of each meter come from its file in measure/meters/.
const SrOption sr__schema_meters[] = {
    {"name", SR_OPT_STRING, OFF(meters.single), "\"\"", 0, 0, NULL, "One meter more, behind METERS.names (deprecated)."},
    {"names", SR_OPT_STRINGS, OFF(meters.names), "[]", 0, 0, NULL, "Meters of train and test phases."},
    {"enable_training_meter", SR_OPT_BOOL, OFF(meters.training), "True", 0, 0, NULL,
     "Meters in train phases too."},
    SR_OPTION_END,
};

// Each loss's own map comes from its file.
const SrOption sr__schema_loss[] = {
    {"name", SR_OPT_STRING, OFF(loss_name), "CrossEntropyLoss", 0, 0, NULL, "Which loss."},
    SR_OPTION_END,
};

const SrOption sr__schema_checkpoint[] = {
    {"DIR", SR_OPT_STRING, OFF(checkpoint.dir), "runs", 0, 0, NULL,
     "The run folder, made if missing; where no file sets it, runs/ and the name of the configuration."},
    {"AUTO_RESUME", SR_OPT_BOOL, OFF(checkpoint.auto_resume), "True", 0, 0, NULL,
     "Go on from the newest checkpoint of the run folder; False begins anew, as --restart does: checkpoints that are"
     " there move to earlier-N/ below the folder."},
    {"CHECKPOINT_FREQUENCY", SR_OPT_INT, OFF(checkpoint.checkpoint_frequency), "1", -1, 1e9, NULL,
     "Epochs between two checkpoints; -1 or 0: only at the end."},
    {"CHECKPOINT_ITER_FREQUENCY", SR_OPT_INT64, OFF(checkpoint.checkpoint_iter_frequency), "-1", -1, 1e15, NULL,
     "Iterations between two checkpoints within an epoch; -1 or 0: none."},
    {"OVERWRITE_EXISTING", SR_OPT_BOOL, OFF(checkpoint.overwrite_existing), "False", 0, 0, NULL,
     "Begin anew where the folder holds a finished run, one of another model or configuration, or only damaged"
     " checkpoints, which move to earlier-N/ below it; an unfinished run of this configuration is gone on with."},
    {"KEEP_BEST", SR_OPT_BOOL, OFF(checkpoint.keep_best), "True", 0, 0, NULL,
     "With labels: model_best holds the model of the best test phase, by the first meter's first value (ours)."},
    {"KEEP_LAST", SR_OPT_INT, OFF(checkpoint.keep_last), "0", 0, 1e9, NULL,
     "How many phase and iteration checkpoints of this run stay, and finals of fewer epochs (ours); 0: all.  What was"
     " written for an interruption goes once the run has gone on, whatever stands here."},
    SR_OPTION_END,
};

const SrOption sr__schema_distributed[] = {
    {"NUM_NODES", SR_OPT_INT, OFF(num_nodes), "1", 1, 1e6, NULL, "Machines of the recipe (see REPLICAS)."},
    {"NUM_PROC_PER_NODE", SR_OPT_INT, OFF(num_proc_per_node), "8", 1, 1e6, NULL,
     "Processes a machine of the recipe (see REPLICAS)."},
    {"REPLICAS", SR_OPT_TREE, OFF(replicas_given), "auto", 0, 0, NULL,
     "Batches a step, each normalised by itself: a number, recipe (NUM_NODES x NUM_PROC_PER_NODE), or auto (one a"
     " rank of this run).  The result depends on it, and not on how many ranks share them (mpirun -np)."},
    {"REDUCE", SR_OPT_ENUM, OFF(reduce), "tree", 0, 0, "tree|mpi",
     "How ranks add their gradients (ours): by a fixed tree, with the same bits for any number of ranks, or as the MPI"
     " library does."},
    {"MEMORY", SR_OPT_ENUM, OFF(memory), "auto", 0, 0, "auto|again|keep",
     "Activations of a rank's replicas until the loss over all rows is known (ours): kept, or computed again in a second"
     " forward, in the memory of one replica; auto: kept where they fit in half of the free memory.  The same bits."},
    SR_OPTION_END,
};

const SrOption sr__schema_neighbor[] = {
    {"SIGMA", SR_OPT_FLOAT, OFF(knn.sigma), "0.1", 1e-6, 1e6, NULL, "Temperature of the votes exp(similarity / SIGMA)."},
    {"TOPK", SR_OPT_INTS, OFF(knn.topk), "200", 1, 1e9, NULL, "Neighbours that vote; a list gives one result each."},
    {"L2_NORM_FEATS", SR_OPT_BOOL, OFF(knn.l2_norm_feats), "True", 0, 0, NULL,
     "Divides each feature by its length before comparing (VISSL's default: False); without it the longest features win"
     " votes."},
    {"LAYER", SR_OPT_STRING, OFF(knn.layer), "flatten", 0, 0, NULL,
     "The feature compared (ours): any layer name of the trunk."},
    {"BANK_LIMIT", SR_OPT_INT64, OFF(knn.bank_limit), "0", 0, 1e15, NULL,
     "At most so many training images, drawn at random, are compared with (ours); 0: all."},
    {"FEATURES.PATH", SR_OPT_STRING, OFF(knn.features_path), "\"\"", 0, 0, NULL,
     "A folder with features of both sides, in place of the trunk's."},
    SR_OPTION_END,
};
// clang-format on
