// Tests text on a picture: characters that the font does not have are replaced by ones that it
// has.
#include "pages/canvas.h"

#include <stdbool.h>

#include "tests/check.h"

enum { H = SR_CANVAS_LINE_H, W = 200 };

// Returns whether two texts give the same pixels on a line.
static bool look_alike(const char *a, const char *b) {
    SrCanvas one, two;
    CHECK_OK(sr_canvas_init(&one, H, W, 0xFFFFFF));
    CHECK_OK(sr_canvas_init(&two, H, W, 0xFFFFFF));
    CHECK_INT(sr_canvas_text(&one, 0, 0, W, 0, a), 1);
    CHECK_INT(sr_canvas_text(&two, 0, 0, W, 0, b), 1);
    bool same = memcmp(one.rgb, two.rgb, H * W * 3) == 0;
    sr_canvas_deinit(&one);
    sr_canvas_deinit(&two);
    return same;
}

TEST(test_umlauts) {
    CHECK(look_alike("\u00dcbergr\u00f6\u00dfe.JPG", "Uebergroesse.JPG"));
    CHECK(look_alike("caf\u00e9 \u00e7a", "cafe ca"));
    CHECK(look_alike("cafe\u0301", "cafe"));         // decomposed, as macOS writes it
    CHECK(look_alike("\u732b\u732b.jpg", "??.jpg")); // one question mark per character
    CHECK(look_alike("a\xff"
                     "b\xc3",
                     "a?b?")); // not valid UTF-8
    CHECK(!look_alike("a", "b"));
}

// A word that is too long for its line is broken between characters.
TEST(test_broken_between_characters) {
    char word[101] = "";
    for (int i = 0; i < 50; i++)
        strcat(word, "\u00e9");
    for (int width = 1; width < 60; width += 7)
        CHECK_INT(sr_canvas_text(NULL, 0, 0, width, 0, word),
                  sr_canvas_text(NULL, 0, 0, width, 0,
                                 "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"));
}

SR_TESTS(canvas, unit(test_umlauts), unit(test_broken_between_characters))
