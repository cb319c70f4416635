// SrGraph: what torch.fx would have traced.  Append-only, then frozen; nodes are indices, never pointers.
//
// Invariants (sr_graph_check verifies all of them when a plan is compiled, a graph is rewritten or read from JSON)
//  * A node's inputs have smaller indices: index order is execution order.
//  * Names are unique; qualified as torchvision does ("layer1.0.conv1", "layer1.0.relu_1", "flatten").
//    Further passes of the same trunk in one graph carry a suffix "@1", "@2" and share all parameters.
//  * Shapes are static and known when a node is added.
//  * A node lives in the modes of its mask; a consumer's mask is a subset of its producers'.
#ifndef SR_GRAPH_GRAPH_H
#define SR_GRAPH_GRAPH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/params.h"
#include "kernels/op.h"

typedef int SrNodeId;
#define SR_NO_NODE (-1)

typedef enum { SR_MODE_TRAIN = 1, SR_MODE_EVAL = 2, SR_MODE_BOTH = 3 } SrMode;

typedef struct {
    const SrOp *op;     // NULL: an input, filled by the host before each run
    const char *name;   // unique
    const char *module; // path of the module it belongs to ("layer1.0"), "" at the top
    const void *params; // op->params_bytes, owned by the graph
    int n_in;
    SrNodeId in[SR_OP_MAX_IN];
    int n_w;
    int w[SR_OP_MAX_SLOTS]; // indices into the parameter table
    SrShape shape;
    SrDtype dtype; // F32, or what an input carries
    unsigned mode; // SrMode bits
    int64_t
        eval_from; // from this iteration on a train plan runs it as in evaluation; INT64_MAX: never
    // Where torch has the channels of this value, which are always last here: in dimension 1 (false: of images and
    // what convolutions make of them) or last (tokens, and maps inside transformers).  Lists and files follow it.
    bool channels_last;
    bool aside; // not in torchvision's list: arithmetic inside one of its calls, or a stage of ours
    bool optional; // dropped when nothing needs it, though it has side effects
    unsigned tags; // free for passes; 0 at the start
} SrNode;

typedef struct SrGraph SrGraph;

SrStatus sr_graph_new(SrParams *params, SrGraph **out); // borrows the table
void sr_graph_free(SrGraph *graph);
SrParams *sr_graph_params(const SrGraph *graph);
SrArena *sr_graph_arena(SrGraph *graph); // for whatever should live as long as the graph

int sr_graph_count(const SrGraph *graph);
const SrNode *sr_graph_at(const SrGraph *graph, SrNodeId id); // valid until the next append

// Appends; checks arity, shapes (op->infer), modes, name.  `params` is copied; w are table indices in slot
// order (n_w must equal what op->slots says).
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

// The shape torch gives the value: channels moved to dimension 1 where it has them there.
SrShape sr_node_torch_shape(const SrNode *node);

// Remarks: what torchvision's trace lists between nodes although nothing is computed here for it: sizes, assertions and
// tuples of its Python, and tensors that exist only inside the next node or are parameters.  Lists show them where they
// stand, before the node that is appended next; they cannot be tapped.
typedef struct {
    const char *name; // unique among nodes and remarks
    SrNodeId before;  // the node it stands before; the count of nodes at the end
    bool is_tensor;
    SrShape shape; // torch's, of a tensor
} SrRemark;
SrStatus sr_graph_add_remark(SrGraph *graph, const char *name,
                             const SrShape *shape); // NULL: no tensor
int sr_graph_remark_count(const SrGraph *graph);
const SrRemark *sr_graph_remark_at(const SrGraph *graph, int i);

// Stage names beside node names: VISSL's "res2" or timm's index for the node `id`.  Both vocabularies work
// wherever a layer is named.  Where an alias equals a node's name (VISSL's "conv1" is torchvision's "relu"), the
// functions below give the node of that name; who speaks VISSL looks through the aliases first.
SrStatus sr_graph_alias(SrGraph *graph, const char *alias, SrNodeId id);
int sr_graph_alias_count(const SrGraph *graph);
const char *sr_graph_alias_at(const SrGraph *graph, int i, SrNodeId *id);

// What a person calls this graph ("resnet18"): messages then name the command that lists its nodes.
SrStatus sr_graph_set_title(SrGraph *graph, const char *title);
const char *sr_graph_title(const SrGraph *graph); // "TRUNK|CONFIG" unless set

// Blocks: the module calls behind the nodes, by class ("Bottleneck"), so that listings and passes can keep them closed
// (graph/blocks.h).  One call's nodes lie side by side: first .. end - 1.
typedef struct {
    const char *path;       // "layer1.0"
    const char *class_name; // torchvision's
    SrNodeId first, end;
} SrBlock;
SrStatus sr_graph_add_block(SrGraph *graph, const char *path, const char *class_name,
                            SrNodeId first, SrNodeId end);
int sr_graph_block_count(const SrGraph *graph);
const SrBlock *sr_graph_block_at(const SrGraph *graph, int i);

void sr_graph_set_optional(SrGraph *graph, SrNodeId id, bool optional);
// The op's params anew, of the same shape rule; before the graph is compiled.
void sr_graph_set_params(SrGraph *graph, SrNodeId id, const void *params);
void sr_graph_set_tags(SrGraph *graph, SrNodeId id, unsigned tags);

// Exact name, alias, or dotted prefix (the last node below it).  Unknown: SR_ERR_CONFIG with the nearest names.
SrStatus sr_graph_query(const SrGraph *graph, const char *query, SrNodeId *out);
// The same, but a prefix means the last node below it that lives in one of these modes, if any does.
SrStatus sr_graph_query_mode(const SrGraph *graph, const char *query, unsigned mode, SrNodeId *out);
SrNodeId sr_graph_find(const SrGraph *graph, const char *name); // exact or alias; SR_NO_NODE

SrStatus sr_graph_check(const SrGraph *graph); // the invariants above

// What a node costs: floating-point operations of its forward, learned numbers it uses, bytes of its value.
int64_t sr_graph_flops(const SrGraph *graph, SrNodeId id);
int64_t sr_graph_numbers(const SrGraph *graph, SrNodeId id);
int64_t sr_graph_bytes(const SrGraph *graph, SrNodeId id);

#endif
