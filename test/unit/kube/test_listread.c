/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "kube/listread.h"
#include "kube/object.h"
#include "test/harness/t.h"

typedef struct Rig {
    KubeListRead reader;
    StrBuf items;
} Rig;

static int on_item(KubeListRead *reader, Str item, Err *reterr)
{
    Rig *rig = container_of(reader, Rig, reader);

    if (str_eq(item, STR("{\"stop\":1}"))) {
        return err_set(reterr, ECANCELED, "stop");
    }
    strbuf_append(&rig->items, item);
    strbuf_append_char(&rig->items, '|');
    return 0;
}

static void rig_init(Rig *rig)
{
    kube_listread_init(&rig->reader, on_item);
    strbuf_init(&rig->items, 1u << 20);
}

static void rig_deinit(Rig *rig)
{
    kube_listread_deinit(&rig->reader);
    strbuf_deinit(&rig->items);
}

DEFINE_AUTO(rig, Rig, rig_deinit)

#define LIST                                                                                       \
    "{\"kind\":\"PodList\",\"metadata\":{\"items\":[1,2]},\"x\":\"items\", \"items\" : [ "         \
    "{\"a\":[{}]} ,{\"b\":\"}]\\\"{\"},{}\n] ,\"tail\":{\"t\":[]}}\n"
#define ITEMS "{\"a\":[{}]}|{\"b\":\"}]\\\"{\"}|{}|"
#define SHELL                                                                                      \
    "{\"kind\":\"PodList\",\"metadata\":{\"items\":[1,2]},\"x\":\"items\", \"items\" :[] ,"        \
    "\"tail\":{\"t\":[]}}\n"

T_TEST(listread_splits_at_every_place)
{
    Str text = STR(LIST);

    for (size_t i = 0; i <= text.len; i++) {
        AUTO(rig) Rig rig;
        Str shell;

        rig_init(&rig);
        T_OK(kube_listread_feed(&rig.reader, str_take(text, i), NULL));
        T_OK(kube_listread_feed(&rig.reader, str_drop(text, i), NULL));
        T_OK(kube_listread_end(&rig.reader, &shell, NULL));
        T_EQ_STR(strbuf_str(&rig.items), ITEMS);
        T_EQ_STR(shell, SHELL);
        T_EQ_INT(rig.reader.n_items, 3);
    }
}

T_TEST(listread_byte_by_byte)
{
    AUTO(rig) Rig rig;
    Str shell;

    rig_init(&rig);
    for (const char *p = LIST; *p; p++) {
        T_OK(kube_listread_feed(&rig.reader, (Str){p, 1}, NULL));
    }
    T_OK(kube_listread_end(&rig.reader, &shell, NULL));
    T_EQ_STR(strbuf_str(&rig.items), ITEMS);
}

T_TEST(listread_every_truncation_is_noticed)
{
    Str text = STR(LIST);

    for (size_t i = 0; i + 1 < text.len; i++) { /* the last byte is a newline */
        AUTO(rig) Rig rig;
        Str shell;
        Err err;

        rig_init(&rig);
        T_OK(kube_listread_feed(&rig.reader, str_take(text, i), NULL));
        T_EQ_INT(kube_listread_end(&rig.reader, &shell, &err), -EBADMSG);
    }
}

T_TEST(listread_nonsense_is_refused)
{
    static const char *const ROWS[] = {
        "{\"items\":[1]}",     "{\"items\":[{} {}]}", "{\"items\":[,{}]}",
        "{\"items\":[{},]}",   "{\"items\":[[]]}",    "{\"items\":[{}],\"items\":[{}]}",
        "{\"items\":[]}{",     "{\"items\":[]}}",     "]",
        "{\"items\":[\"a\"]}",
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(rig) Rig rig;

        t_row(ROWS[i]);
        rig_init(&rig);
        T_EQ_INT(kube_listread_feed(&rig.reader, str_from(ROWS[i]), NULL), -EBADMSG);
    }
}

T_TEST(listread_null_items_are_an_empty_list)
{
    AUTO(rig) Rig rig;
    Str shell;

    rig_init(&rig);
    T_OK(kube_listread_feed(&rig.reader, STR("{\"items\":null}"), NULL));
    T_OK(kube_listread_end(&rig.reader, &shell, NULL));
    T_EQ_STR(shell, "{\"items\":null}");
}

T_TEST(listread_an_item_can_stop_it)
{
    AUTO(rig) Rig rig;
    Err err;

    rig_init(&rig);
    T_EQ_INT(kube_listread_feed(&rig.reader, STR("{\"items\":[{},{\"stop\":1},{}]}"), &err),
             -ECANCELED);
    T_EQ_STR(strbuf_str(&rig.items), "{}|");
}

T_TEST(listread_limits)
{
    AUTO(rig) Rig rig;
    AUTO(rig) Rig shell;
    AUTO(rig) Rig many;
    Err err;
    int r = 0;

    rig_init(&rig);
    T_OK(kube_listread_feed(&rig.reader, STR("{\"items\":[{\"a\":\""), NULL));
    for (size_t i = 0; r == 0 && i <= KUBE_OBJ_TEXT_MAX; i += 8) {
        r = kube_listread_feed(&rig.reader, STR("aaaaaaaa"), &err);
    }
    T_EQ_INT(r, -E2BIG);
    rig_init(&shell);
    T_OK(kube_listread_feed(&shell.reader, STR("{\"a\":\""), NULL));
    for (size_t i = 0, done = 0; !done && i <= KUBE_LIST_SHELL_MAX; i += 8) {
        r = kube_listread_feed(&shell.reader, STR("aaaaaaaa"), &err);
        done = r < 0;
    }
    T_EQ_INT(r, -E2BIG);
    rig_init(&many);
    r = kube_listread_feed(&many.reader, STR("{\"items\":[{}"), &err);
    for (size_t i = 0; r == 0 && i <= KUBE_LIST_ITEMS_MAX; i++) {
        r = kube_listread_feed(&many.reader, STR(",{}"), &err);
    }
    T_EQ_INT(r, -E2BIG);
}
