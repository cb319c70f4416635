// Writes pages of photos from the JSON lines of verbs.
#include "pages/photos/photo_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "base/text/yaml_edit.h"
#include "folder/tidy.h"
#include "pages/html.h"

enum { DOUBTFUL = 60, OF_CLASS = 12, OF_ISSUE = 12, OF_GROUP = 24 };

// ---- lines --------------------------------------------------------------------------------------

typedef struct {
    SrArena arena;
    SrYaml **v; // (n) objects
    int n;
} Lines;

static SrStatus read_lines(const SrText *text, Lines *out) {
    int cap = 1;
    if (text->failed)
        return sr_out_of_memory("a page of photos");
    for (const char *c = text->s ? text->s : ""; *c; c++)
        cap += *c == '\n';
    out->v = sr_arena_alloc(&out->arena, (size_t)cap * sizeof(SrYaml *));
    SR_TRY_MEMORY(out->v, "%d lines", cap);
    for (const char *line = text->s, *end; line && *line && (end = strchr(line, '\n'));
         line = end + 1)
        SR_TRY(sr_json_parse(&out->arena, line, (size_t)(end - line), "line", &out->v[out->n++]));
    return SR_OK;
}

// Fills the body from lines and returns the title in `title` (256 bytes).
typedef void (*FillPage)(SrPhotoBody *p, Lines *l, const char *image, char *title);

static SrStatus make_page(const SrPhotoFiles *files, const char *image, const SrText *text,
                          FillPage fill) {
    char title[256];
    Lines lines = {.n = 0};
    SrPhotoBody *p = NULL;
    SrStatus status;
    SR_TRY_GOTO(sr_photo_body_new(&p));
    SR_TRY_GOTO(read_lines(text, &lines));
    fill(p, &lines, image, title);
    SR_TRY_GOTO(sr_photo_files_write(p, title, files));
done:
    sr_photo_body_free(p);
    sr_arena_deinit(&lines.arena);
    return status;
}

static double number(const SrYaml *line, const char *key) {
    const SrYaml *v = sr_yaml_find(line, key);
    return v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : 0;
}

// ---- similar ------------------------------------------------------------------------------------

static void fill_similar(SrPhotoBody *p, Lines *l, const char *image, char *title) {
    const char *slash = strrchr(image, '/');
    char caption[32];
    snprintf(title, 256, "Images like %.200s", slash ? slash + 1 : image);
    sr_text_add(&p->html, "<p>The image, and those whose features are nearest to its own, the "
                          "nearest first. The number is the cosine: 1 is the same.</p>\n");
    sr_photo_body_section(p, "The image");
    sr_photo_body_begin(p);
    sr_photo_body_add(p, image, "the image");
    sr_photo_body_end(p);
    snprintf(caption, sizeof caption, "%d most similar", l->n);
    sr_photo_body_section(p, caption);
    sr_text_printf(&p->html, "<section><h2>%s</h2>\n", caption);
    sr_photo_body_begin(p);
    for (int i = 0; i < l->n; i++) {
        sr_number_print(caption, sizeof caption, "%.3f", number(l->v[i], "cosine"));
        if (!sr_photo_body_add(p, sr_tree_text(l->v[i], "file", ""), caption))
            break;
    }
    sr_photo_body_end(p);
    sr_text_add(&p->html, "</section>\n");
}

SrStatus sr_photo_page_similar(const SrPhotoFiles *files, const char *image, const SrText *lines) {
    return make_page(files, image, lines, fill_similar);
}

// ---- duplicates ---------------------------------------------------------------------------------

// Adds a group: its photos, and their paths as text that can be copied.  False: the page is full.
static bool add_group(SrPhotoBody *p, const SrYaml *files, int number_of) {
    char heading[64];
    bool room = true;
    snprintf(heading, sizeof heading, "Group %d: %d images", number_of, files->n);
    sr_photo_body_section(p, heading);
    sr_text_printf(&p->html,
                   "<section class=\"card\"><h2>Group %d <span class=\"pale\">%d images"
                   "</span></h2>\n",
                   number_of, files->n);
    sr_photo_body_begin(p);
    for (int i = 0; i < SR_MIN(files->n, OF_GROUP) && room; i++)
        room = sr_photo_body_add(p, files->items[i]->text ? files->items[i]->text : "", "");
    sr_photo_body_end(p);
    sr_text_add(&p->html, "<details><summary>their files</summary><pre tabindex=\"0\">");
    for (int i = 0; i < files->n; i++) {
        sr_html_escape(files->items[i]->text ? files->items[i]->text : "", &p->html);
        sr_text_add(&p->html, "\n");
    }
    sr_text_add(&p->html, "</pre></details></section>\n");
    return room;
}

