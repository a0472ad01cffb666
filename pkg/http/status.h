/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Reason phrases of the registered status codes. */

const char *http_status_reason(int status); /* "Unknown" for a code that is not registered */
