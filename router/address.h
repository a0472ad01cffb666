/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* IP addresses of sandboxes, and which of them a client may name itself. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/str.h"

/* One address of either family; IPv4-mapped IPv6 is stored as IPv4. */
typedef struct Address {
    uint8_t bytes[16];
    uint16_t port;
    bool v6;
    bool set;
} Address;

#define ADDRESS_TEXT_MAX 64 /* "[v6]:65535" and NUL */

/* An IP literal without zone or brackets. -EINVAL. The port is left 0. */
int address_parse(Str text, Address *ret);
bool address_equal(const Address *a, const Address *b); /* port included */
bool address_same_host(const Address *a, const Address *b);
uint64_t address_hash(uint64_t seed, const Address *a);
/* Unspecified, link-local, multicast, reserved, metadata services, also inside IPv6; loopback
 * unless allowed: no target for a client to name. */
bool address_is_forbidden(const Address *a, bool allow_loopback);
/* "1.2.3.4:80" or "[fd00::12]:80"; returns the length. */
size_t address_format(const Address *a, char ret[ADDRESS_TEXT_MAX]);
socklen_t address_to_sockaddr(const Address *a, struct sockaddr_storage *ret);