static void fill_duplicates(SrPhotoBody *p, Lines *l, const char *image, char *title) {
    int images = 0;
    (void)image;
    for (int i = 0; i < l->n; i++) {
        const SrYaml *files = sr_yaml_find(l->v[i], "files");
        images += files ? files->n : 0;
    }
    snprintf(title, 256, "%d group%s of images that look alike", l->n, l->n == 1 ? "" : "s");
    sr_text_printf(&p->html,
                   "<p>%d images in all, larger groups first. Features that are alike are no proof "
                   "of a copy: look before you delete.</p>\n<div class=\"cards\">\n",
                   images);
    int shown = 0;
    for (bool room = true; room && shown < l->n; shown++) {
        const SrYaml *files = sr_yaml_find(l->v[shown], "files");
        room = !files || files->type != SR_YAML_LIST || add_group(p, files, shown + 1);
    }
    sr_text_add(&p->html, "</div>\n");
    if (shown < l->n)
        sr_text_printf(&p->html,
                       "<p class=\"pale\">%d more groups are not shown; the list without "
                       "--page has them all.</p>\n",
                       l->n - shown);
}

SrStatus sr_photo_page_duplicates(const SrPhotoFiles *files, const SrText *lines) {
    return make_page(files, NULL, lines, fill_duplicates);
}

// ---- predict ------------------------------------------------------------------------------------

static int least_certain_first(const void *a, const void *b) {
    const SrYaml *x = *(SrYaml *const *)a, *y = *(SrYaml *const *)b;
    double p = number(x, "probability"), q = number(y, "probability");
    return p != q ? (p > q) - (p < q)
                  : strcmp(sr_tree_text(x, "file", ""), sr_tree_text(y, "file", ""));
}

static bool add_prediction(SrPhotoBody *p, const SrYaml *line) {
    char caption[160];
    sr_number_print(caption, sizeof caption, "%.100s, %.0f\u00a0%%",
                    sr_tree_text(line, "class", "?"), 100 * number(line, "probability"));
    return sr_photo_body_add(p, sr_tree_text(line, "file", ""), caption);
}

// Adds the most certain images of the class of line `first`; later lines of it get seen[].
static void add_class(SrPhotoBody *p, const Lines *l, int first, bool *seen) {
    const char *class = sr_tree_text(l->v[first], "class", "?");
    char heading[160];
    int n = 0, shown = 0;
    for (int i = first; i >= 0; i--)
        if (strcmp(sr_tree_text(l->v[i], "class", "?"), class) == 0) {
            seen[i] = true;
            n++;
        }
    snprintf(heading, sizeof heading, "%.100s: %d image%s", class, n, n == 1 ? "" : "s");
    sr_photo_body_section(p, heading);
    sr_text_add(&p->html, "<section><h2>");
    sr_html_escape(class, &p->html);
    sr_text_printf(&p->html, " <span class=\"pale\">%d image%s</span></h2>\n", n,
                   n == 1 ? "" : "s");
    sr_photo_body_begin(p);
    for (int i = first; i >= 0 && shown < OF_CLASS; i--)
        if (strcmp(sr_tree_text(l->v[i], "class", "?"), class) == 0 && add_prediction(p, l->v[i]))
            shown++;
    sr_photo_body_end(p);
    sr_text_add(&p->html, "</section>\n");
}

static void fill_predict(SrPhotoBody *p, Lines *l, const char *image, char *title) {
    bool *seen = sr_calloc((size_t)l->n + 1, sizeof *seen);
    (void)image;
    snprintf(title, 256, "Classes of %d image%s", l->n, l->n == 1 ? "" : "s");
    if (l->n > 0)
        qsort(l->v, (size_t)l->n, sizeof *l->v, least_certain_first);
    sr_text_add(&p->html, "<p>The class that the classifier gives each image, and how sure it is. "
                          "Mistakes are mostly among the first ones.</p>\n"
                          "<section><h2>Least certain</h2>\n");
    sr_photo_body_section(p, "Least certain");
    sr_photo_body_begin(p);
    for (int i = 0; i < SR_MIN(l->n, DOUBTFUL); i++)
        add_prediction(p, l->v[i]);
    sr_photo_body_end(p);
    sr_text_add(&p->html, "</section>\n<p class=\"pale\">Below: the most certain images of each "
                          "class.</p>\n");
    for (int i = l->n - 1; seen && i >= 0; i--)
        if (!seen[i])
            add_class(p, l, i, seen);
    p->html.failed = p->html.failed || !seen;
    sr_free(seen);
}

SrStatus sr_photo_page_predict(const SrPhotoFiles *files, const SrText *lines) {
    return make_page(files, NULL, lines, fill_predict);
}

