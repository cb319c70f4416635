// Builds graphs in the way a torch module's forward reads: scopes give names, and ops create their
// own parameters.
//
//   sr_builder_push(b, "layer1"); sr_builder_push(b, "0");
//   x = sr_build(b, "conv2d", "conv1", &conv, x);
//       adds node layer1.0.conv1 with the parameter <prefix>layer1.0.conv1.weight
//   x = sr_build(b, "relu", "relu", NULL, x);
//       adds node layer1.0.relu_1 if the scope has a node layer1.0.relu already
//   sr_builder_pop(b); sr_builder_pop(b);
//
// The first error stays: every later call returns SR_NO_NODE and does nothing, and
// sr_builder_status returns the error.  Build functions therefore need no check after each line.
#ifndef SR_GRAPH_IR_BUILDER_H
#define SR_GRAPH_IR_BUILDER_H

#include "graph/ir/graph.h"

typedef struct SrBuilder SrBuilder;

SrStatus sr_builder_new(SrGraph *graph, SrBuilder **out);
void sr_builder_free(SrBuilder *b);
SrGraph *sr_builder_graph(SrBuilder *b);
SrStatus sr_builder_status(const SrBuilder *b); // the first error
SrStatus sr_builder_fail(SrBuilder *b, SrStatus status, const char *fmt, ...) SR_PRINTF(3, 4);

// Opens a scope, one or more components of a module path: "layer1", "0", "heads.0".
void sr_builder_push(SrBuilder *b, const char *scope);
// Opens a scope that is a block: a module of a class ("Bottleneck"), which lists may keep closed.
void sr_builder_push_block(SrBuilder *b, const char *scope, const char *class_name);
// Does so for a scope whose name has numbers: "blocks.%d".
void sr_builder_push_numbered(SrBuilder *b, const char *class_name, const char *fmt, ...)
    SR_PRINTF(3, 4);
void sr_builder_pop(SrBuilder *b);
// Set the prefix of parameter names ("trunk._feature_blocks.") and of node names ("" for the
// trunk, as in torchvision) from now on; scopes come after it.  Return the old prefix, to restore
// it.
const char *sr_builder_set_param_prefix(SrBuilder *b, const char *prefix);
const char *sr_builder_set_node_prefix(SrBuilder *b, const char *prefix);
// Nodes from now on carry "@pass" when pass > 0; parameters are shared with earlier passes by name.
void sr_builder_set_pass(SrBuilder *b, int pass);
// Sets SrNode.aside of nodes from now on; true: torchvision does not list them.  Returns the old
// setting.
bool sr_builder_set_aside(SrBuilder *b, bool aside);
// Sets the SrMode bits of nodes from now on; SR_MODE_BOTH at the start.
void sr_builder_set_mode(SrBuilder *b, unsigned mode);
// Sets the iteration from which a train plan runs nodes as in evaluation, for nodes from now on.  A
// teacher that uses running statistics has 0.  INT64_MAX, the start value: never.
void sr_builder_set_eval_from(SrBuilder *b, int64_t iteration);
// Returns the present value, for callers that restore it.
int64_t sr_builder_eval_from(const SrBuilder *b);
// Sets whether parameters created from now on are frozen.  Returns the old setting.
bool sr_builder_set_frozen(SrBuilder *b, bool frozen);
// Sets how slot `slot` ("weight") of the next node is drawn, instead of the op's default.
void sr_builder_set_init(SrBuilder *b, const char *slot, SrInit init);
// Names the entry of slot `slot` of the next node <scopes>.<entry>, as a module names its own
// parameter ("cls_token"), instead of <scopes>.<leaf>.<slot>.
void sr_builder_set_entry(SrBuilder *b, const char *slot, const char *entry);

// Adds a node.  leaf: name of the module within its parent, or of the function as in torch.fx
// ("add", "flatten").  params: options of the op; NULL: defaults.
SrNodeId sr_build(SrBuilder *b, const char *op, const char *leaf, const void *params, SrNodeId x);
SrNodeId sr_build_n(SrBuilder *b, const char *op, const char *leaf, const void *params,
                    const SrNodeId *x, int n);
// Adds a node with explicit table entries w instead of fresh ones; n_w must match the op's slots.
SrNodeId sr_build_bound(SrBuilder *b, const char *op, const char *leaf, const void *params,
                        const SrNodeId *x, int n, const int *w, int n_w);
SrNodeId sr_build_input(SrBuilder *b, const char *name, SrShape shape, SrDtype dtype);
// Adds a state entry to the table under the present prefixes, for losses (queues, counters,
// centres). Returns its index.
int sr_build_state(SrBuilder *b, const char *name, SrShape shape, SrDtype dtype, SrInit init);
// Adds an SrRemark, a line of torchvision's list without computation.  shape: in torch's axis
// order; NULL: no tensor.
void sr_build_remark(SrBuilder *b, const char *leaf, const SrShape *shape);
// Adds the remark of a parameter of the module whose scope is open.  torch.fx names it after its
// path: "features_1_0_layer_scale".
void sr_build_parameter_remark(SrBuilder *b, const char *parameter, SrShape shape);
SrShape sr_build_shape(const SrBuilder *b, SrNodeId id);
void sr_build_alias(SrBuilder *b, const char *alias, SrNodeId id);
// Does so for an alias with numbers: "res%d".
void sr_build_alias_numbered(SrBuilder *b, SrNodeId id, const char *fmt, ...) SR_PRINTF(3, 4);

#endif
