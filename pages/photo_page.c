// Writes pages of photos from the JSON lines of verbs.
#include "pages/photo_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/yaml_edit.h"
#include "pages/html.h"
#include "pages/thumbnails.h"

enum { MOST = 480, DOUBTFUL = 60, OF_CLASS = 12, OF_ISSUE = 12, OF_GROUP = 24 };

// ---- lines --------------------------------------------------------------------------------------

typedef struct {
    SrArena arena;
    SrYaml **v; // (n) objects
    int n;
} Lines;

static SrStatus read_lines(const char *text, Lines *out) {
    int cap = 1;
    for (const char *c = text ? text : ""; *c; c++)
        cap += *c == '\n';
    out->v = sr_arena_alloc(&out->arena, (size_t)cap * sizeof(SrYaml *));
    if (!out->v)
        SR_FAIL(SR_ERR_MEMORY, "out of memory for %d lines", cap);
    for (const char *line = text, *end; line && *line && (end = strchr(line, '\n')); line = end + 1)
        SR_TRY(sr_json_parse(&out->arena, line, (size_t)(end - line), "line", &out->v[out->n++]));
    return SR_OK;
}

// ---- photos -------------------------------------------------------------------------------------

typedef struct {
    SrThumb thumb[MOST];
    SrThumbUse use[MOST];
    int n;
    SrImagePool *pool;
    SrText body;
} Page;

// Adds a photo with a caption below it; false: the page is full.
static bool add_photo(Page *p, const char *path, const char *caption) {
    if (p->n == MOST)
        return false;
    sr_image_pool_reset(p->pool);
    if (sr_thumb_of_file(path, p->pool, &p->thumb[p->n]) != SR_OK)
        sr_status_clear(); // a photo that cannot be opened has an empty place
    p->use[p->n] = SR_THUMB_LARGE;
    sr_text_printf(&p->body, "<span><span class=\"t s%d\" role=\"img\" title=\"", p->n++);
    if (*caption)
        sr_html_text(&p->body, "%s: ", caption);
    sr_html_escape(path, &p->body);
    sr_text_add(&p->body, "\"></span><small>");
    sr_html_escape(caption, &p->body);
    sr_text_add(&p->body, "</small></span>\n");
    return true;
}

static void begin_photos(Page *p) { sr_text_add(&p->body, "<div class=\"thumbs\">\n"); }
static void end_photos(Page *p) { sr_text_add(&p->body, "</div>\n"); }

static SrStatus write_page(Page *p, const char *title, const char *file) {
    SrText out = SR_TEXT_INIT;
    sr_html_begin(title, &out);
    sr_text_add(&out, "<h1>");
    sr_html_escape(title, &out);
    sr_text_add(&out, "</h1>\n");
    SrStatus status = sr_thumbs_style(p->thumb, p->use, p->n, &out);
    sr_text_add(&out, p->body.s ? p->body.s : "");
    sr_html_end(&out);
    if (status == SR_OK)
        status = out.failed || p->body.failed
                     ? sr_fail(SR_ERR_MEMORY, "out of memory for the page %s", file)
                     : sr_file_write(file, out.s, out.len);
    sr_text_deinit(&out);
    return status;
}

static void page_free(Page *p) {
    for (int i = 0; p && i < p->n; i++)
        sr_thumb_deinit(&p->thumb[i]);
    if (p) {
        sr_image_pool_free(p->pool);
        sr_text_deinit(&p->body);
    }
    sr_free(p);
}

// Fills the body of a page from lines and returns the title in `title` (256 bytes).
typedef void (*FillPage)(Page *p, Lines *l, const char *image, char *title);

