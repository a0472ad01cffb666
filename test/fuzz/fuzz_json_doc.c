/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JDoc against Jansson: both accept or both refuse, and accepted documents are the same tree. Then
 * what is written is read back the same, and a projection that keeps all changes nothing.
 * The rules differ on purpose for integers beyond int64 (Jansson refuses, we read a real), for very
 * long numbers, for depth and for a NUL byte after a number (Jansson skips it); duplicate keys and
 * NUL in strings are refused or allowed by both.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "test/fuzz/fuzz.h"
#include "json/doc.h"
#include "json/jx.h"
#include "json/scan.h"
#include "json/write.h"

#define TEXT_MAX FUZZ_INPUT_MAX
#define OUT_MAX ((size_t)64 << 20)

static const JProj ALL[] = {JPROJ_REST, JPROJ_END};
static const JProj SOME[] = {JPROJ_DROP("a"), JPROJ_EACH(JPROJ_KEEP("b"), JPROJ_DROP("c")),
                             JPROJ_END};

/* True when the text has something about which the two have different rules. */
static bool has_what_differs(Str text)
{
    JScan scan;
    JToken token = {.kind = JTOK_NULL};

    jscan_init(&scan, text, JSON_DEPTH_MAX);
    if (text.len > 0 && memchr(text.ptr, 0, text.len)) {
        return true;
    }
    while (token.kind != JTOK_END && jscan_next(&scan, &token) == 0) {
        int64_t v;
        bool number = token.kind == JTOK_INT || token.kind == JTOK_REAL;
        if ((token.kind == JTOK_INT && str_to_i64(token.text, &v) < 0) ||
            (number && token.text.len > 300) ||
            (token.kind == JTOK_KEY && memmem(token.text.ptr, token.text.len, "\\u0000", 6))) {
            return true;
        }
    }
    return false;
}

static void check_same_tree(JNode root, Str text)
{
    json_error_t error;
    json_t *want = json_loadb(text.ptr, text.len,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    if (!want) {
        CHECK(has_what_differs(text));
        return;
    }
    json_t *got = jnode_to_jansson(root);
    CHECK(json_equal(got, want));
    json_decref(got);
    json_decref(want);
}

static void check_round_trip(const JDoc *doc)
{
    AUTO(strbuf) StrBuf buf = STRBUF_INIT(OUT_MAX);
    AUTO(jdoc) JDoc *again = NULL;
    JWriter w;

    jw_init(&w, &buf);
    jw_node(&w, jdoc_root(doc));
    CHECK(!buf.error);
    CHECK(jdoc_parse(strbuf_str(&buf), NULL, OUT_MAX, &again, NULL) == 0);
    CHECK(jnode_equal(jdoc_root(doc), jdoc_root(again)));
}

static void check_refused(Str text, int code)
{
    json_error_t error;
    json_t *value = json_loadb(text.ptr, text.len,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);

    CHECK(code == -EINVAL || code == -E2BIG);
    CHECK(!value || code == -E2BIG || has_what_differs(text));
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = fuzz_str(data, size);
    AUTO(jdoc) JDoc *doc = NULL;
    AUTO(jdoc) JDoc *all = NULL;
    AUTO(jdoc) JDoc *some = NULL;

    int r = jdoc_parse(text, NULL, TEXT_MAX, &doc, NULL);
    int r_all = jdoc_parse(text, ALL, TEXT_MAX, &all, NULL);
    int r_some = jdoc_parse(text, SOME, TEXT_MAX, &some, NULL);
    CHECK(r == r_all);
    CHECK(r != 0 || r_some == 0);
    if (r == 0) {
        CHECK(jnode_equal(jdoc_root(doc), jdoc_root(all)));
        CHECK(jdoc_size(some) <= jdoc_size(doc) + 64);
        check_same_tree(jdoc_root(doc), text);
        check_round_trip(doc);
    } else {
        check_refused(text, r);
    }
    return 0;
}
