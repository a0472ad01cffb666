/* SPDX-License-Identifier: Apache-2.0 */
#include "json/proj.h"

const JProj *jproj_find(const JProj *list, Str key)
{
    for (const JProj *p = list; p->mode != JPROJ_MODE_END; p++) {
        if (!p->key.ptr || (p->key.len == key.len && memcmp(p->key.ptr, key.ptr, key.len) == 0)) {
            return p;
        }
    }
    return NULL;
}
