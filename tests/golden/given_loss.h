// A loss on given outputs of a student and a teacher, with masks and labels: for golden cases of
// distillation and of methods with tokens. loss_case.h is the simpler form with one output and
// one teacher.
#ifndef SR_TESTS_GOLDEN_GIVEN_LOSS_H
#define SR_TESTS_GOLDEN_GIVEN_LOSS_H

#include "graph/plan/plan.h"
#include "losses/loss.h"
#include "tests/golden/golden.h"

enum { GIVEN_MAX = 4, GIVEN_MAX_VIEWS = 16 };

typedef struct {
    const char *name;   // name of the output, such as "scores0"; NULL ends the list
    const char *tensor; // name of the case's tensor without a step number
    SrNodeId node;      // set by given_loss_open
    bool built;         // set with node; a second forward of the same model gives it again
} GivenOutput;

typedef struct {
    SrGoldenCase *c;
    const SrLoss *kind;
    int batch, n_views; // batch: images of all replicas
    const char *prefix; // precedes tensor names, such as "r0."; NULL: none
    const char *step;   // follows tensor names in given_loss_open: "" or "0"
    GivenOutput student[GIVEN_MAX], teacher[GIVEN_MAX];
    int n_masks;            // masks exist for this many first views
    SrTensor labels;        // rank 0: no labels
    const char *prototypes; // the case's tensor of the teacher's prototypes, (K, D); NULL: none
    const char *options;    // YAML in flow style; NULL: the case's options
    // side: pixels per side of a view; grid: patches per side in "tokens". 0: the loss does not
    // ask.
    int side, grid;
    // set by given_loss_open
    SrParams *params;
    SrGraph *graph;
    SrBuilder *builder;
    SrLossContext ctx;
    SrNodeId masks[GIVEN_MAX_VIEWS], loss;
    void *state;
    SrPlan *plan;
    SrLossStep at;
} GivenLoss;

// Builds and compiles the loss on the shapes of the tensors of `step`. The caller closes g even
// after an error.
SrStatus given_loss_open(GivenLoss *g);
void given_loss_close(GivenLoss *g);
// Fills the inputs from the tensors NAME<step>, masks from mask<step> (n_masks * batch, h, w),
// and runs one step.
SrStatus given_loss_step(GivenLoss *g, const char *step, int64_t iteration, int epoch);
double given_loss_value(GivenLoss *g);
// Compares gradients of student outputs with <grad><tensor><step>, or with <grad><step> if there
// is one output.
SrStatus given_loss_compare_gradients(GivenLoss *g, const char *grad, const char *step,
                                      double tolerance);

#endif
