/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/harness/t.h"
#include "token/base64url.h"
#include "token/token.h"

#define SECRET "0123456789abcdef0123456789abcdef"

T_TEST(base64url_is_strict)
{
    static const struct {
        const char *text;
        int n;
    } rows[] = {
        {"", 0},           {"AA", 1},
        {"AAA", 2},        {"AAAA", 3},
        {"-_-_", 3},       {"A", -EINVAL},
        {"AB", -EINVAL},   {"AAB", -EINVAL},
        {"AA==", -EINVAL}, {"A+AA", -EINVAL},
        {"A/", -EINVAL},   {"A A", -EINVAL},
        {"AA\n", -EINVAL}, {"AAAAAAAA", -E2BIG},
    };
    char buf[4];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        T_EQ_INT(base64url_decode(str_from(rows[i].text), buf, sizeof(buf)), rows[i].n);
    }
    for (size_t len = 0; len < 64; len++) {
        AUTO(strbuf) StrBuf text = STRBUF_INIT(200);
        char in[64], out[64];

        for (size_t i = 0; i < len; i++) {
            in[i] = (char)(i * 37 + len);
        }
        T_OK(base64url_encode((Str){in, len}, &text));
        T_EQ_INT(text.len, BASE64URL_LEN(len));
        T_EQ_INT(base64url_decode(strbuf_str(&text), out, sizeof(out)), len);
        T_CHECK(memcmp(in, out, len) == 0);
    }
}

static TokenClaims claims_v1(int64_t exp)
{
    return (TokenClaims){.version = 1, .ns = STR("team-a"), .name = STR("box"), .exp = exp};
}

static void mint_v1(int64_t exp, StrBuf *out)
{
    TokenClaims claims = claims_v1(exp);

    T_OK(token_mint_v1(STR(SECRET "\n"), &claims, out, NULL));
}

T_TEST(a_v1_token_of_another_program_is_read)
{
    /* Python: hmac.new(SECRET, b"agent-sandbox/scoped-token/v1." + payload, sha256) */
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    TokenClaims claims;
    Str token = STR("v1.eyJucyI6InRlYW0tYSIsIm5hbWUiOiJib3giLCJleHAiOjIwMDAwMDAwMDB9."
                    "7KumR9JhQOsXfUIflOUJ4SHW8cuHtG5gEUu-fRFh97E");

    T_OK(token_keys_add_secret(keys, STR(SECRET), NULL));
    T_EQ_INT(token_verify(keys, token, 1000, &claims), TOKEN_GOOD);
    T_EQ_STR(claims.ns, "team-a");
    T_EQ_STR(claims.name, "box");
    T_EQ_INT(claims.exp, 2000000000);
}

T_TEST(exp_is_exclusive)
{
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    AUTO(strbuf) StrBuf token = STRBUF_INIT(TOKEN_MAX);
    TokenClaims claims;

    T_OK(token_keys_add_secret(keys, STR(SECRET), NULL));
    mint_v1(500, &token);
    T_EQ_INT(token_verify(keys, strbuf_str(&token), 499, &claims), TOKEN_GOOD);
    T_EQ_INT(token_verify(keys, strbuf_str(&token), 500, &claims), TOKEN_EXPIRED);
    T_EQ_INT(token_verify(keys, strbuf_str(&token), INT64_MAX, &claims), TOKEN_EXPIRED);
}

T_TEST(every_changed_byte_of_a_token_is_noticed)
{
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    AUTO(strbuf) StrBuf token = STRBUF_INIT(TOKEN_MAX);
    AUTO(strbuf) StrBuf pem = STRBUF_INIT(4096);
    AUTO(strbuf) StrBuf set = STRBUF_INIT(4096);
    TokenClaims claims = {.version = 2,
                          .ns = STR("a"),
                          .name = STR("b"),
                          .uid = STR("u"),
                          .port = 8888,
                          .method = STR("POST"),
                          .path = STR("/execute"),
                          .kid = STR("k1"),
                          .exp = 500};
    TokenClaims got;

    T_OK(token_keygen(STR("k1"), &pem, &set, NULL));
    T_OK(token_keys_add_secret(keys, STR(SECRET), NULL));
    T_OK(token_keys_add_set(keys, strbuf_str(&set), NULL));
    for (int version = 1; version <= 2; version++) {
        strbuf_clear(&token);
        if (version == 1) {
            mint_v1(500, &token);
        } else {
            T_OK(token_mint_v2(strbuf_str(&pem), &claims, &token, NULL));
        }
        T_EQ_INT(token_verify(keys, strbuf_str(&token), 1, &got), TOKEN_GOOD);
        for (size_t i = 0; i < token.len; i++) {
            char before = token.ptr[i];

            token.ptr[i] = before == 'A' ? 'B' : 'A';
            T_CHECK(token_verify(keys, strbuf_str(&token), 1, &got) != TOKEN_GOOD);
            token.ptr[i] = before;
            T_CHECK(token_verify(keys, (Str){token.ptr, i}, 1, &got) != TOKEN_GOOD);
        }
        strbuf_append_char(&token, 'A');
        T_CHECK(token_verify(keys, strbuf_str(&token), 1, &got) != TOKEN_GOOD);
    }
}

