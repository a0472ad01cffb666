/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * TLS of the proxy port, on the main thread: from the flags to an HttpTls that all workers share,
 * its reloads, what is logged and counted about it.
 */
#include "http/tls.h"
#include "router/observe.h"
#include "router/options.h"

typedef struct TlsPort {
    HttpTls *tls; /* NULL = no TLS */
    Observe *observe;
    Logger *log;
} TlsPort;

/* Loads the files and follows them from then on. Without --https-bind-address it does nothing.
 * -errno with a text that names the file. */
int tlsport_start(TlsPort *port, const RouterOptions *options, Loop *loop, Observe *observe,
                  Logger *log, Err *reterr);
void tlsport_stop(TlsPort *port); /* before the loop goes */
/* Families of TLS. The port outlives the registry. */
void tlsport_register(Metrics *metrics, TlsPort *port);
