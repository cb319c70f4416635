// A temporary folder for one test, removed with its content at the end.
#ifndef SR_TESTS_TEMP_DIR_H
#define SR_TESTS_TEMP_DIR_H

void temp_dir_make(char path[64]);
void temp_dir_remove(const char *path);

#endif
