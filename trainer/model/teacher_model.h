// The model of DISTILLATION.TEACHER_MODEL, which some losses run next to the student.
#ifndef SR_TRAINER_MODEL_TEACHER_MODEL_H
#define SR_TRAINER_MODEL_TEACHER_MODEL_H

#include "trainer/model/model.h"

// Returns WEIGHTS_INIT.PARAMS_FILE of DISTILLATION.TEACHER_MODEL, "" if it is not set.  NULL: no
// loss runs such a model.
const char *sr_model_teacher_file(const SrModel *model);
// Loads the teacher's weights from `path`, before the first step of a run that is not resumed.  An
// empty path is SR_ERR_CONFIG unless `random`: then the teacher stays as drawn.
SrStatus sr_model_load_teacher(SrModel *model, const char *path, bool random);

#endif
