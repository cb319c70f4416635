// Lists all verbs from their descriptors.
#include "cli/help/overview.h"

#include "base/version.h"

#define USAGE                             \
    "usage: sslrun VERB [ARGUMENT ...]\n" \
    "       sslrun CONFIG [KEY=VALUE ...]   trains, as `sslrun train` does\n\n"

const char *sr_verb_group_title(SrVerbGroup group) {
    static const char *const titles[SR_VERB_GROUPS] = {
        [SR_VERB_TRAIN] = "Train",
        [SR_VERB_LOOK] = "Look at runs",
        [SR_VERB_EVALUATE] = "Evaluate a trunk",
        [SR_VERB_FEATURES] = "Features and layers",
        [SR_VERB_FOLDER] = "Work on a folder of images",
        [SR_VERB_FILES] = "Files of weights",
        [SR_VERB_CHECK] = "Check and look up",
    };
    return titles[group];
}

const SrVerb *sr_verb_common(int place) {
    const SrVerb *verb;
    for (int i = 0; (verb = sr_verb_at(i)); i++)
        if (verb->common == place)
            return verb;
    return NULL;
}

static void add_line(const SrVerb *verb, SrText *out) {
    sr_text_printf(out, "  %-11s %s\n", verb->name, verb->summary);
}

static void add_common(SrText *out) {
    const SrVerb *verb;
    for (int place = 1; (verb = sr_verb_common(place)); place++)
        add_line(verb, out);
}

void sr_overview(SrText *out) {
    sr_text_add(out, "sslrun " SR_VERSION ": self-supervised learning for images\n\n" USAGE
                     "The commonest verbs:\n");
    add_common(out);
    for (int group = 0; group < SR_VERB_GROUPS; group++) {
        sr_text_printf(out, "\n%s:\n", sr_verb_group_title((SrVerbGroup)group));
        for (int i = 0; sr_verb_at(i); i++)
            if (sr_verb_at(i)->group == (SrVerbGroup)group && sr_verb_at(i)->common == 0)
                add_line(sr_verb_at(i), out);
    }
    sr_text_add(out,
                "\nsslrun help VERB (or sslrun VERB --help) explains a verb, with examples.\n"
                "KEY=VALUE changes a key of the configuration; sslrun describe KEY explains it.\n"
                "Every verb takes -q (warnings and results alone) and -v (more details).\n"
                "sslrun --version prints the version and what this build can read.\n");
}

void sr_overview_brief(SrText *out) {
    sr_text_add(out, USAGE);
    add_common(out);
    sr_text_add(out, "\nsslrun --help lists all verbs; sslrun help VERB explains one.\n");
}
