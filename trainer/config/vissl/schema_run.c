// Holds the option tables of the run: root, MACHINE, HOOKS, METERS, LOSS, CHECKPOINT, DISTRIBUTED,
// NEAREST_NEIGHBOR.
// Names and defaults are VISSL's; keys marked "not in VISSL" are additions.
#include "trainer/config/vissl/schema.h"

#define OFF(field) offsetof(SrConfig, field)

// clang-format off
const SrOption sr__schema_root[] = {
    {"LOG_FREQUENCY", SR_OPT_INT, OFF(log_frequency), "10", 1, 1e9,
     .help = "Number of iterations between two progress lines."},
    {"TEST_ONLY", SR_OPT_BOOL, OFF(test_only), "False",
     .help = "Evaluate the newest checkpoint, or PARAMS_FILE, and do not train."},
    {"TEST_MODEL", SR_OPT_BOOL, OFF(test_model), "True",
     .help = "Evaluate on DATA.TEST during and after training."},
    {"TEST_EVERY_NUM_EPOCH", SR_OPT_INT, OFF(test_every_num_epoch), "1", 1, 1e9,
     .help = "With a loss that needs labels, a test phase follows epochs 0, n, 2n, ... and the last.  A self-supervised"
     " trunk is evaluated at the end only."},
    {"SEED_VALUE", SR_OPT_INT64, OFF(seed), "0", 0, 9e15, .help = "Seed of everything random in the run."},
    {"MACHINE", SR_OPT_TREE, OFF(sections.machine), "{}", .help = "How this machine computes."},
    {"HOOKS", SR_OPT_TREE, OFF(sections.hooks), "{}", .help = "Checks and records made during training."},
    {"DATA", SR_OPT_TREE, OFF(sections.data), "{}", .help = "Where images come from."},
    {"METERS", SR_OPT_TREE, OFF(sections.meters), "{}", .help = "What train and test phases with labels measure."},
    {"MODEL", SR_OPT_TREE, OFF(sections.model), "{}", .help = "Trunk, heads and what is frozen."},
    {"LOSS", SR_OPT_TREE, OFF(loss_tree), "{}",
     .help = "The loss, which is the training method, and its options."},
    {"OPTIMIZER", SR_OPT_TREE, OFF(sections.optimizer), "{}", .help = "How parameters are updated."},
    {"CHECKPOINT", SR_OPT_TREE, OFF(sections.checkpoint), "{}",
     .help = "Checkpoints: where and when they are written."},
    {"DISTRIBUTED", SR_OPT_TREE, OFF(sections.distributed), "{}", .help = "Replicas and processes of a run."},
    {"DISTILLATION.TEACHER_MODEL", SR_OPT_TREE, OFF(sections.teacher),
     "{FEATURE_EVAL_SETTINGS: {EVAL_MODE_ON: True, FREEZE_TRUNK_AND_HEAD: True, EVAL_TRUNK_AND_HEAD: True}}",
     .help = "Keys of MODEL in which the teacher of a distillation differs from the student; WEIGHTS_INIT names its weights."},
    {"DISTILLATION.TEACHER_INPUT_SIZE", SR_OPT_INT, OFF(distillation.teacher_side), "0", 0, 4096,
     .help = "Rows and columns, in pixels, that the student's views are resized to for the teacher, bilinear and without"
     " antialiasing, as torch's F.interpolate does (not in VISSL).  0: teacher and student see the same size."},
    {"DISTILLATION.CACHED_VIEWS", SR_OPT_INT, OFF(distillation.cached_views), "0", 0, 1 << 20,
     .help = "Number K of epochs after which images, order and views repeat, so that the teacher runs K times over the images"
     " and later epochs read its outputs, in half precision, from a file (not in VISSL).  0: the teacher runs in every"
     " step."},
    {"DISTILLATION.CACHE", SR_OPT_ENUM, OFF(distillation.cache), "on", .choices = "on|off",
     .help = "on: keep the teacher's outputs of CACHED_VIEWS in a file.  off: run the teacher in every epoch, with the same"
     " results (not in VISSL)."},
    {"DISTILLATION.CACHE_FILE", SR_OPT_STRING, OFF(distillation.cache_file), "\"\"",
     .help = "File of the teacher's outputs, which several runs with the same teacher, data and batches may share (not in"
     " VISSL).  Empty: teacher_outputs.cache in CHECKPOINT.DIR."},
    {"CLUSTERFIT", SR_OPT_TREE, OFF(sections.cluster), "{}", .help = "k-means of features."},
    {"RANKING.NORMALIZE_FEATS", SR_OPT_BOOL, OFF(rank_normalized), "True",
     .help = "Divide each feature by its length in `sslrun retrieve`."},
    {"SVM", SR_OPT_TREE, OFF(sections.svm), "{}", .help = "Linear support vector machines on features."},
    {"NEAREST_NEIGHBOR", SR_OPT_TREE, OFF(sections.neighbor), "{}", .help = "Nearest-neighbour evaluation."},
    {"LOW_SHOT_BENCHMARK", SR_OPT_TREE, OFF(sections.low_shot), "{}", .help = "Logistic regression on features."},
    SR_OPTION_END,
};

