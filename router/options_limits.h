/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Flags of limits, activity and waking: part of the table in options.c, checked here. */
#include "router/options.h"

/* Each is FLAG() or a literal of options.c's table; environment names are the Python router's. */
#define OPTIONS_LIMIT_SPECS                                                                        \
    FLAG("max-connections-per-client", OPT_INT, limits.client_connections, "0",                    \
         "open connections of one client address; 0 = any number, as below"),                      \
        FLAG("max-requests-per-client", OPT_INT, limits.client_requests, "0",                      \
             "requests of one client address at once, upgrades not counted"),                      \
        FLAG("max-upgrades-per-client", OPT_INT, limits.client_upgrades, "0",                      \
             "WebSockets and other upgrades of one client address "                                \
             "(WEBSOCKET_MAX_CONNECTIONS_PER_CLIENT)"),                                            \
        FLAG("request-rate-per-client", OPT_DOUBLE, limits.client_rate, "0",                       \
             "requests a second of one client address"),                                           \
        FLAG("request-burst-per-client", OPT_INT, limits.client_burst, "0",                        \
             "how many of them may come together; 0 = one second's worth"),                        \
        FLAG("max-connections-per-sandbox", OPT_INT, limits.sandbox_connections, "0",              \
             "requests and upgrades of one sandbox at once"),                                      \
        FLAG("max-requests-per-sandbox", OPT_INT, limits.sandbox_requests, "0",                    \
             "requests of one sandbox at once, upgrades not counted"),                             \
        FLAG("max-upgrades-per-sandbox", OPT_INT, limits.sandbox_upgrades, "0",                    \
             "upgrades of one sandbox at once"),                                                   \
        FLAG("request-rate-per-sandbox", OPT_DOUBLE, limits.sandbox_rate, "0",                     \
             "requests a second to one sandbox"),                                                  \
        FLAG("request-burst-per-sandbox", OPT_INT, limits.sandbox_burst, "0",                      \
             "how many of them may come together; 0 = one second's worth"),                        \
        FLAG("limit-table-size", OPT_INT, limits.table_size, "65536",                              \
             "clients and sandboxes counted one by one"),                                          \
        FLAG("metrics-per-sandbox", OPT_INT, limits.sandbox_metrics, "0",                          \
             "sandboxes with metrics of their own, those used last; 0 = none"),                    \
        FLAG("trusted-proxy-cidrs", OPT_STRING, limits.trusted_proxies, "",                        \
             "peers whose X-Forwarded-For says who the client is, for limits "                     \
             "(TRUSTED_PROXY_CIDRS)"),                                                             \
        FLAG("max-request-header-bytes", OPT_INT, limits.head_max, "65536",                        \
             "larger heads get 431; at most 65536"),                                               \
        FLAG("client-header-timeout", OPT_DURATION, limits.head_ns, "10s",                         \
             "a request's head must arrive within"),                                               \
        FLAG("client-idle-timeout", OPT_DURATION, limits.idle_ns, "120s",                          \
             "an idle client connection is closed after"),                                         \
        FLAG("client-max-lifetime", OPT_DURATION, limits.lifetime_ns, "0s",                        \
             "a client connection takes no new request after; 0 = no limit"),                      \
        FLAG("upgrade-idle-timeout", OPT_DURATION, limits.upgrade_idle_ns, "0s",                   \
             "an upgrade without a byte is closed after; 0 = no limit "                            \
             "(WEBSOCKET_IDLE_TIMEOUT_SECONDS)"),                                                  \
        FLAG("upgrade-max-lifetime", OPT_DURATION, limits.upgrade_lifetime_ns, "0s",               \
             "an upgrade is closed after; 0 = no limit (WEBSOCKET_MAX_LIFETIME_SECONDS)"),         \
        FLAG("upstream-max-idle", OPT_INT, limits.idle_max, "512",                                 \
             "idle connections to sandboxes that a worker keeps (MAX_KEEPALIVE_CONNECTIONS)"),     \
        FLAG("dial-timeout", OPT_DURATION, limits.dial_ns, "5s", "one attempt to connect"),        \
        FLAG("dead-host-backoff", OPT_DURATION, limits.dead_host_ns, "2s",                         \
             "how long a host that did not answer is left alone; 0 = not at all"),                 \
        FLAG("activity-annotation", OPT_STRING, activity_annotation, "",                           \
             "write the time of last use into this annotation of the Sandbox, as "                 \
             "cofferdam.dev/last-activity: needs patch of sandboxes"),                             \
        FLAG("activity-interval", OPT_DURATION, activity_interval_ns, "1m", "how often, at most"), \
        FLAG("sandbox-lookup", OPT_BOOL, sandbox_lookup, "false",                                  \
             "ask the API server why a sandbox has no pod: needs get of sandboxes"),               \
        FLAG("wake-suspended", OPT_BOOL, wake_suspended, "false",                                  \
             "a request resumes a suspended sandbox: needs get and patch of sandboxes"),           \
        FLAG("wake-timeout", OPT_DURATION, limits.wake_ns, "60s",                                  \
             "how long a request waits for a sandbox that was resumed")

typedef const char *(*OptionsEnv)(const char *name);
typedef bool (*OptionsWasSet)(const OptsResult *given, const char *flag);

/* Environment of the Python router, for flags that the command line does not give. What cannot be
 * read is ignored, as there. */
void options_limits_env(LimitOptions *limits, const OptsResult *given, OptionsWasSet was_set,
                        OptionsEnv env);
/* Nothing but that environment is given: what it leaves out is as in the Python router. */
void options_limits_profile(LimitOptions *limits, OptionsEnv env);
/* Flags for which Sandboxes are read or written. -EINVAL. */
int options_sandboxes_check(const RouterOptions *options, Err *reterr);
int options_limits_check(const LimitOptions *limits, Err *reterr); /* -EINVAL names the flag */