T_TEST(a_v2_token_says_everything)
{
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    AUTO(token_keys) TokenKeys *none = token_keys_new();
    AUTO(strbuf) StrBuf token = STRBUF_INIT(TOKEN_MAX);
    AUTO(strbuf) StrBuf pem = STRBUF_INIT(4096);
    AUTO(strbuf) StrBuf set = STRBUF_INIT(4096);
    AUTO(strbuf) StrBuf other = STRBUF_INIT(4096);
    AUTO(strbuf) StrBuf unused = STRBUF_INIT(4096);
    TokenClaims claims = {.version = 2,
                          .ns = STR("team-a"),
                          .name = STR("box"),
                          .uid = STR("0b1e-uid"),
                          .port = 9000,
                          .method = STR("PUT"),
                          .path = STR("/v1/files/a%2Fb"),
                          .kid = STR("2026-12"),
                          .exp = 500};
    TokenClaims got;

    T_OK(token_keygen(STR("old"), &unused, &other, NULL));
    T_OK(token_keygen(STR("2026-12"), &pem, &set, NULL));
    T_OK(token_keys_add_set(keys, strbuf_str(&other), NULL));
    T_OK(token_keys_add_set(keys, strbuf_str(&set), NULL));
    T_OK(token_mint_v2(strbuf_str(&pem), &claims, &token, NULL));
    T_EQ_INT(token_verify(keys, strbuf_str(&token), 499, &got), TOKEN_GOOD);
    T_EQ_STR(got.uid, "0b1e-uid");
    T_EQ_STR(got.method, "PUT");
    T_EQ_STR(got.path, "/v1/files/a%2Fb");
    T_EQ_STR(got.kid, "2026-12");
    T_EQ_INT(got.port, 9000);
    T_EQ_INT(token_verify(keys, strbuf_str(&token), 500, &got), TOKEN_EXPIRED);
    T_EQ_INT(token_verify(none, strbuf_str(&token), 1, &got), TOKEN_UNKNOWN_KEY);
    T_EQ_INT(token_read(strbuf_str(&token), &got), TOKEN_GOOD);
    claims.kid = STR("old"); /* signed by the wrong key */
    strbuf_clear(&token);
    T_OK(token_mint_v2(strbuf_str(&pem), &claims, &token, NULL));
    T_EQ_INT(token_verify(keys, strbuf_str(&token), 1, &got), TOKEN_BAD_SIGNATURE);
}

T_TEST(hostile_tokens_are_refused)
{
    static const char *const rows[] = {
        "",       ".",           "..",       "...",       "v1",           "v1.",
        "v1..",   "v1.e30.",     "v1..AAAA", "v2.k.e30.", "v2..e30.AAAA", "v2.k!.e30.A",
        "v0.a.b", "V1.e30.AAAA", "v1 .a.b",  "v1.a.b.c",  "v2.a.b",       "v2.k.e30.AA.A",
        "v1.=.=", "v3.a.b.c",
    };
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    AUTO(strbuf) StrBuf big = STRBUF_INIT(100000);
    TokenClaims claims;

    T_OK(token_keys_add_secret(keys, STR(SECRET), NULL));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        T_CHECK(token_verify(keys, str_from(rows[i]), 1, &claims) != TOKEN_GOOD);
    }
    strbuf_append_cstr(&big, "v1.");
    for (size_t i = 0; i < TOKEN_MAX; i++) {
        strbuf_append_char(&big, 'A');
    }
    strbuf_append_cstr(&big, ".AAAA");
    T_EQ_INT(token_verify(keys, strbuf_str(&big), 1, &claims), TOKEN_MALFORMED);
}

