// Tests text in pages: marks of HTML are escaped, and characters that terminals obey never reach a
// page.
#include "pages/html.h"

#include "tests/check.h"

TEST(test_escape) {
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"<b onload='x'>&\"", "&lt;b onload=&#39;x&#39;&gt;&amp;&quot;"},
        {"two\nlines\tand \xc3\xa9", "two\nlines\tand \xc3\xa9"},
        {"\033[31m\a\x7f", "&#xFFFD;[31m&#xFFFD;&#xFFFD;"},
        {"c1 \xc2\x9b", "c1 &#xFFFD;"},
        {"no UTF-8 \x9b \xe9", "no UTF-8 &#xFFFD; &#xFFFD;"},
        {"12 %", "12&nbsp;%"},
    };
    for (int i = 0; i < SR_COUNT(cases); i++) {
        SrText out = SR_TEXT_INIT;
        sr_html_escape(cases[i].from, &out);
        CHECK_STR(out.s, cases[i].to);
        sr_text_deinit(&out);
    }
}

SR_TESTS(html, unit(test_escape))
