// Option table of OPTIMIZER: the rows that all optimisers and the groups share, then each
// optimiser's own.  VISSL has them in one map, so a key such as momentum may belong to several
// optimisers. trainer/schedules/schedule.c reads the schedules.
#include "trainer/optim/optim_options.h"

#include <string.h>

#include "base/compiler.h"
#include "base/text/text.h"
#include "trainer/optim/optimizer.h"

#define OFF(field) offsetof(SrOptimizerConfig, field)
// clang-format off
#define LR_TREE                                                                                                       \
    "{auto_lr_scaling: {auto_scale: False, base_value: 0.1, base_lr_batch_size: 256, scaling_type: linear},"          \
    " name: multistep, update_interval: epoch, values: [0.1, 0.01, 0.001], milestones: [30, 60], schedulers: [],"     \
    " interval_scaling: [], lengths: [], start_value: 0.1, end_value: 0.0, value: 0.1}"

static const SrOption shared[] = {
    {"name", SR_OPT_STRING, OFF(name), "sgd", .help = "Name of the optimizer."},
    {"weight_decay", SR_OPT_FLOAT, OFF(weight_decay), "1e-4", 0, 1e6,
     .help = "Weight decay: an L2 penalty, or decoupled from the gradient in adamw and muon."},
    {"num_epochs", SR_OPT_INT, OFF(num_epochs), "90", 1, 1e9, .help = "Number of epochs."},
    {"MINUTES", SR_OPT_INT, OFF(minutes), "0", 0, 1e6,
     .help = "Minutes for the training: as many epochs as fit them on this machine, which is measured when a run starts."
     "  A resumed run keeps its epochs.  --minutes sets this key.  0: num_epochs holds."},
    {"gradient_accumulation_steps", SR_OPT_INT, OFF(accumulation), "1", 1, 65536,
     .help = "Number of batches that every replica computes before an update (gradient accumulation).  Losses see the rows"
     " of all of them, as if they were one large batch."},
    {"regularize_bn", SR_OPT_BOOL, OFF(regularize_bn), "False", .help = "Weight decay applies to norm layers."},
    {"regularize_bias", SR_OPT_BOOL, OFF(regularize_bias), "True", .help = "Weight decay applies to biases."},
    {"non_regularized_parameters", SR_OPT_STRINGS, OFF(non_regularized_parameters), "[]",
     .help = "Parameters whose names contain one of these get no weight decay."},
    {"construct_single_param_group_only", SR_OPT_BOOL, OFF(construct_single_param_group_only), "False",
     .help = "Use one group of parameters: the same weight decay and rate for all."},
    {"param_group_constructor", SR_OPT_STRING, OFF(param_group_constructor), "default",
     .help = "How parameters are grouped: default, dino, lr_decay or linear_eval_heads."},
    {"layer_wise_lr_decay.decay", SR_OPT_FLOAT, OFF(layer_decay), "0.9", 1e-6, 1e3,
     .help = "For lr_decay: factor on the rate from a layer to the layer below it."},
    {"linear_eval_heads", SR_OPT_TREE, OFF(linear_eval_heads), "[]",
     .help = "For linear_eval_heads: {lr: factor on the rate, weight_decay, regularize_bn} for each head."},
    {"head_optimizer_params.use_different_lr", SR_OPT_BOOL, OFF(head_use_different_lr), "False",
     .help = "Learning rate of heads follows param_schedulers.lr_head."},
    {"head_optimizer_params.use_different_wd", SR_OPT_BOOL, OFF(head_use_different_wd), "False",
     .help = "Heads have their own weight decay."},
    {"head_optimizer_params.weight_decay", SR_OPT_FLOAT, OFF(head_weight_decay), "1e-4", 0, 1e6,
     .help = "Weight decay of the heads."},
    {"param_schedulers.lr", SR_OPT_TREE, OFF(lr), LR_TREE, .help = "Schedule of the learning rate."},
    {"param_schedulers.lr_head", SR_OPT_TREE, OFF(lr_head), LR_TREE, .help = "Schedule of the heads' learning"
     " rate."},
    {"param_schedulers.weight_decay", SR_OPT_TREE, OFF(weight_decay_schedule), "{}",
     .help = "Schedule of the weight decay, instead of weight_decay."},
    {"param_schedulers.weight_decay_head", SR_OPT_TREE, OFF(weight_decay_head_schedule), "{}",
     .help = "Schedule of the heads' weight decay."},
    SR_OPTION_END,
};
// clang-format on

