/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What all verbs of sandboxctl share. A verb gets its own argv, its name first. */
enum {
    VERB_OK = 0,
    VERB_FAILED = 1, /* the answer is no, or it could not be done */
    VERB_USAGE = 2,  /* wrong arguments */
};