const SrOption sr__schema_machine[] = {
    {"DEVICE", SR_OPT_ENUM, OFF(device), "gpu", .choices = "gpu|cpu",
     .help = "Accepted for VISSL's recipes; both values mean the CPU."},
    {"WINOGRAD", SR_OPT_ENUM, OFF(winograd), "f4", .choices = "none|f2|f4",
     .help = "Winograd algorithm for 3x3 convolutions, used where it is faster (not in VISSL).  f4: tiles up to F(4x4,3x3),"
     " with rounding errors of 1e-6 to 2e-5.  f2: F(2x2,3x3) only, as exact as direct convolution.  none: direct"
     " convolution."},
    {"FP32", SR_OPT_ENUM, OFF(fp32), "auto", .choices = "ieee|x6|x3|auto",
     .help = "How convolutions multiply floats with AMX tile registers, in each layer where that is faster (not in VISSL)."
     "  x6: six bfloat16 products, more exact than fused multiply-adds.  x3: three, with rounding errors of 5e-6,"
     " like Winograd F(4x4).  ieee: tile registers are not used.  auto: x6.  Without tile registers, all values"
     " mean ieee."},
    {"RECOMPUTE", SR_OPT_ENUM, OFF(recompute), "auto", .choices = "auto|never|always",
     .help = "Recompute normalised and activated maps in the backward pass instead of keeping them: less memory, a few per"
     " cent more time, the same bits (not in VISSL).  auto: where the values that a step keeps would take more than"
     " 384 MB.  If that is not enough, maps that convolutions of few channels have expanded are recomputed too."},
    SR_OPTION_END,
};

