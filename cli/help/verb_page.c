// Writes the page of a verb: one walk over the descriptor, and one set of functions per form.
#include "cli/help/verb_page.h"

#include <ctype.h>
#include <string.h>

#include "base/version.h"

enum { COLUMNS = 80, TERM = 22 }; // width of a text page, and of its column of flags

// How a form writes the parts of a page.
typedef struct {
    void (*title)(const SrVerb *verb, SrText *out);
    void (*usage)(const char *line, bool first, SrText *out);
    void (*heading)(const char *name, SrText *out);
    void (*paragraph)(const char *text, int n, SrText *out); // n bytes of text
    void (*flag)(const SrFlag *flag, SrText *out);
    void (*example)(const SrExample *example, SrText *out);
    void (*section)(const char *name, const char *text, SrText *out);
    void (*end)(SrText *out);
} Form;

void sr_flag_term(const SrFlag *flag, SrText *out) {
    sr_text_printf(out, "%s%s%s", flag->name, flag->value ? " " : "",
                   flag->value ? flag->value : "");
}

// ---- text ---------------------------------------------------------------------------------------

// Adds n bytes of text in lines of COLUMNS.  The first line begins at column `at`; the others are
// indented to column `indent`.
static void add_wrapped(const char *text, int n, int at, int indent, SrText *out) {
    int column = at;
    for (int i = 0; i < n;) {
        int length = 0;
        while (i + length < n && text[i + length] != ' ')
            length++;
        bool begins = column == indent;
        if (!begins && column + 1 + length > COLUMNS) {
            sr_text_printf(out, "\n%*s", indent, "");
            column = indent;
            begins = true;
        }
        sr_text_printf(out, "%s%.*s", begins ? "" : " ", length, text + i);
        column += length + (begins ? 0 : 1);
        i += length;
        while (i < n && text[i] == ' ')
            i++;
    }
    sr_text_add(out, "\n");
}

static void text_title(const SrVerb *verb, SrText *out) {
    sr_text_printf(out, "sslrun %s: %s\n\n", verb->name, verb->summary);
}

static void text_usage(const char *line, bool first, SrText *out) {
    const char *begin = first ? "usage: " : "       ";
    sr_text_add(out, begin);
    add_wrapped(line, (int)strlen(line), 7, 7, out);
}

static void text_heading(const char *name, SrText *out) { sr_text_printf(out, "\n%s:\n", name); }

static void text_paragraph(const char *text, int n, SrText *out) {
    bool first = out->len > 1 && out->s[out->len - 2] == ':'; // a heading stands above
    sr_text_add(out, first ? "  " : "\n  ");
    add_wrapped(text, n, 2, 2, out);
}

static void text_flag(const SrFlag *flag, SrText *out) {
    SrText term = SR_TEXT_INIT;
    sr_flag_term(flag, &term);
    int width = (int)term.len;
    sr_text_printf(out, "  %-*s", TERM - 2, term.s ? term.s : "");
    if (width > TERM - 4)
        sr_text_printf(out, "\n%*s", TERM, "");
    add_wrapped(flag->help, (int)strlen(flag->help), TERM, TERM, out);
    sr_text_deinit(&term);
}

static void text_example(const SrExample *example, SrText *out) {
    sr_text_printf(out, "  %s\n      ", example->command);
    add_wrapped(example->what, (int)strlen(example->what), 6, 6, out);
}

static void text_section(const char *name, const char *text, SrText *out) {
    text_heading(name, out);
    text_paragraph(text, (int)strlen(text), out);
}

static void text_end(SrText *out) { (void)out; }

static const Form text_form = {text_title, text_usage,   text_heading, text_paragraph,
                               text_flag,  text_example, text_section, text_end};

// ---- man ----------------------------------------------------------------------------------------

static void roff_add(const char *s, int n, SrText *out) {
    for (int i = 0; i < n; i++) {
        bool starts = i == 0 || s[i - 1] == '\n';
        if (starts && (s[i] == '.' || s[i] == '\''))
            sr_text_add(out, "\\&");
        if (s[i] == '\\')
            sr_text_add(out, "\\e");
        else if (s[i] == '-')
            sr_text_add(out, "\\-");
        else
            sr_text_addn(out, s + i, 1);
    }
}

void sr_roff_add(const char *text, SrText *out) { roff_add(text, (int)strlen(text), out); }

static void man_title(const SrVerb *verb, SrText *out) {
    sr_text_add(out, ".TH \"SSLRUN\\-");
    for (const char *c = verb->name; *c; c++)
        sr_text_printf(out, "%c", toupper((unsigned char)*c));
    sr_text_add(out, "\" 1 \"\" \"sslrun " SR_VERSION "\" \"User Commands\"\n.SH NAME\nsslrun\\-");
    sr_text_printf(out, "%s \\- ", verb->name);
    sr_roff_add(verb->summary, out);
    sr_text_add(out, "\n.SH SYNOPSIS\n");
}

static void man_usage(const char *line, bool first, SrText *out) {
    if (!first)
        sr_text_add(out, ".br\n");
    sr_text_add(out, ".B sslrun\n");
    sr_roff_add(line + strlen("sslrun "), out);
    sr_text_add(out, "\n");
}

