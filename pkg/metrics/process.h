/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process_* families that Prometheus clients commonly expose on Linux:
 * process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes,
 * process_open_fds, process_max_fds, process_start_time_seconds. Read from /proc/self at scrape; a
 * value that cannot be read is left out.
 */
#include "metrics/metrics.h"

void metrics_process_register(Metrics *metrics);