T_TEST(claims_that_lack_something_are_refused)
{
    static const char *const rows[] = {
        "{}",
        "[]",
        "1",
        "{\"ns\":\"a\",\"name\":\"b\"}",
        "{\"ns\":\"a\",\"exp\":5}",
        "{\"ns\":\"a\",\"name\":\"b\",\"exp\":\"5\"}",
        "{\"ns\":1,\"name\":\"b\",\"exp\":5}",
        "{\"ns\":\"a\",\"name\":\"\",\"exp\":5}",
        "{\"ns\":\"a\",\"name\":\"b\",\"exp\":-5}",
        "{\"ns\":\"a\",\"ns\":\"c\",\"name\":\"b\",\"exp\":5}",
        "{\"ns\":\"a\\u0000\",\"name\":\"b\",\"exp\":5}",
    };
    TokenClaims claims;

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(strbuf) StrBuf token = STRBUF_INIT(TOKEN_MAX);

        strbuf_append_cstr(&token, "v1.");
        base64url_encode(str_from(rows[i]), &token);
        strbuf_append_cstr(&token, ".AAAA");
        T_EQ_INT(token_read(strbuf_str(&token), &claims), TOKEN_MALFORMED);
    }
}

T_TEST(secrets_and_key_sets_have_rules)
{
    static const char *const sets[] = {
        "",
        "{}",
        "[]",
        "{\"keys\":[]}",
        "{\"keys\":{}}",
        "{\"keys\":[{}]}",
        "{\"keys\":[{\"kid\":\"a\"}]}",
        "{\"keys\":[{\"kid\":\"a\",\"publicKey\":\"AAAA\"}]}",
        "{\"keys\":[{\"kid\":\"a "
        "b\",\"publicKey\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
        "{\"keys\":[{\"kid\":\"a\",\"publicKey\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
        "\"privateKey\":\"x\"}]}",
        "{\"keys\":[{\"kid\":\"a\",\"publicKey\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"},"
        "{\"kid\":\"a\",\"publicKey\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
        "{\"keys\":[{\"kid\":\"a\",\"publicKey\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}],"
        "\"more\":1}",
    };

    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        AUTO(token_keys) TokenKeys *keys = token_keys_new();
        Err err = ERR_INIT;

        T_EQ_INT(token_keys_add_set(keys, str_from(sets[i]), &err), -EINVAL);
        T_CHECK(err.msg[0]);
    }
    AUTO(token_keys) TokenKeys *keys = token_keys_new();

    T_EQ_INT(token_keys_add_secret(keys, STR(""), NULL), -EINVAL);
    T_EQ_INT(token_keys_add_secret(keys, STR("  0123456789abcdef0123456789abcde  "), NULL),
             -EINVAL);
    T_EQ_INT(token_keys_add_secret(keys, STR(SECRET "\n\n" SECRET), NULL), -EINVAL);
    T_OK(token_keys_add_secret(keys, STR(" " SECRET " \r\n" SECRET "\n"), NULL));
    for (int i = 3; i < TOKEN_SECRETS_MAX; i++) { /* the refused file left its first line */
        T_OK(token_keys_add_secret(keys, STR(SECRET), NULL));
    }
    T_EQ_INT(token_keys_add_secret(keys, STR(SECRET), NULL), -EINVAL);
}

T_TEST(paths_differ_in_nothing_but_the_case_of_escapes)
{
    T_CHECK(token_path_equal(STR("/a%2fb"), STR("/a%2Fb")));
    T_CHECK(token_path_equal(STR("/%aA"), STR("/%Aa")));
    T_CHECK(!token_path_equal(STR("/a%2fb"), STR("/a/b")));
    T_CHECK(!token_path_equal(STR("/a"), STR("/A")));
    T_CHECK(!token_path_equal(STR("/%2fa"), STR("/%2fA")));
    T_CHECK(!token_path_equal(STR("/a"), STR("/a/")));
    T_CHECK(token_path_equal(STR("/%"), STR("/%")));
}

T_TEST(private_files_are_private)
{
    char path[] = "/tmp/token-test-XXXXXX";
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TOKEN_FILE_MAX);
    Err err = ERR_INIT;
    int fd = mkstemp(path);

    T_CHECK(fd >= 0 && write(fd, "secret", 6) == 6);
    T_OK(fchmod(fd, 0640));
    T_EQ_INT(token_file_read(path, true, &text, &err), -EPERM);
    T_CONTAINS(err.msg, "0640");
    T_OK(fchmod(fd, 0600));
    T_OK(token_file_read(path, true, &text, NULL));
    T_EQ_STR(strbuf_str(&text), "secret");
    T_OK(ftruncate(fd, TOKEN_FILE_MAX + 1));
    strbuf_clear(&text);
    T_EQ_INT(token_file_read(path, true, &text, NULL), -EINVAL);
    T_EQ_INT(token_file_read("/tmp", true, &text, NULL), -EINVAL);
    T_EQ_INT(token_file_read("/no/such/file", true, &text, NULL), -ENOENT);
    close(fd);
    unlink(path);
}
