// Finds what is wrong with the files of a folder of pictures, without a model and without changing
// anything: all issue types of CleanVision (https://github.com/cleanlab/cleanvision), and files
// that are damaged or have a wrong name.
#ifndef SR_FOLDER_TIDY_H
#define SR_FOLDER_TIDY_H

#include "data/sets/class_names.h"
#include "folder/image_set.h"
#include "folder/picture_facts.h"

typedef enum {
    SR_TIDY_UNREADABLE,  // cannot be decoded, or not to its end
    SR_TIDY_EXTENSION,   // a JPEG called .png
    SR_TIDY_SAME_FILE,   // byte by byte an earlier file
    SR_TIDY_SAME_PIXELS, // other bytes, the pixels of an earlier file
    SR_TIDY_NEAR_COPY,   // shape hash within SR_TIDY_NEAR_BITS of an earlier file
    SR_TIDY_BLURRY,
    SR_TIDY_DARK,
    SR_TIDY_BRIGHT,
    SR_TIDY_LOW_INFORMATION,
    SR_TIDY_ODD_SIZE,   // much smaller or larger than the middle half of the folder
    SR_TIDY_ODD_ASPECT, // one side more than three times the other
    SR_TIDY_GREY,       // no colour, stored in three channels
    SR_TIDY_ROTATED,    // EXIF turns it; programs that ignore EXIF see it lying
    SR_TIDY_ISSUES
} SrTidyIssue;

enum { SR_TIDY_NEAR_BITS = 4 };

// One issue of one file.
typedef struct {
    SrTidyIssue issue;
    int64_t file;  // item of the set
    int64_t other; // the earlier file of a copy; -1
    double value;  // what was measured: see sr_tidy_unit
} SrTidyFinding;

typedef struct {
    int64_t n; // files
    int64_t count[SR_TIDY_ISSUES];
    int64_t n_findings;
    SrTidyFinding *finding; // by issue, the worst first, then by file
    SrStringList reasons;   // of unreadable files, in the order of their findings
    SrPictureFacts *facts;  // (n)
    double seconds;
} SrTidy;

const char *sr_tidy_name(SrTidyIssue issue); // "low-information"
const char *sr_tidy_help(SrTidyIssue issue); // one sentence
const char *sr_tidy_unit(SrTidyIssue issue); // what `value` is; "": nothing
// Finds an issue by its name.  SR_ERR_CONFIG: there is none.
SrStatus sr_tidy_find_issue(const char *name, SrTidyIssue *out);

// Reads and decodes every file once, on all threads.  Shows a bar.  Free with sr_tidy_deinit.
// SR_ERR_INTERRUPT: base/stop.h asked to stop.  SR_ERR_CONFIG: the set has no files.
SrStatus sr_tidy(const SrImageSet *images, SrTidy *out);
void sr_tidy_deinit(SrTidy *tidy);

// Fills drop (n) with 1 for files that have one of the issues.  Of copies, the first stays.
void sr_tidy_drop(const SrTidy *tidy, const bool issues[SR_TIDY_ISSUES], uint8_t *drop);

#endif
