// Building graphs as a torch module's forward reads: scopes give names, ops create their own parameters.
//
//   sr_builder_push(b, "layer1"); sr_builder_push(b, "0");
//   x = sr_build(b, "conv2d", "conv1", &conv, x);      node layer1.0.conv1, parameter <prefix>layer1.0.conv1.weight
//   x = sr_build(b, "relu", "relu", NULL, x);          second use in the same scope: layer1.0.relu_1
//   sr_builder_pop(b); sr_builder_pop(b);
//
// Errors stick: after the first one every call returns SR_NO_NODE and does nothing, and sr_builder_status
// gives it; so build functions need no check after each line.
#ifndef SR_GRAPH_BUILDER_H
#define SR_GRAPH_BUILDER_H

#include "graph/graph.h"

typedef struct SrBuilder SrBuilder;

SrStatus sr_builder_new(SrGraph *graph, SrBuilder **out);
void sr_builder_free(SrBuilder *b);
SrGraph *sr_builder_graph(SrBuilder *b);
SrStatus sr_builder_status(const SrBuilder *b); // the first error
SrStatus sr_builder_fail(SrBuilder *b, SrStatus status, const char *fmt, ...) SR_PRINTF(3, 4);

void sr_builder_push(SrBuilder *b,
                     const char *scope); // module path component(s): "layer1", "0", "heads.0"
// The same for a module of a class ("Bottleneck"), which listings and passes may keep closed.
void sr_builder_push_block(SrBuilder *b, const char *scope, const char *class_name);
void sr_builder_pop(SrBuilder *b);
// Put before every parameter name from now on ("trunk._feature_blocks."), outside the scopes; and before
// every node name ("" for the trunk: torchvision's names stand bare).  Return the old one to restore.
const char *sr_builder_set_param_prefix(SrBuilder *b, const char *prefix);
const char *sr_builder_set_node_prefix(SrBuilder *b, const char *prefix);
// Nodes from now on carry "@pass" when pass > 0; parameters are shared with earlier passes by name.
void sr_builder_set_pass(SrBuilder *b, int pass);
// Nodes from now on are (not) in torchvision's list of this trunk (SrNode.aside).  Returns the old setting.
bool sr_builder_set_aside(SrBuilder *b, bool aside);
void sr_builder_set_mode(SrBuilder *b,
                         unsigned mode); // SrMode bits of nodes from now on; BOTH at the start
// In a train plan nodes from now on run as in evaluation from this iteration on: a teacher that uses running
// statistics (0), or does so later.  INT64_MAX, as at the start: never.
void sr_builder_set_eval_from(SrBuilder *b, int64_t iteration);
int64_t
sr_builder_eval_from(const SrBuilder *b); // what holds now, for who changes it and puts it back
// Parameters created from now on are (not) trainable.  Returns the old setting.
bool sr_builder_set_frozen(SrBuilder *b, bool frozen);
// The next node's slot `slot` ("weight") is drawn like this instead of the op's default.
void sr_builder_set_init(SrBuilder *b, const char *slot, SrInit init);
// The next node's slot `slot` is the entry <scopes>.<entry>, as a module names a parameter of its own
// ("cls_token"), instead of <scopes>.<leaf>.<slot>.
void sr_builder_set_entry(SrBuilder *b, const char *slot, const char *entry);

// One node.  `leaf` is the module's own name or the function's (fx: "add", "flatten"); params may be NULL.
SrNodeId sr_build(SrBuilder *b, const char *op, const char *leaf, const void *params, SrNodeId x);
SrNodeId sr_build_n(SrBuilder *b, const char *op, const char *leaf, const void *params,
                    const SrNodeId *x, int n);
// The same with explicit table entries instead of fresh ones (n_w must match the op's slots).
SrNodeId sr_build_bound(SrBuilder *b, const char *op, const char *leaf, const void *params,
                        const SrNodeId *x, int n, const int *w, int n_w);
SrNodeId sr_build_input(SrBuilder *b, const char *name, SrShape shape, SrDtype dtype);
// A state entry of the table under the current prefixes, for losses (queues, counters, centres).
int sr_build_state(SrBuilder *b, const char *name, SrShape shape, SrDtype dtype, SrInit init);
// What torchvision lists here although nothing is computed for it (SrRemark); shape: torch's, NULL: no tensor.
void sr_build_remark(SrBuilder *b, const char *leaf, const SrShape *shape);
SrShape sr_build_shape(const SrBuilder *b, SrNodeId id);
void sr_build_alias(SrBuilder *b, const char *alias, SrNodeId id);

#endif
