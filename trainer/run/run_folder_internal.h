// Declares what run_folder.c and resume.c share.
#ifndef SR_TRAINER_RUN_RUN_FOLDER_INTERNAL_H
#define SR_TRAINER_RUN_RUN_FOLDER_INTERNAL_H

#include "trainer/run/run_folder.h"

#define SR__LINK_NAME "checkpoint.safetensors"

// Logs a warning, with the reason, for each entry whose metadata cannot be read.
void sr__folder_warn_unreadable(const char *dir, const SrFolderEntry *entries, int n);

#endif
