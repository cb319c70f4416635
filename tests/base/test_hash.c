// Tests the FNV-1a hash: published values, and a hash computed in parts.
#include "base/hash.h"

#include "tests/check.h"

// Values from the test suite of Fowler, Noll and Vo.
TEST(test_known_values) {
    CHECK(sr_hash_text("") == 0xcbf29ce484222325u);
    CHECK(sr_hash_text("a") == 0xaf63dc4c8601ec8cu);
    CHECK(sr_hash_text("foobar") == 0x85944171f73967e8u);
}

TEST(test_goes_on_where_it_ended) {
    uint64_t foo = sr_hash_bytes("foobar", 3);
    CHECK(sr_hash_more(foo, "bar", 3) == sr_hash_text("foobar"));
    CHECK(sr_hash_more(SR_HASH_START, "", 0) == SR_HASH_START);
}

// One bit that differs anywhere, or one byte more, gives another number.
TEST(test_long_data) {
    unsigned char data[37] = "thirty-six bytes, four words and four";
    uint64_t whole = sr_hash_long(SR_HASH_START, data, 36);
    CHECK(sr_hash_long(SR_HASH_START, data, 36) == whole);
    CHECK(sr_hash_long(SR_HASH_START, data, 37) != whole);
    CHECK(sr_hash_long(whole, data, 36) != whole);
    for (int bit = 0; bit < 36 * 8; bit++) {
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK(sr_hash_long(SR_HASH_START, data, 36) != whole);
        data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}

SR_TESTS(hash, unit(test_long_data), unit(test_known_values), unit(test_goes_on_where_it_ended))
