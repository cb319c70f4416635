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

SR_TESTS(hash, unit(test_known_values), unit(test_goes_on_where_it_ended))
