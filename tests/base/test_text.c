// Tests growing text, numbers in text, UTF-8, edit distance, and patterns with * and ?.
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/text/text.h"
#include "tests/check.h"

TEST(test_growing) {
    SrText text = SR_TEXT_INIT;
    for (int i = 0; i < 1000; i++)
        sr_text_printf(&text, "%d,", i);
    CHECK_INT(text.len, 10 * 2 + 90 * 3 + 900 * 4);
    CHECK_INT(strlen(text.s), text.len);
    CHECK(strncmp(text.s, "0,1,2,", 6) == 0);
    sr_text_addn(&text, "tail!", 4);
    CHECK_STR(text.s + text.len - 6, "9,tail");
    sr_text_deinit(&text);
    CHECK(!text.s && text.len == 0);
    sr_text_add(&text, "");
    CHECK_STR(text.s, "");
    sr_text_deinit(&text);
}

TEST(test_words_of_a_command) {
    SrText text = SR_TEXT_INIT;
    sr_text_add_word(&text, "runs/a-1.yaml");
    CHECK_STR(text.s, "runs/a-1.yaml");
    sr_text_add_word(&text, "");
    sr_text_add_word(&text, "my photos' $HOME");
    CHECK_STR(text.s, "runs/a-1.yaml'''my photos'\\'' $HOME'");
    sr_text_deinit(&text);
}

TEST(test_out_of_memory_keeps_what_was_there) {
    SrText text = SR_TEXT_INIT;
    sr_text_add(&text, "kept");
    sr_mem_fail_at(1);
    sr_text_printf(&text, "%1000d", 1);
    CHECK(text.failed);
    sr_text_add(&text, "dropped");
    CHECK_STR(text.s, "kept");
    sr_text_deinit(&text);
}

TEST(test_numbers_read_back) {
    char buf[SR_TEXT_NUMBER_BYTES];
    CHECK_STR(sr_text_number(0.1, buf), "0.1");
    CHECK_STR(sr_text_number(224, buf), "224");
    CHECK_STR(sr_text_number(1e-5, buf), "1e-05");
    CHECK_STR(sr_text_number(-0.0, buf), "-0");
    CHECK_STR(sr_text_number(1.0 / 3, buf), "0.3333333333333333");
    CHECK_STR(sr_text_number(5e-324, buf) + 0, "4.94065645841247e-324");
    SrRng rng = sr_rng(1, SR_RNG_TEST, 0, 0, 0, 0);
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = (uint64_t)sr_rng_u32(&rng) << 32 | sr_rng_u32(&rng);
        double x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x))
            CHECK(strtod(sr_text_number(x, buf), NULL) == x);
    }
}

static int utf8_len(const char *s, uint32_t expected) {
    uint32_t code = 0;
    int len = sr_text_utf8(s, &code);
    if (len)
        CHECK_INT(code, expected);
    return len;
}

TEST(test_utf8) {
    CHECK_INT(utf8_len("a", 'a'), 1);
    CHECK_INT(utf8_len("\xc3\xa9", 0xE9), 2);
    CHECK_INT(utf8_len("\xe2\x82\xac", 0x20AC), 3);
    CHECK_INT(utf8_len("\xf0\x9f\x98\x80", 0x1F600), 4);
    CHECK_INT(utf8_len("\xf4\x8f\xbf\xbf", 0x10FFFF), 4);
    const char *const bad[] = {"\x80",
                               "\xc3",
                               "\xc3(",
                               "\xe2\x82",
                               "\xc0\x80",
                               "\xe0\x80\x80",
                               "\xed\xa0\x80",
                               "\xf4\x90\x80\x80",
                               "\xf8\x88\x80\x80\x80",
                               "\xff"};
    for (int i = 0; i < SR_COUNT(bad); i++)
        CHECK_INT(utf8_len(bad[i], 0), 0);
}

