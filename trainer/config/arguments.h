// Checks the arguments of transforms and heads, and visits those of heads.
#ifndef SR_TRAINER_CONFIG_ARGUMENTS_H
#define SR_TRAINER_CONFIG_ARGUMENTS_H

#include "base/arena.h"
#include "base/problems.h"
#include "heads/head.h"

// Adds every wrong argument of transforms and heads to `problems`.
SrStatus sr__arguments_check(const SrYaml *tree, SrArena *arena, SrProblems *problems);
// Calls `each` for every known head of MODEL.HEAD.PARAMS, also inside chains, with its arguments.
// where: its place for messages, "MODEL.HEAD.PARAMS[0].mlp".
SrStatus sr__each_head(const SrYaml *tree, SrArena *arena,
                       SrStatus (*each)(void *arg, const SrHead *head, const SrYaml *arguments,
                                        const char *where),
                       void *arg);

#endif
