// SrGraph: the nodes of a model in the order in which torch.fx would trace them.  A graph only
// grows, and callers name nodes by index, not by pointer.
//
// Invariants, which sr_graph_check verifies when a plan is compiled and a graph is rewritten or
// parsed:
//  * A node's inputs have smaller indices: index order is execution order.
//  * Names are unique and qualified as in torchvision ("layer1.0.conv1", "layer1.0.relu_1",
//    "flatten").  Further passes of the same trunk in one graph have a suffix "@1", "@2" and share
//    all parameters.
//  * Shapes are static and known when a node is added.
//  * A node exists in the modes of its mask, which is a subset of the masks of its inputs.
#ifndef SR_GRAPH_IR_GRAPH_H
#define SR_GRAPH_IR_GRAPH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text/text.h"
#include "graph/ir/params.h"
#include "kernels/op.h"

typedef int SrNodeId;
#define SR_NO_NODE (-1)

typedef enum { SR_MODE_TRAIN = 1, SR_MODE_EVAL = 2, SR_MODE_BOTH = 3 } SrMode;

typedef struct {
    const SrOp *op;     // NULL: an input, which the caller fills before each run
    const char *name;   // unique
    const char *module; // path of the module it belongs to ("layer1.0"); "": the top
    const void *params; // op->params_bytes, owned by the graph
    int n_in;
    SrNodeId in[SR_OP_MAX_IN];
    int n_w;
    int w[SR_OP_MAX_SLOTS]; // indices into the parameter table
    SrShape shape;
    SrDtype dtype; // F32, or what an input carries
    unsigned mode; // SrMode bits
    // Iteration from which a train plan runs the node as in evaluation.  INT64_MAX: never.
    int64_t eval_from;
    // True: the channels are torch's last axis (tokens, and maps inside transformers).  False: they
    // are its axis 1 (images, outputs of convolutions).  Lists and files use torch's order; buffers
    // here have the channels last.
    bool channels_last;
    bool aside;    // not in torchvision's list, which has one call for several nodes here
    bool optional; // may be dropped if nothing needs it, in spite of its side effects
    unsigned tags; // bits for passes; 0 at the start
} SrNode;

typedef struct SrGraph SrGraph;

SrStatus sr_graph_new(SrParams *params, SrGraph **out); // borrows the table
void sr_graph_free(SrGraph *graph);
SrParams *sr_graph_params(const SrGraph *graph);
SrArena *sr_graph_arena(SrGraph *graph); // memory that lives as long as the graph

int sr_graph_count(const SrGraph *graph);
const SrNode *sr_graph_at(const SrGraph *graph, SrNodeId id); // valid until the next append

// Description of a node to add.  sr_graph_add checks arity, shapes (op->infer), modes and name.  It
// copies `params`.  w: table indices in the order of slots; n_w must equal the number of op->slots.
typedef struct {
    const SrOp *op;
    const char *name, *module;
    const void *params;
    int n_in;
    const SrNodeId *in;
    int n_w;
    const int *w;
    unsigned mode; // 0 means BOTH
    bool has_eval_from;
    int64_t eval_from; // read if has_eval_from
    bool aside;
} SrNodeSpec;
SrStatus sr_graph_add(SrGraph *graph, const SrNodeSpec *spec, SrNodeId *out);
SrStatus sr_graph_add_input(SrGraph *graph, const char *name, SrShape shape, SrDtype dtype,
                            SrNodeId *out);

// Returns the value's shape in torch's axis order (SrNode.channels_last).
SrShape sr_node_torch_shape(const SrNode *node);

// A remark is a line of torchvision's trace for which nothing is computed here.  Remarks are
// sizes, assertions and tuples of its Python code, parameters, and tensors inside the next node.
// Lists show them before the node that is appended next, and nobody can tap them.
typedef struct {
    const char *name; // unique among nodes and remarks
    SrNodeId before;  // node that follows it; the number of nodes: at the end
    bool is_tensor;
    SrShape shape; // shape of a tensor, in torch's axis order
} SrRemark;
// Adds a remark.  shape NULL: no tensor.
SrStatus sr_graph_add_remark(SrGraph *graph, const char *name, const SrShape *shape);
int sr_graph_remark_count(const SrGraph *graph);
const SrRemark *sr_graph_remark_at(const SrGraph *graph, int i);

// Adds a second name of node `id`: VISSL's stage "res2" or timm's index.  An alias may equal the
// name of another node: VISSL's "conv1" is torchvision's "relu".  sr_graph_find then returns the
// node of that name.  graph/ir/layer_name.h looks layers up for users.
SrStatus sr_graph_alias(SrGraph *graph, const char *alias, SrNodeId id);
int sr_graph_alias_count(const SrGraph *graph);
const char *sr_graph_alias_at(const SrGraph *graph, int i, SrNodeId *id);

// Sets the name by which a user calls this graph ("resnet18"), for messages with a command that
// lists its nodes.
SrStatus sr_graph_set_title(SrGraph *graph, const char *title);
const char *sr_graph_title(const SrGraph *graph); // "TRUNK|CONFIG" unless set

// A block is one call of a module of some class ("Bottleneck"), whose nodes are consecutive.
// Lists and passes can keep it closed (graph/ir/blocks.h).
typedef struct {
    const char *path;       // such as "layer1.0"
    const char *class_name; // name of torchvision's class
    SrNodeId first, end;    // nodes first .. end - 1
} SrBlock;
SrStatus sr_graph_add_block(SrGraph *graph, const char *path, const char *class_name,
                            SrNodeId first, SrNodeId end);
int sr_graph_block_count(const SrGraph *graph);
const SrBlock *sr_graph_block_at(const SrGraph *graph, int i);

void sr_graph_set_optional(SrGraph *graph, SrNodeId id, bool optional);
// Replaces the op's params before the graph is compiled; the node's shape must stay the same.
void sr_graph_set_params(SrGraph *graph, SrNodeId id, const void *params);
void sr_graph_set_tags(SrGraph *graph, SrNodeId id, unsigned tags);

SrNodeId sr_graph_find(const SrGraph *graph, const char *name); // exact or alias; SR_NO_NODE

SrStatus sr_graph_check(const SrGraph *graph); // the invariants above

#endif