const SrOption sr__schema_hooks[] = {
    {"CHECK_NAN", SR_OPT_BOOL, OFF(check_nan), "True",
     .help = "Stop at the first loss that is not finite, and never save parameters that are not finite."},
    {"EMA_MODEL.SAVE_EMA_MODEL", SR_OPT_BOOL, OFF(ema.save), "False",
     .help = "Keep an averaged copy of trunk and heads in every checkpoint; evaluation takes it with"
     " MODEL.WEIGHTS_INIT.REMOVE_PREFIX=ema_model."},
    {"EMA_MODEL.UPDATE_ITER", SR_OPT_INT64, OFF(ema.update_iter), "1", 1, 1e12,
     .help = "Number of updates between two updates of the averaged copy.", .needs = "EMA_MODEL.SAVE_EMA_MODEL"},
    {"EMA_MODEL.WARMUP", SR_OPT_FLOAT, OFF(ema.warmup), "0.05", 0, 1,
     .help = "Part of the run at its start in which the averaged copy equals the weights.", .needs = "EMA_MODEL.SAVE_EMA_MODEL"},
    {"EMA_MODEL.DECAY", SR_OPT_FLOAT, OFF(ema.decay), "0.9999", 0, 1,
     .help = "Share of its old value that the averaged copy keeps at each of its updates.", .needs = "EMA_MODEL.SAVE_EMA_MODEL"},
    {"PROBE.EVERY_NUM_EPOCHS", SR_OPT_INT, OFF(probe.every_num_epochs), "0", 0, 1e9,
     .help = "After every n-th epoch, measure the trunk by kNN (NEAREST_NEIGHBOR) and by a linear classifier (not in"
     " VISSL).  Training gives the same bits with and without it.  0: off."},
    {"PROBE.LIMIT", SR_OPT_INT64, OFF(probe.limit), "5000", 0, 1e15,
     .help = "Largest number of training images and of test images that a probe uses, drawn at random (not in VISSL); 0:"
     " all."},
    {"TENSORBOARD_SETUP.USE_TENSORBOARD", SR_OPT_BOOL, OFF(tensorboard.on), "False",
     .help = "Write event files for TensorBoard to tb_logs/ in the run folder: scalars, parameters, augmentations, the"
     " projector."},
    {"TENSORBOARD_SETUP.FLUSH_EVERY_N_MIN", SR_OPT_FLOAT, OFF(tensorboard.flush_min), "5", 0, 1e6,
     .help = "Minutes between two flushes of the event files to disk."},
    {"TENSORBOARD_SETUP.LOG_PARAMS", SR_OPT_BOOL, OFF(tensorboard.params), "True",
     .help = "Write histograms of parameters."},
    {"TENSORBOARD_SETUP.LOG_PARAMS_GRADIENTS", SR_OPT_BOOL, OFF(tensorboard.gradients), "True",
     .help = "Write histograms of gradients."},
    {"TENSORBOARD_SETUP.LOG_PARAMS_EVERY_N_ITERS", SR_OPT_INT64, OFF(tensorboard.params_every), "310", 0, 1e12,
     .help = "Updates between two histograms; 0: none."},
    SR_OPTION_END,
};

// The options of each meter come from its file in measure/meters/.
const SrOption sr__schema_meters[] = {
    {"name", SR_OPT_STRING, OFF(meters.single), "\"\"",
     .help = "One more meter, added after METERS.names (deprecated)."},
    {"names", SR_OPT_STRINGS, OFF(meters.names), "[]", .help = "Names of the meters of train and test phases."},
    {"enable_training_meter", SR_OPT_BOOL, OFF(meters.training), "True",
     .help = "Meters run in train phases too."},
    SR_OPTION_END,
};

// Each loss's own map comes from its file.
const SrOption sr__schema_loss[] = {
    {"name", SR_OPT_STRING, OFF(loss_name), "CrossEntropyLoss", .help = "Name of the loss."},
    SR_OPTION_END,
};

