/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Word splitting: words that were found, quoted again in the plainest way, are found again; the
 * words of a text are never longer together than the text.
 */
#include "runtime/exec/shlex.h"
#include "test/fuzz/fuzz.h"

/* 'a'"'"'b': everything but a single quote stands for itself inside of single quotes. */
static void quote(StrBuf *out, Str word)
{
    strbuf_append_char(out, '\'');
    for (size_t i = 0; i < word.len; i++) {
        if (word.ptr[i] == '\'') {
            strbuf_append_cstr(out, "'\"'\"'");
        } else {
            strbuf_append_char(out, word.ptr[i]);
        }
    }
    strbuf_append_cstr(out, "' ");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Str text = fuzz_str(data, size);
    AUTO(argv) Argv words = {0};
    AUTO(argv) Argv again = {0};
    AUTO(strbuf) StrBuf quoted = STRBUF_INIT(16 * FUZZ_INPUT_MAX);
    size_t total = 0;

    if (str_find(text, '\0') >= 0) {
        return 0; /* refused before it comes here: words are C strings */
    }
    ShlexResult result = shlex_split(text, &words);

    for (size_t i = 0; i < words.v.len; i++) {
        quote(&quoted, str_from(words.v.ptr[i]));
        total += strlen(words.v.ptr[i]);
    }
    CHECK(total <= text.len);
    CHECK(result != SHLEX_NO_ESCAPED || text.ptr[text.len - 1] == '\\');
    CHECK(quoted.error == 0);
    CHECK(shlex_split(strbuf_str(&quoted), &again) == SHLEX_OK);
    CHECK(again.v.len == words.v.len);
    for (size_t i = 0; i < words.v.len; i++) {
        CHECK(strcmp(words.v.ptr[i], again.v.ptr[i]) == 0);
    }
    return 0;
}
