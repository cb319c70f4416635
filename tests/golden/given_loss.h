// A loss on given outputs of a student and a teacher, with masks and labels: golden cases of distillation and of
// methods with tokens.  Like loss_case.h, which has one output and one teacher.
#ifndef SR_TESTS_GOLDEN_GIVEN_LOSS_H
#define SR_TESTS_GOLDEN_GIVEN_LOSS_H

#include "graph/plan.h"
#include "losses/loss.h"
#include "tests/golden/golden.h"

enum { GIVEN_MAX = 4, GIVEN_MAX_VIEWS = 16 };

typedef struct {
    const char *name;   // of the output: "scores0"; NULL ends
    const char *tensor; // of the case, without a number
    SrNodeId node;      // filled
} GivenOutput;

typedef struct {
    SrGoldenCase *c;
    const SrLoss *kind;
    int batch, n_views; // batch: of all replicas
    const char *prefix; // before tensor names: "r0."; NULL: none
    const char *step;   // behind tensor names: "", "0"
    GivenOutput student[GIVEN_MAX], teacher[GIVEN_MAX];
    int n_masks;            // of the first views
    SrTensor labels;        // rank 0: none
    const char *prototypes; // tensor of the teacher's, (K, D); NULL: none
    const char *options;    // flow YAML; NULL: the case's
    int side, grid; // of views in pixels, and of "tokens" in patches; 0: the loss does not ask
    // filled
    SrParams *params;
    SrGraph *graph;
    SrBuilder *builder;
    SrLossContext ctx;
    SrNodeId masks[GIVEN_MAX_VIEWS], loss;
    void *state;
    SrPlan *plan;
    SrLossStep at;
} GivenLoss;

// Builds and compiles on the shapes of the tensors of `step`.  Close it also when it fails.
SrStatus given_loss_open(GivenLoss *g);
void given_loss_close(GivenLoss *g);
// Fills the inputs from the tensors NAME<step>, masks from mask<step> (n_masks batch, h, w), and takes a step.
SrStatus given_loss_step(GivenLoss *g, const char *step, int64_t iteration, int epoch);
double given_loss_value(GivenLoss *g);
// Gradients of student outputs against <grad><tensor><step>, or only `grad`<step> where there is one output.
SrStatus given_loss_compare_gradients(GivenLoss *g, const char *grad, const char *step,
                                      double tolerance);

#endif