// Control characters of C0 and C1, also as bytes that are not UTF-8, and what is none.
TEST(test_controls) {
    static const struct {
        const char *s;
        int bytes;
        bool control;
    } cases[] = {{"a", 1, false},        {"\n", 1, true},        {"\033", 1, true},
                 {"\x7f", 1, true},      {"\xc2\x9b", 2, true},  {"\xc2\x80", 2, true},
                 {"\xc2\xa0", 2, false}, {"\xc3\xa9", 2, false}, {"\x9b", 1, true},
                 {"\xe9", 1, false},     {"\xe2\x82", 1, false}, {"\xf0\x9f\x98\x80", 4, false}};
    for (int i = 0; i < SR_COUNT(cases); i++) {
        bool control;
        CHECK_INT(sr_text_next(cases[i].s, &control), cases[i].bytes);
        CHECK_INT(control, cases[i].control);
    }
    char text[] = "a\n\tb\r\033[31m \xc2\x9b caf\xc3\xa9 \x9b\xe9";
    sr_text_disarm(text, "\n\t");
    CHECK_STR(text, "a\n\tb??[31m ?? caf\xc3\xa9 ?\xe9");
    sr_text_disarm(text, "");
    CHECK_STR(text, "a??b??[31m ?? caf\xc3\xa9 ?\xe9");
}

TEST(test_distance) {
    CHECK_NEAR(sr_text_distance("resnet", "resnet"), 0, 0);
    CHECK_NEAR(sr_text_distance("resnet", "resnett"), 1, 0);
    CHECK_NEAR(sr_text_distance("resnet", "rsenet"), 1, 0);  // two neighbours swapped
    CHECK_NEAR(sr_text_distance("resnet", "RESNET"), 3, 0);  // half a step per letter
    CHECK_NEAR(sr_text_distance("kitten", "sitting"), 3, 0); // the textbook example
    CHECK_NEAR(sr_text_distance("", "abc"), 3, 0);
    char s[400];
    memset(s, 'x', sizeof s - 1);
    s[sizeof s - 1] = '\0';
    CHECK_NEAR(sr_text_distance(s, "x"), 126, 0); // the first 127 characters count
}

TEST(test_nearest) {
    const char *const names[] = {"epsilon", "num_iters", "temperature", "queue.queue_length"};
    CHECK_INT(sr_text_nearest("epslion", names, 4), 0);
    CHECK_INT(sr_text_nearest("NUM_ITERS", names, 4), 1);
    CHECK_INT(sr_text_nearest("queue.queue_lenght", names, 4), 3);
    CHECK_INT(sr_text_nearest("batchsize", names, 4), -1);
    CHECK_INT(sr_text_nearest("x", names, 0), -1);
    CHECK_INT(sr_text_nearest("x", (const char *[]){"0", "x"}, 2), 1);
    CHECK_INT(sr_text_nearest("x", (const char *[]){"0", "y"}, 2), -1); // no letter in common
}

TEST(test_glob) {
    CHECK(sr_text_glob("", ""));
    CHECK(sr_text_glob("*", ""));
    CHECK(sr_text_glob("layer?.*.conv?", "layer1.0.conv2"));
    CHECK(sr_text_glob("*a*b", "xaxbxb"));
    CHECK(!sr_text_glob("*a*b", "xaxbx"));
    CHECK(!sr_text_glob("?", ""));
    CHECK(!sr_text_glob("abc", "abcd"));
    CHECK(!sr_text_glob("abc*d", "abc"));
    char many[200];
    memset(many, 'a', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    CHECK(!sr_text_glob("*a*a*a*a*a*a*a*a*a*a*a*b",
                        many)); // returns at once instead of in exponential time
}

TEST(test_ends) {
    CHECK(sr_text_starts("config.X", "config.") && sr_text_starts("x", "") &&
          !sr_text_starts("con", "config"));
    CHECK(sr_text_ends("a.yaml", ".yaml") && sr_text_ends("x", "") && !sr_text_ends("l", ".yaml"));
    CHECK_STR(sr_text_below("MODEL.HEAD.PARAMS", "MODEL"), "HEAD.PARAMS");
    CHECK(!sr_text_below("MODEL", "MODEL") && !sr_text_below("MODELS.X", "MODEL") &&
          !sr_text_below("M", ""));
}

SR_TESTS(text, unit(test_growing), unit(test_words_of_a_command),
         unit(test_out_of_memory_keeps_what_was_there), unit(test_numbers_read_back),
         unit(test_utf8), unit(test_controls), unit(test_distance), unit(test_nearest),
         unit(test_glob), unit(test_ends))
