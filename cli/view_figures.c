// Reads the figures of a run's views from its metrics.json.
#include "cli/view_figures.h"

#include <math.h>

#include "pages/runs/run_history.h"

static double number(const SrYaml *line, const char *key) {
    const SrYaml *v = sr_yaml_find(line, key);
    return v && (v->type == SR_YAML_INT || v->type == SR_YAML_FLOAT) ? v->f : NAN;
}

static void add(const SrYaml *line, SrText *out) {
    double found = number(line, "views_found"), rows = number(line, "view_rows");
    sr_text_add(out, "figures that need no labels, of the last step's embeddings:\n");
    if (isfinite(found) && rows >= 2)
        sr_text_printf(out,
                       "  views of an image that find each other  %6.2f %%  of %.0f images; chance "
                       "is %.2f %%\n",
                       100 * found, rows, 100 / rows);
    sr_text_printf(out, "  effective rank                          %6.1f    of at most %.0f\n",
                   number(line, "effective_rank"), rows);
    if (isfinite(number(line, "alignment")))
        sr_text_printf(out, "  alignment                               %6.3f    0: views agree\n",
                       number(line, "alignment"));
    sr_text_printf(out,
                   "  uniformity                              %6.2f    0: all images in one "
                   "place, -4: spread evenly\n",
                   number(line, "uniformity"));
}

void sr_view_figures_text(const char *run, SrText *out) {
    SrHistory history;
    if (sr_history_read(run, &history) != SR_OK)
        return;
    if (history.embeddings)
        add(history.embeddings, out);
    sr_history_deinit(&history);
}
