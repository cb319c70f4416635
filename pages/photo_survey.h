// What lies in a folder of photos: how many, of which classes, formats and sizes, what cannot be read, what is there
// twice.  Names are all read; of more than SR_SURVEY_FILES files so many, drawn at random, are opened, and of those as
// many are decoded as SR_SURVEY_PIXELS allow.  Which ones does not depend on time or threads.
#ifndef SR_PAGES_PHOTO_SURVEY_H
#define SR_PAGES_PHOTO_SURVEY_H

#include "base/text.h"
#include "data/image_header.h"
#include "trainer/run/data_split.h"

#define SR_SURVEY_FILES 5000
#define SR_SURVEY_PIXELS ((int64_t)1 << 30)

typedef struct {
    int64_t low, middle, high; // a tenth lies below low, a tenth above high
} SrSpread;

typedef struct {
    char root[4096];           // the folder, or its part train/
    char skipped[512];         // "3 .gif": passed over by their names
    int64_t images;            // files that have an image's name
    int64_t opened, decoded;   // of them
    int classes;               // 0: no folders that could be classes
    int64_t smallest, largest; // images of a class
    char smallest_name[128], largest_name[128];
    int64_t format[SR_IMAGE_FORMATS]; // of those opened, by SrImageFormat
    double bytes;                     // of all, from those opened
    SrSpread side, other;             // of the shorter and of the longer side, pixels
    int64_t portrait, square, landscape;
    double narrowest, widest; // width / height
    int64_t twins;            // files with the very bytes of another one opened
    char twin[2][256];        // the first such pair
    int64_t unreadable;
    char reason[512]; // of the first
} SrPhotoSurvey;

// photos: a folder, a list of files, whatever a data set of files takes.  No image at all: SR_ERR_CONFIG.
SrStatus sr_photo_survey(const char *photos, SrPhotoSurvey *out);
// Some lines for people.
void sr_photo_survey_text(const SrPhotoSurvey *survey, SrText *out);

#endif
