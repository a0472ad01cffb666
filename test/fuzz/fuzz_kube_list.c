/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a List: cutting changes nothing; and the splitter with the decoders of its pieces
 * accepts exactly what the decoder of the whole accepts, when it is an object whose items are
 * objects.
 */
#include <errno.h>

#include "base/rng.h"
#include "kube/listread.h"
#include "test/fuzz/fuzz.h"
#include "json/doc.h"

typedef struct Run {
    KubeListRead reader;
    StrBuf log;
    bool items_ok;
    int result;
} Run;

static int on_item(KubeListRead *reader, Str item, Err *reterr)
{
    Run *run = container_of(reader, Run, reader);
    AUTO(jdoc) JDoc *doc = NULL;

    CHECK(item.len >= 2 && item.ptr[0] == '{');
    if (jdoc_parse(item, NULL, JDOC_TEXT_MAX, &doc, reterr) < 0) {
        run->items_ok = false;
    }
    strbuf_append(&run->log, item);
    strbuf_append_char(&run->log, '\n');
    return 0;
}

static void run_init(Run *run)
{
    *run = (Run){.items_ok = true};
    kube_listread_init(&run->reader, on_item);
    strbuf_init(&run->log, 16u << 20);
}

static void run_deinit(Run *run)
{
    kube_listread_deinit(&run->reader);
    strbuf_deinit(&run->log);
}

static void run_feed(Run *run, Str chunk)
{
    if (run->result == 0) {
        run->result = kube_listread_feed(&run->reader, chunk, NULL);
    }
}

/* Whether splitter and piecewise decoders accept the document. */
static bool run_end(Run *run)
{
    AUTO(jdoc) JDoc *doc = NULL;
    Str shell;

    if (run->result == 0) {
        run->result = kube_listread_end(&run->reader, &shell, NULL);
    }
    return run->result == 0 && run->items_ok &&
           jdoc_parse(shell, NULL, JDOC_TEXT_MAX, &doc, NULL) == 0 &&
           jnode_type(jdoc_root(doc)) == JTYPE_OBJECT;
}

static bool is_list(JNode root)
{
    JNode items = jnode_at(root, "items");
    JIter it = jnode_iter(items);
    JNode item;

    if (jnode_type(root) != JTYPE_OBJECT || jnode_type(items) != JTYPE_ARRAY) {
        return false;
    }
    while (jiter_next(&it, NULL, &item)) {
        if (jnode_type(item) != JTYPE_OBJECT) {
            return false;
        }
    }
    return true;
}

static void compare(Str text, bool accepted, const Run *run)
{
    AUTO(jdoc) JDoc *doc = NULL;
    int r = jdoc_parse(text, NULL, JDOC_TEXT_MAX, &doc, NULL);

    if (accepted) {
        CHECK(r == 0 || r == -E2BIG); /* the whole is two levels deeper than its items */
    } else if (r == 0 && is_list(jdoc_root(doc)) && run->result != -E2BIG) {
        /* An escaped spelling of "items" is not recognised: its items count as part of the shell.
         */
        CHECK(memmem(text.ptr, text.len, "\\u", 2));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Run whole;
    Run cut;
    Rng rng;
    Str text = size > 0 ? fuzz_str(data + 1, size - 1) : STR("");
    Str rest = text;
    bool accepted;

    rng_init(&rng, size > 0 ? data[0] : 0);
    run_init(&whole);
    run_init(&cut);
    run_feed(&whole, text);
    while (rest.len > 0) {
        size_t n = 1 + rng_below(&rng, 12);

        run_feed(&cut, str_take(rest, n));
        rest = str_drop(rest, n < rest.len ? n : rest.len);
    }
    accepted = run_end(&whole);
    CHECK(run_end(&cut) == accepted && cut.result == whole.result);
    CHECK(str_eq(strbuf_str(&whole.log), strbuf_str(&cut.log)));
    compare(text, accepted, &whole);
    run_deinit(&whole);
    run_deinit(&cut);
    return 0;
}