static int count(const SrOption *table) {
    int n = 0;
    while (table && table[n].name)
        n++;
    return n;
}

// Returns "lars, sgd: Momentum, below 1.": the optimisers that have the row, then the help of the
// first one.
static const char *owned_help(const SrOption *row, SrArena *arena) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; sr_optimizer_at(i); i++)
        if (sr_options_find(sr_optimizer_at(i)->options, row->name))
            sr_text_printf(&text, "%s%s", text.len ? ", " : "", sr_optimizer_at(i)->name);
    const char *help = text.failed ? NULL : sr_arena_printf(arena, "%s: %s", text.s, row->help);
    sr_text_deinit(&text);
    return help;
}

// Adds the rows of one optimiser.  This table only checks them; the values go to `unread`, and the
// optimiser parses its keys again.
static SrStatus add_owned(const SrOptimizer *kind, SrArena *arena, SrOption *rows, int *n) {
    for (const SrOption *row = kind->options; row && row->name; row++) {
        if (sr_options_find(rows, row->name))
            continue;
        SrOption *copy = &rows[(*n)++];
        *copy = *row;
        copy->offset = OFF(unread);
        copy->help = owned_help(row, arena);
        SR_TRY_MEMORY(copy->help, "the options of OPTIMIZER");
    }
    return SR_OK;
}

SrStatus sr_optim_options(SrArena *arena, const SrOption **out) {
    int n = count(shared), room = n + 1;
    for (int i = 0; sr_optimizer_at(i); i++)
        room += count(sr_optimizer_at(i)->options);
    SrOption *rows =
        sr_arena_alloc(arena, sizeof *rows * (size_t)room); // zeros, which end the table
    SR_TRY_MEMORY(rows, "the options of OPTIMIZER");
    memcpy(rows, shared, sizeof *rows * (size_t)n);
    for (int i = 0; sr_optimizer_at(i); i++)
        SR_TRY(add_owned(sr_optimizer_at(i), arena, rows, &n));
    *out = rows;
    return SR_OK;
}

// ---- options of the chosen optimiser

static SrStatus read_own(const SrOptimizer *kind, const SrYaml *map, SrArena *arena,
                         const void **out) {
    void *params = sr_arena_alloc(arena, kind->params_bytes + 1);
    SrYaml *own;
    SR_TRY_MEMORY(params, "the options of %s", kind->name);
    SR_TRY(sr_options_pick(kind->options, map, arena, &own));
    *out = params;
    return sr_options_parse(kind->options, own, "OPTIMIZER", arena, params);
}

// Refuses a key that another optimiser claims, because the chosen one would ignore it.
static SrStatus check_claims(const SrOptimizer *kind, const SrYaml *map) {
    for (int i = 0; sr_optimizer_at(i); i++) {
        const SrOptimizer *other = sr_optimizer_at(i);
        const SrYaml *claimed = other->claims ? sr_yaml_find(map, other->claims) : NULL;
        if (claimed && claimed->type == SR_YAML_BOOL && claimed->b &&
            !sr_options_find(kind->options, other->claims))
            SR_FAIL(SR_ERR_CONFIG, "%s: OPTIMIZER.%s=True needs OPTIMIZER.name=%s, but it is %s",
                    sr_yaml_place(claimed).text, other->claims, other->name, kind->name);
    }
    return SR_OK;
}

SrStatus sr_optim_check(const SrOptimizerConfig *config, SrArena *arena, const SrOptimizer **kind,
                        const void **params) {
    SR_TRY(sr_optimizer_find(config->name, kind));
    SR_TRY(check_claims(*kind, config->options));
    SR_TRY(read_own(*kind, config->options, arena, params));
    return (*kind)->check ? (*kind)->check(*params) : SR_OK;
}
