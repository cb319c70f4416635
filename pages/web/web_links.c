// Writes addresses and forms.
#include "pages/web/web_links.h"

#include <string.h>

void sr_web_address(const char *s, SrText *out) {
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-_.~", c);
        if (plain)
            sr_text_addn(out, s, 1);
        else
            sr_text_printf(out, "%%%02X", c);
    }
}

void sr_web_link(const char *page, const char *name, const char *token, SrText *out) {
    sr_text_printf(out, "%s?id=", page);
    sr_web_address(name, out);
    if (token) {
        sr_text_add(out, "&amp;token=");
        sr_web_address(token, out);
    }
}

void sr_web_form(const char *action, const char *name, const char *token, SrText *out) {
    if (!token)
        return;
    sr_text_add(out, "<form method=\"post\" style=\"display:inline\" action=\"/");
    sr_web_link(action, name, token, out);
    sr_text_printf(out, "\"><button>%s</button></form>", action);
}
