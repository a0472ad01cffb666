/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The rules among the flags of the two listeners and of TLS. */
#include "router/options.h"

extern const char *const options_mtls_modes[]; /* in the order of HttpTlsClientAuth */

/* -EINVAL with a sentence that names the flag. */
int options_tls_check(const RouterOptions *options, Err *reterr);