static void man_heading(const char *name, SrText *out) {
    sr_text_add(out, ".SH ");
    for (const char *c = name; *c; c++)
        sr_text_printf(out, "%c", toupper((unsigned char)*c));
    sr_text_add(out, "\n");
}

static void man_paragraph(const char *text, int n, SrText *out) {
    sr_text_add(out, ".PP\n");
    roff_add(text, n, out);
    sr_text_add(out, "\n");
}

static void man_flag(const SrFlag *flag, SrText *out) {
    SrText term = SR_TEXT_INIT;
    sr_flag_term(flag, &term);
    sr_text_add(out, ".TP\n.B ");
    sr_roff_add(term.s ? term.s : "", out);
    sr_text_add(out, "\n");
    sr_roff_add(flag->help, out);
    sr_text_add(out, "\n");
    sr_text_deinit(&term);
}

static void man_example(const SrExample *example, SrText *out) {
    sr_text_add(out, ".TP\n.B ");
    sr_roff_add(example->command, out);
    sr_text_add(out, "\n");
    sr_roff_add(example->what, out);
    sr_text_add(out, "\n");
}

static void man_section(const char *name, const char *text, SrText *out) {
    man_heading(name, out);
    sr_roff_add(text, out);
    sr_text_add(out, "\n");
}

static void man_end(SrText *out) { sr_text_add(out, ".SH SEE ALSO\n.BR sslrun (1)\n"); }

static const Form man_form = {man_title, man_usage,   man_heading, man_paragraph,
                              man_flag,  man_example, man_section, man_end};

// ---- Markdown -----------------------------------------------------------------------------------

static void mark_title(const SrVerb *verb, SrText *out) {
    sr_text_printf(out, "### %s\n\n`sslrun %s` %s.\n\n", verb->name, verb->name, verb->summary);
}

static void mark_usage(const char *line, bool first, SrText *out) {
    (void)first;
    sr_text_printf(out, "    %s\n", line);
}

static void mark_heading(const char *name, SrText *out) { sr_text_printf(out, "\n%s:\n\n", name); }

static void mark_paragraph(const char *text, int n, SrText *out) {
    sr_text_printf(out, "\n%.*s\n", n, text);
}

static void mark_flag(const SrFlag *flag, SrText *out) {
    sr_text_add(out, "- `");
    sr_flag_term(flag, out);
    sr_text_printf(out, "`: %s\n", flag->help);
}

static void mark_example(const SrExample *example, SrText *out) {
    sr_text_printf(out, "    %s\n        # %s\n", example->command, example->what);
}

static void mark_section(const char *name, const char *text, SrText *out) {
    sr_text_printf(out, "\n%s: %s\n", name, text);
}

static void mark_end(SrText *out) { sr_text_add(out, "\n"); }

static const Form mark_form = {mark_title, mark_usage,   mark_heading, mark_paragraph,
                               mark_flag,  mark_example, mark_section, mark_end};

// ---- one page -----------------------------------------------------------------------------------

static void add_usage(const Form *form, const SrVerb *verb, SrText *out) {
    bool first = true;
    for (const char *line = verb->args; line; first = false) {
        const char *end = strchr(line, '\n');
        int n = end ? (int)(end - line) : (int)strlen(line);
        SrText usage = SR_TEXT_INIT;
        bool optional = verb->flags && verb->flags->name;
        sr_text_printf(&usage, "sslrun %s%s%.*s%s", verb->name, n ? " " : "", n, line,
                       optional ? " [OPTION ...]" : "");
        form->usage(usage.s ? usage.s : "", first, out);
        sr_text_deinit(&usage);
        line = end ? end + 1 : NULL;
    }
}

static void add_paragraphs(const Form *form, const char *text, SrText *out) {
    while (text && *text) {
        const char *end = strstr(text, "\n\n");
        form->paragraph(text, end ? (int)(end - text) : (int)strlen(text), out);
        text = end ? end + 2 : NULL;
    }
}

void sr_verb_page(const SrVerb *verb, SrPageForm which, SrText *out) {
    static const Form *const forms[] = {
        [SR_PAGE_TEXT] = &text_form, [SR_PAGE_MAN] = &man_form, [SR_PAGE_MARKDOWN] = &mark_form};
    static const char usual[] = "0: done; 1: failed; 2: wrong usage or configuration.";
    const Form *form = forms[which];
    form->title(verb, out);
    add_usage(form, verb, out);
    if (which != SR_PAGE_MARKDOWN)
        form->heading("Description", out);
    add_paragraphs(form, verb->help, out);
    if (verb->flags && verb->flags->name)
        form->heading("Options", out);
    for (const SrFlag *f = verb->flags; f && f->name; f++)
        form->flag(f, out);
    if (verb->examples[0].command)
        form->heading("Examples", out);
    for (int i = 0; i < SR_EXAMPLES_MAX && verb->examples[i].command; i++)
        form->example(&verb->examples[i], out);
    if (verb->files)
        form->section("Files", verb->files, out);
    if (verb->exit || which == SR_PAGE_MAN)
        form->section("Exit status", verb->exit ? verb->exit : usual, out);
    form->end(out);
}
