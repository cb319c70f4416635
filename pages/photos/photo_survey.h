// Survey of a folder of photos: numbers, classes, formats, sizes, unreadable files and
// duplicates.  All names are read.  At most SR_SURVEY_FILES files are opened, drawn at random if
// there are more.  Of these, files are decoded until SR_SURVEY_PIXELS pixels are reached.  The
// choice does not depend on time or threads.
#ifndef SR_PAGES_PHOTOS_PHOTO_SURVEY_H
#define SR_PAGES_PHOTOS_PHOTO_SURVEY_H

#include "base/text/text.h"
#include "data/image.h"
#include "data/image_header.h"
#include "trainer/data/data_split.h"

#define SR_SURVEY_FILES 5000
#define SR_SURVEY_PIXELS ((int64_t)1 << 30)

typedef struct {
    int64_t low, middle, high; // the 10th, 50th and 90th percentile
} SrSpread;

typedef struct {
    const char *noun;        // "photos"; "images" for a stack of arrays
    char root[4096];         // the folder, or its subfolder train/
    char labels[4096];       // list of the classes' names, if the photos are a list; "": none
    char skipped[512];       // files whose names are skipped: "3 .gif"
    int64_t images;          // files with an image's name
    int64_t opened, decoded; // how many of these were opened, and decoded
    int classes;             // number of classes; 0: no folders that could be classes
    // The only class, if it has folders of its own, and their number.  The photos are then often
    // one level too high: those folders are classes, or train and test.  "": there is none
    char inner[4096];
    int inner_folders;
    int64_t smallest, largest; // images in the smallest and the largest class
    char smallest_name[128], largest_name[128];
    // Form in which nothing of the files is lost, if all TIFF, PNG and DICOM files, or a stack,
    // have these channels and bits; RGB of 8 bits for photos.  channels 0: they differ, or are of
    // other formats.
    SrPixelForm form;
    int channels, bits;
    // Mean and standard deviation of each of form.channels, over the decoded files.
    double mean[SR_MAX_CHANNELS], std[SR_MAX_CHANNELS];
    int64_t format[SR_IMAGE_FORMATS]; // opened files by SrImageFormat
    double bytes;                     // size of all files, estimated from opened ones
    SrSpread side, other;             // shorter and longer side, pixels
    int64_t portrait, square, landscape;
    double narrowest, widest; // width / height
    int64_t twins;            // readable files with the same bytes as another one
    char twin[2][256];        // the first such pair
    int64_t unreadable;       // opened files that cannot be read
    int n_reasons;            // of reason
    char reason[10][512];     // reasons of the first unreadable files, in the order of the set
} SrPhotoSurvey;

// Surveys photos: a folder, a list of files, or any other path of a data set of files.
// SR_ERR_CONFIG: there is no image.
SrStatus sr_photo_survey(const char *photos, SrPhotoSurvey *out);
// Writes the survey as a few lines of text.  all_reasons: names the first unreadable files instead
// of one.
void sr_photo_survey_text(const SrPhotoSurvey *survey, bool all_reasons, SrText *out);

#endif
