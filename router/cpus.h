/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* How many CPUs this process may really use: its affinity, then its cgroup's quota. */

#define CPUS_MAX 256

int cpus_available(void); /* at least 1 */
/* Text of cpu.max ("max 100000", "150000 100000") as CPUs, rounded up; 0 = no limit, -1 =
 * unreadable. */
int cpus_from_quota(const char *text);
