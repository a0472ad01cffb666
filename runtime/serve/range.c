/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/serve/range.h"

#include <errno.h>

/* A number too large to hold is as good as the end of the file. */
static bool parse_offset(Str s, uint64_t *ret)
{
    uint64_t value = UINT64_MAX;
    int r = str_to_u64(s, &value);

    if (r < 0 && r != -ERANGE) {
        return false;
    }
    *ret = r == -ERANGE ? UINT64_MAX : value;
    return true;
}

RangeResult range_parse(Str range, uint64_t size, uint64_t *ret_first, uint64_t *ret_length)
{
    uint64_t first, last = UINT64_MAX;
    Str spec, to;
    Str unit = str_cut(range, '=', &spec);
    Str from = str_trim(str_cut(spec, '-', &to));

    to = str_trim(to);
    if (!str_eq_nocase(str_trim(unit), STR("bytes")) || str_find(spec, ',') >= 0 ||
        str_find(spec, '-') < 0) {
        return RANGE_WHOLE;
    }
    if (from.len == 0) { /* the last N bytes */
        if (!parse_offset(to, &last)) {
            return RANGE_WHOLE;
        }
        if (last == 0 || size == 0) {
            return RANGE_UNSATISFIABLE;
        }
        *ret_first = last < size ? size - last : 0;
        *ret_length = size - *ret_first;
        return RANGE_PART;
    }
    if (!parse_offset(from, &first) || (to.len > 0 && (!parse_offset(to, &last) || last < first))) {
        return RANGE_WHOLE;
    }
    if (first >= size) {
        return RANGE_UNSATISFIABLE;
    }
    *ret_first = first;
    *ret_length = (last < size ? last + 1 : size) - first;
    return RANGE_PART;
}
