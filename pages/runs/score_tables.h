// Tables of accuracies for pages: bars with standard errors, and which class is taken for which.
#ifndef SR_PAGES_RUNS_SCORE_TABLES_H
#define SR_PAGES_RUNS_SCORE_TABLES_H

#include "base/text/text.h"

// Appends a row of a table of the class "bars": name, bar with its standard error on so many
// images, number.  A NaN leaves the row out.
//   own  true: the row is the subject, the others are there to compare
void sr_score_bar(const char *name, bool own, double percent, int64_t images, SrText *out);

// Returns the name of class c; buffer: storage for a number.
typedef const char *(*SrClassName)(const void *arg, int c, char buffer[24]);
// Appends the table of counts (classes, classes): a row per class, a column per predicted class.
// A table of more than 40 classes is left out.
void sr_confusion_table(const void *arg, SrClassName name, const int64_t *count, int classes,
                        SrText *out);

#endif
