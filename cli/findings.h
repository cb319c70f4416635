// Rows that a verb found in a folder, as text, JSON lines or CSV, and how the verb ends.
#ifndef SR_CLI_FINDINGS_H
#define SR_CLI_FINDINGS_H

#include "base/status.h"
#include "base/text/text.h"
#include "pages/photos/photo_page.h"

typedef struct {
    bool json, csv, check;
    const char *page; // file of --page; NULL: none
} SrFindingsArgs;

#define SR_FINDINGS_FORMS(Options)                                                         \
    SR_FLAG_TEXT(Options, to.page, "--page", "FILE.html", "write a page with thumbnails"), \
        SR_FLAG_ON(Options, to.json, "--json", "print one JSON line per image"),           \
        SR_FLAG_ON(Options, to.csv, "--csv", "print a table with a line of names")
#define SR_FINDINGS_FLAGS(Options) \
    SR_FINDINGS_FORMS(Options),    \
        SR_FLAG_ON(Options, to.check, "--check", "exit with 1 if something was found")

// One value of a row.
typedef struct {
    const char *name;
    const char *text; // NULL: `number`
    double number;    // NaN: unknown, an empty field of CSV and null of JSON
    int digits;       // after the point, in text and CSV
} SrField;

typedef struct {
    SrFindingsArgs to;
    SrText out;
    int64_t n;       // rows added
    SrPhoto *photos; // (n_photos) of the page, texts owned
    int n_photos;
    int64_t left_out; // photos that the page has no room for
} SrFindings;

// Checks that at most one form was asked for.  SR_ERR_CONFIG: --json and --csv.
SrStatus sr_findings_init(const SrFindingsArgs *to, SrFindings *out);
void sr_findings_deinit(SrFindings *findings); // legal for a zeroed struct
// Adds a row.  In text its fields are separated by two blanks.  The header of CSV is the names of
// the first row.
void sr_findings_add(SrFindings *findings, const SrField *field, int n);
// Adds a photo to the page, if one was asked for and has room.  section: its heading; photos of one
// section come together on the page.
void sr_findings_photo(SrFindings *findings, const char *file, const char *caption,
                       const char *section);
// Adds a line to the text form alone, which people read.
void sr_findings_say(SrFindings *findings, const char *fmt, ...) SR_PRINTF(2, 3);
// Writes the page, prints the rows and frees the findings.  With --page alone, prints the page's
// name instead of rows.  found: how many suspicious images there are; with --check, above 0 is
// SR_ERR_RUN "N <what>".
SrStatus sr_findings_end(SrFindings *findings, const char *title, const char *intro, int64_t found,
                         const char *what);

#endif