const SrOption sr__schema_checkpoint[] = {
    {"DIR", SR_OPT_STRING, OFF(checkpoint.dir), "runs",
     .help = "The run folder; it is created if missing.  If no file sets it: runs/ and the name of the configuration."},
    {"AUTO_RESUME", SR_OPT_BOOL, OFF(checkpoint.auto_resume), "True",
     .help = "Resume from the newest checkpoint of the run folder.  False: start again, as --restart does; checkpoints in"
     " the folder move to earlier-N/ below it."},
    {"CHECKPOINT_FREQUENCY", SR_OPT_INT, OFF(checkpoint.checkpoint_frequency), "1", -1, 1e9,
     .help = "Number of epochs between two checkpoints; -1 or 0: only at the end."},
    {"CHECKPOINT_ITER_FREQUENCY", SR_OPT_INT64, OFF(checkpoint.checkpoint_iter_frequency), "-1", -1, 1e15,
     .help = "Number of iterations between two checkpoints within an epoch; -1 or 0: none."},
    {"OVERWRITE_EXISTING", SR_OPT_BOOL, OFF(checkpoint.overwrite_existing), "False",
     .help = "Start again if the folder holds a finished run, a run of another model or configuration, or only damaged"
     " checkpoints; they move to earlier-N/ below it.  An unfinished run of this configuration is resumed."},
    {"KEEP_BEST", SR_OPT_BOOL, OFF(checkpoint.keep_best), "True",
     .help = "In a run with labels, keep the model of the best test phase as model_best; the first value of the first meter"
     " decides (not in VISSL)."},
    {"KEEP_LAST", SR_OPT_INT, OFF(checkpoint.keep_last), "0", 0, 1e9,
     .help = "Number of phase and iteration checkpoints of this run to keep, and of final ones of fewer epochs (not in"
     " VISSL); 0: all.  A checkpoint that was written at an interruption is removed after the run has resumed,"
     " whatever this value is."},
    SR_OPTION_END,
};

const SrOption sr__schema_distributed[] = {
    {"NUM_NODES", SR_OPT_INT, OFF(num_nodes), "1", 1, 1e6,
     .help = "Number of machines that the recipe was written for (see REPLICAS)."},
    {"NUM_PROC_PER_NODE", SR_OPT_INT, OFF(num_proc_per_node), "8", 1, 1e6,
     .help = "Number of processes per machine that the recipe was written for (see REPLICAS)."},
    {"REPLICAS", SR_OPT_TREE, OFF(replicas_given), "auto",
     .help = "Number of batches per step, each with its own batch-norm statistics: a number, recipe (NUM_NODES x"
     " NUM_PROC_PER_NODE), or auto (one per rank of this run).  The result depends on this number, and not on the"
     " number of ranks (mpirun -np)."},
    {"REDUCE", SR_OPT_ENUM, OFF(reduce), "tree", .choices = "tree|mpi",
     .help = "How ranks add their gradients (not in VISSL).  tree: in a fixed order, with the same bits for any number of"
     " ranks.  mpi: as the MPI library does."},
    {"MEMORY", SR_OPT_ENUM, OFF(memory), "auto", .choices = "auto|again|keep",
     .help = "What happens to the activations of a rank's replicas until the loss over all rows is known (not in VISSL)."
     "  keep: they stay in memory.  again: a second forward pass recomputes them, in the memory of one replica."
     "  auto: keep if they fit in half of the free memory.  All give the same bits."},
    SR_OPTION_END,
};

const SrOption sr__schema_neighbor[] = {
    {"SIGMA", SR_OPT_FLOAT, OFF(knn.sigma), "0.1", 1e-6, 1e6, .help = "Temperature of the votes exp(similarity / SIGMA)."},
    {"TOPK", SR_OPT_INTS, OFF(knn.topk), "200", 1, 1e9,
     .help = "Number of neighbours that vote; a list gives one result for each."},
    {"L2_NORM_FEATS", SR_OPT_BOOL, OFF(knn.l2_norm_feats), "True",
     .help = "Divide each feature by its length before comparing (VISSL's default: False).  Without it, the longest"
     " features win votes."},
    {"LAYER", SR_OPT_STRING, OFF(knn.layer), "flatten",
     .help = "Layer whose features are compared, by any name of the trunk's layers (not in VISSL)."},
    {"BANK_LIMIT", SR_OPT_INT64, OFF(knn.bank_limit), "0", 0, 1e15,
     .help = "Largest number of training images to compare with, drawn at random (not in VISSL); 0: all."},
    {"FEATURES.PATH", SR_OPT_STRING, OFF(knn.features_path), "\"\"",
     .help = "Folder that holds features of training and test images; they replace the trunk's features."},
    SR_OPTION_END,
};
// clang-format on
