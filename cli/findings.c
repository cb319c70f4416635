// Prints findings: one table, three forms, and a page of photos.
#include "cli/findings.h"
#include "base/text/escape.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "cli/args/args.h"
#include "cli/args/folder_args.h"

enum { SECTION_MOST = 240, PHOTOS = 480 };

SrStatus sr_findings_init(const SrFindingsArgs *to, SrFindings *out) {
    *out = (SrFindings){.to = *to};
    if (to->json && to->csv)
        SR_FAIL(SR_ERR_CONFIG, "--json and --csv are two forms of one list: give one of them");
    if (!to->page)
        return SR_OK;
    out->photos = sr_calloc(PHOTOS, sizeof *out->photos);
    return out->photos ? SR_OK : sr_out_of_memory("a page of photos");
}

void sr_findings_deinit(SrFindings *f) {
    for (int i = 0; i < f->n_photos; i++) {
        sr_free(f->photos[i].file);
        sr_free(f->photos[i].caption);
        sr_free(f->photos[i].section);
    }
    sr_free(f->photos);
    sr_text_deinit(&f->out);
    *f = (SrFindings){.n = 0};
}

static void add_number(SrText *out, const SrField *field) {
    char number[64];
    if (isnan(field->number))
        return;
    sr_number_print(number, sizeof number, "%.*f", field->digits, field->number);
    sr_text_add(out, number);
}

static void add_csv(SrFindings *f, const SrField *field, int n) {
    for (int i = 0; f->n == 0 && i < n; i++)
        sr_text_printf(&f->out, "%s%s", field[i].name, i + 1 < n ? "," : "\n");
    for (int i = 0; i < n; i++) {
        if (field[i].text)
            sr_escape_csv(field[i].text, &f->out);
        else
            add_number(&f->out, &field[i]);
        sr_text_add(&f->out, i + 1 < n ? "," : "\n");
    }
}

static void add_json(SrFindings *f, const SrField *field, int n) {
    sr_json_begin(&f->out);
    for (int i = 0; i < n; i++) {
        double rounded = nearbyint(field[i].number * 1e6) / 1e6;
        if (field[i].text)
            sr_json_string(&f->out, field[i].name, field[i].text);
        else
            sr_json_float(&f->out, field[i].name, rounded);
    }
    sr_json_end(&f->out);
}

static void add_text(SrFindings *f, const SrField *field, int n) {
    for (int i = 0; i < n; i++) {
        if (field[i].text)
            sr_text_add(&f->out, field[i].text);
        else if (isnan(field[i].number))
            sr_text_add(&f->out, "-");
        else
            add_number(&f->out, &field[i]);
        sr_text_add(&f->out, i + 1 < n ? "  " : "\n");
    }
}

void sr_findings_add(SrFindings *f, const SrField *field, int n) {
    (f->to.json ? add_json : f->to.csv ? add_csv : add_text)(f, field, n);
    f->n++;
}

void sr_findings_photo(SrFindings *f, const char *file, const char *caption, const char *section) {
    int before = 0;
    if (!f->photos)
        return;
    for (int i = 0; i < f->n_photos; i++)
        before += strcmp(f->photos[i].section, section) == 0;
    if (f->n_photos == PHOTOS || before == SECTION_MOST) {
        f->left_out++;
        return;
    }
    SrPhoto photo = {sr_strdup(file), sr_strdup(caption), sr_strdup(section)};
    if (photo.file && photo.caption && photo.section) {
        f->photos[f->n_photos++] = photo;
        return;
    }
    f->out.failed = true;
    sr_free(photo.file);
    sr_free(photo.caption);
    sr_free(photo.section);
}

void sr_findings_say(SrFindings *f, const char *fmt, ...) {
    char line[2048];
    va_list args;
    if (f->to.json || f->to.csv)
        return;
    va_start(args, fmt);
    sr_number_vprint(line, sizeof line, fmt, args);
    va_end(args);
    sr_text_add(&f->out, line);
}

// Moves photos of one section next to each other.  Sections keep the order of their first photos,
// and photos their order in a section.
static void group_sections(SrFindings *f) {
    for (int first = 0, end; first < f->n_photos; first = end) {
        end = first + 1; // photos [first, end) share a section
        for (int j = end; j < f->n_photos; j++) {
            SrPhoto photo = f->photos[j];
            if (strcmp(photo.section, f->photos[first].section) != 0)
                continue;
            memmove(f->photos + end + 1, f->photos + end, (size_t)(j - end) * sizeof photo);
            f->photos[end++] = photo;
        }
    }
}

SrStatus sr_findings_end(SrFindings *f, const char *title, const char *intro, int64_t found,
                         const char *what) {
    SrStatus status = SR_OK;
    const char *page = f->to.page;
    bool check = f->to.check;
    group_sections(f);
    if (page)
        status = sr_photo_page_list(page, title, intro, f->photos, f->n_photos, f->left_out);
    if (status == SR_OK && page && !f->to.json && !f->to.csv) {
        sr_text_deinit(&f->out);
        sr_text_printf(&f->out, "%s\n", page);
    }
    if (status == SR_OK)
        status = sr_args_print(&f->out);
    sr_findings_deinit(f);
    if (status == SR_OK && check && found > 0)
        status = sr_fail(SR_ERR_RUN, "%lld %s", (long long)found, what);
    return status;
}
