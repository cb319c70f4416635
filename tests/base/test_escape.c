// Tests escaping of file names: a name with line breaks and control characters takes one line of
// a list.
#include "base/text/escape.h"

#include "tests/check.h"

TEST(test_names_stay_on_a_line) {
    SrText text = SR_TEXT_INIT;
    sr_escape_line("new\nline\tand \\ \033[31m \x7f \u00fc.jpg", &text);
    CHECK_STR(text.s, "new\\nline\\tand \\\\ \\033[31m \\177 \u00fc.jpg");
    sr_text_deinit(&text);
    sr_escape_line("c1 \xc2\x9b \x9b \xe9.jpg", &text);
    CHECK_STR(text.s, "c1 \\302\\233 \\233 \xe9.jpg");
    sr_text_deinit(&text);
}

TEST(test_fields_of_csv) {
    SrText text = SR_TEXT_INIT;
    sr_escape_csv("plain name.jpg", &text);
    sr_text_add(&text, ";");
    sr_escape_csv("a \"b\", c", &text);
    CHECK_STR(text.s, "plain name.jpg;\"a \"\"b\"\", c\"");
    sr_text_deinit(&text);
}

SR_TESTS(escape, unit(test_names_stay_on_a_line), unit(test_fields_of_csv))