static SrStatus make_page(const char *file, const char *image, const char *text, FillPage fill) {
    char title[256];
    Lines lines = {.n = 0};
    SrStatus status;
    Page *p = sr_calloc(1, sizeof *p);
    SR_TRY_GOTO(p ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory for a page of photos"));
    SR_TRY_GOTO(sr_image_pool_new(&p->pool));
    SR_TRY_GOTO(read_lines(text, &lines));
    fill(p, &lines, image, title);
    SR_TRY_GOTO(write_page(p, title, file));
done:
    page_free(p);
    sr_arena_deinit(&lines.arena);
    return status;
}

static double number(const SrYaml *line, const char *key) {
    const SrYaml *v = sr_yaml_find(line, key);
    return v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : 0;
}

// ---- similar ------------------------------------------------------------------------------------

static void fill_similar(Page *p, Lines *l, const char *image, char *title) {
    const char *slash = strrchr(image, '/');
    char caption[32];
    snprintf(title, 256, "Images like %.200s", slash ? slash + 1 : image);
    sr_text_add(&p->body, "<p>The image, and those whose features are nearest to its own, the "
                          "nearest first. The number is the cosine: 1 is the same.</p>\n");
    begin_photos(p);
    add_photo(p, image, "the image");
    end_photos(p);
    sr_text_printf(&p->body, "<h2>%d most similar</h2>\n", l->n);
    begin_photos(p);
    for (int i = 0; i < l->n; i++) {
        sr_number_print(caption, sizeof caption, "%.3f", number(l->v[i], "cosine"));
        if (!add_photo(p, sr_tree_text(l->v[i], "file", ""), caption))
            break;
    }
    end_photos(p);
}

SrStatus sr_photo_page_similar(const char *file, const char *image, const char *lines) {
    return make_page(file, image, lines, fill_similar);
}

// ---- duplicates ---------------------------------------------------------------------------------

// Adds a group: its photos, and their paths as text that can be copied.  False: the page is full.
static bool add_group(Page *p, const SrYaml *files, int number_of) {
    bool room = true;
    sr_text_printf(&p->body,
                   "<div class=\"card\"><h2>Group %d <span class=\"pale\">%d images"
                   "</span></h2>\n",
                   number_of, files->n);
    begin_photos(p);
    for (int i = 0; i < SR_MIN(files->n, OF_GROUP) && room; i++)
        room = add_photo(p, files->items[i]->text ? files->items[i]->text : "", "");
    end_photos(p);
    sr_text_add(&p->body, "<details><summary>their files</summary><pre tabindex=\"0\">");
    for (int i = 0; i < files->n; i++) {
        sr_html_escape(files->items[i]->text ? files->items[i]->text : "", &p->body);
        sr_text_add(&p->body, "\n");
    }
    sr_text_add(&p->body, "</pre></details></div>\n");
    return room;
}

static void fill_duplicates(Page *p, Lines *l, const char *image, char *title) {
    int images = 0;
    (void)image;
    for (int i = 0; i < l->n; i++) {
        const SrYaml *files = sr_yaml_find(l->v[i], "files");
        images += files ? files->n : 0;
    }
    snprintf(title, 256, "%d group%s of images that look alike", l->n, l->n == 1 ? "" : "s");
    sr_text_printf(&p->body,
                   "<p>%d images in all, larger groups first. Features that are alike are no proof "
                   "of a copy: look before you delete.</p>\n<div class=\"cards\">\n",
                   images);
    int shown = 0;
    for (bool room = true; room && shown < l->n; shown++) {
        const SrYaml *files = sr_yaml_find(l->v[shown], "files");
        room = !files || files->type != SR_YAML_LIST || add_group(p, files, shown + 1);
    }
    sr_text_add(&p->body, "</div>\n");
    if (shown < l->n)
        sr_text_printf(&p->body,
                       "<p class=\"pale\">%d more groups are not shown; the list without "
                       "--page has them all.</p>\n",
                       l->n - shown);
}

SrStatus sr_photo_page_duplicates(const char *file, const char *lines) {
    return make_page(file, NULL, lines, fill_duplicates);
}

// ---- predict ------------------------------------------------------------------------------------

static int least_certain_first(const void *a, const void *b) {
    const SrYaml *x = *(SrYaml *const *)a, *y = *(SrYaml *const *)b;
    double p = number(x, "probability"), q = number(y, "probability");
    return p != q ? (p > q) - (p < q)
                  : strcmp(sr_tree_text(x, "file", ""), sr_tree_text(y, "file", ""));
}

static bool add_prediction(Page *p, const SrYaml *line) {
    char caption[160];
    sr_number_print(caption, sizeof caption, "%.100s, %.0f\u00a0%%",
                    sr_tree_text(line, "class", "?"), 100 * number(line, "probability"));
    return add_photo(p, sr_tree_text(line, "file", ""), caption);
}

// Adds the most certain images of the class of line `first`; later lines of it get seen[].
static void add_class(Page *p, const Lines *l, int first, bool *seen) {
    const char *class = sr_tree_text(l->v[first], "class", "?");
    int n = 0, shown = 0;
    for (int i = first; i >= 0; i--)
        if (strcmp(sr_tree_text(l->v[i], "class", "?"), class) == 0) {
            seen[i] = true;
            n++;
        }
    sr_text_add(&p->body, "<h2>");
    sr_html_escape(class, &p->body);
    sr_text_printf(&p->body, " <span class=\"pale\">%d image%s</span></h2>\n", n,
                   n == 1 ? "" : "s");
    begin_photos(p);
    for (int i = first; i >= 0 && shown < OF_CLASS; i--)
        if (strcmp(sr_tree_text(l->v[i], "class", "?"), class) == 0 && add_prediction(p, l->v[i]))
            shown++;
    end_photos(p);
}

static void fill_predict(Page *p, Lines *l, const char *image, char *title) {
    bool *seen = sr_calloc((size_t)l->n + 1, sizeof *seen);
    (void)image;
    snprintf(title, 256, "Classes of %d image%s", l->n, l->n == 1 ? "" : "s");
    if (l->n > 0)
        qsort(l->v, (size_t)l->n, sizeof *l->v, least_certain_first);
    sr_text_add(&p->body, "<p>The class that the classifier gives each image, and how sure it is. "
                          "Mistakes are mostly among the first ones.</p>\n"
                          "<h2>Least certain</h2>\n");
    begin_photos(p);
    for (int i = 0; i < SR_MIN(l->n, DOUBTFUL); i++)
        add_prediction(p, l->v[i]);
    end_photos(p);
    sr_text_add(&p->body, "<p class=\"pale\">Below: the most certain images of each class.</p>\n");
    for (int i = l->n - 1; seen && i >= 0; i--)
        if (!seen[i])
            add_class(p, l, i, seen);
    p->body.failed = p->body.failed || !seen;
    sr_free(seen);
}

SrStatus sr_photo_page_predict(const char *file, const char *lines) {
    return make_page(file, NULL, lines, fill_predict);
}

// ---- tidy ---------------------------------------------------------------------------------------

// Adds the photos of one issue, lines [first, end), and a table row's worth of text above them.
static bool add_issue(Page *p, Lines *l, int first, int end) {
    bool room = true;
    char caption[64];
    const char *issue = sr_tree_text(l->v[first], "issue", "");
    sr_text_add(&p->body, "<h2>");
    sr_html_escape(issue, &p->body);
    sr_text_printf(&p->body, " <span class=\"pale\">%d</span></h2>\n", end - first);
    begin_photos(p);
    for (int i = first; i < end && i < first + OF_ISSUE && room; i++) {
        const char *of = sr_tree_text(l->v[i], "of", "");
        caption[0] = '\0';
        if (sr_yaml_find(l->v[i], "value"))
            sr_number_print(caption, sizeof caption, "%.3g", number(l->v[i], "value"));
        room = add_photo(p, sr_tree_text(l->v[i], "file", ""), caption);
        if (room && *of)
            room = add_photo(p, of, "the other");
    }
    end_photos(p);
    return room;
}

static void fill_tidy(Page *p, Lines *l, const char *image, char *title) {
    bool room = true;
    (void)image;
    snprintf(title, 256, "%d finding%s", l->n, l->n == 1 ? "" : "s");
    sr_text_add(&p->body, "<p>What is wrong with the files, the worst twelve of each kind. Nothing "
                          "was changed.</p>\n");
    for (int first = 0, end; first < l->n && room; first = end) {
        const char *issue = sr_tree_text(l->v[first], "issue", "");
        for (end = first + 1;
             end < l->n && strcmp(sr_tree_text(l->v[end], "issue", ""), issue) == 0;)
            end++;
        room = add_issue(p, l, first, end);
    }
    if (!room)
        sr_text_add(&p->body, "<p class=\"pale\">More are not shown; the list without --page has "
                              "them all.</p>\n");
}

SrStatus sr_photo_page_tidy(const char *file, const char *lines) {
    return make_page(file, NULL, lines, fill_tidy);
}

// ---- any list -----------------------------------------------------------------------------------

static void fill_list(Page *p, const char *intro, const SrPhoto *photos, int n) {
    const char *section = NULL;
    sr_text_add(&p->body, "<p>");
    sr_html_escape(intro, &p->body);
    sr_text_add(&p->body, "</p>\n");
    for (int i = 0; i < n && p->n < MOST; i++) {
        if (!section || strcmp(section, photos[i].section) != 0) {
            if (section)
                end_photos(p);
            section = photos[i].section;
            sr_text_add(&p->body, "<h2>");
            sr_html_escape(section, &p->body);
            sr_text_add(&p->body, "</h2>\n");
            begin_photos(p);
        }
        add_photo(p, photos[i].file, photos[i].caption);
    }
    if (section)
        end_photos(p);
}

SrStatus sr_photo_page_list(const char *file, const char *title, const char *intro,
                            const SrPhoto *photos, int n) {
    SrStatus status = SR_OK;
    Page *p = sr_calloc(1, sizeof *p);
    SR_TRY_GOTO(p ? SR_OK : sr_fail(SR_ERR_MEMORY, "out of memory for a page of photos"));
    SR_TRY_GOTO(sr_image_pool_new(&p->pool));
    fill_list(p, intro, photos, n);
    SR_TRY_GOTO(write_page(p, title, file));
done:
    page_free(p);
    return status;
}