// ---- tidy ---------------------------------------------------------------------------------------

// Adds the photos of one issue, lines [first, end), and a table row's worth of text above them.
static bool add_issue(SrPhotoBody *p, Lines *l, int first, int end) {
    bool room = true;
    char caption[256], value[32];
    const char *issue = sr_tree_text(l->v[first], "issue", "");
    SrTidyIssue kind;
    bool known = sr_tidy_find_issue(issue, &kind) == SR_OK;
    snprintf(caption, sizeof caption, "%.40s: %d", issue, end - first);
    sr_photo_body_section(p, caption);
    sr_text_add(&p->html, "<section><h2>");
    sr_html_escape(issue, &p->html);
    sr_text_printf(&p->html, " <span class=\"pale\">%d</span></h2>\n<p class=\"pale\">%s</p>\n",
                   end - first, known ? sr_tidy_help(kind) : "");
    sr_photo_body_begin(p);
    for (int i = first; i < end && i < first + OF_ISSUE && room; i++) {
        const char *of = sr_tree_text(l->v[i], "of", "");
        caption[0] = '\0';
        if (known && sr_yaml_find(l->v[i], "value")) {
            sr_number_print(value, sizeof value, "%.3g", number(l->v[i], "value"));
            snprintf(caption, sizeof caption, "%s: %s", sr_tidy_unit(kind), value);
        }
        if (!*caption) // the file's name is in the tooltip
            snprintf(caption, sizeof caption, "%.250s", sr_tree_text(l->v[i], "reason", ""));
        room = sr_photo_body_add(p, sr_tree_text(l->v[i], "file", ""), caption);
        if (room && *of)
            room = sr_photo_body_add(p, of, "the other");
    }
    sr_photo_body_end(p);
    sr_text_add(&p->html, "</section>\n");
    return room;
}

static void fill_tidy(SrPhotoBody *p, Lines *l, const char *image, char *title) {
    bool room = true;
    (void)image;
    snprintf(title, 256, "%d finding%s", l->n, l->n == 1 ? "" : "s");
    sr_text_add(&p->html, "<p>What is wrong with the files, the worst twelve of each kind. Nothing "
                          "was changed.</p>\n");
    for (int first = 0, end; first < l->n && room; first = end) {
        const char *issue = sr_tree_text(l->v[first], "issue", "");
        for (end = first + 1;
             end < l->n && strcmp(sr_tree_text(l->v[end], "issue", ""), issue) == 0;)
            end++;
        room = add_issue(p, l, first, end);
    }
    if (!room)
        sr_text_add(&p->html, "<p class=\"pale\">More are not shown; the list without --page has "
                              "them all.</p>\n");
}

SrStatus sr_photo_page_tidy(const SrPhotoFiles *files, const SrText *lines) {
    return make_page(files, NULL, lines, fill_tidy);
}

// ---- any list -----------------------------------------------------------------------------------

static void end_section(SrPhotoBody *p, const char *heading) {
    if (!heading)
        return;
    sr_photo_body_end(p);
    sr_text_add(&p->html, "</section>\n");
}

static void fill_list(SrPhotoBody *p, const char *intro, const SrPhoto *photos, int n) {
    const char *section = NULL;
    sr_text_add(&p->html, "<p>");
    sr_html_escape(intro, &p->html);
    sr_text_add(&p->html, "</p>\n");
    for (int i = 0; i < n && p->n < SR_PHOTOS_MOST; i++) {
        if (!section || strcmp(section, photos[i].section) != 0) {
            end_section(p, section);
            section = photos[i].section;
            sr_photo_body_section(p, section);
            sr_text_add(&p->html, *section ? "<section><h2>" : "<section>");
            sr_html_escape(section, &p->html);
            sr_text_add(&p->html, *section ? "</h2>\n" : "\n");
            sr_photo_body_begin(p);
        }
        sr_photo_body_add(p, photos[i].file, photos[i].caption);
    }
    end_section(p, section);
}

SrStatus sr_photo_page_list(const char *file, const char *title, const char *intro,
                            const SrPhoto *photos, int n, int64_t left_out) {
    SrStatus status;
    SrPhotoBody *p;
    SR_TRY_GOTO(sr_photo_body_new(&p));
    fill_list(p, intro, photos, n);
    if (left_out > 0)
        sr_text_printf(&p->html,
                       "<p class=\"pale\">%lld more are not shown; the list without --page has "
                       "them all.</p>\n",
                       (long long)left_out);
    SR_TRY_GOTO(sr_photo_files_write(p, title, &(SrPhotoFiles){.page = file}));
done:
    sr_photo_body_free(p);
    return status;
}
