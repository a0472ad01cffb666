/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of one libcurl handle. Certificates are always verified, redirects never followed,
 * proxies of the environment never used; what is traced has no credentials in it.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/check.h"
#include "kube/curl_impl.h"

#define CONNECT_TIMEOUT_MS 10000
#define DEAD_PEER_MS 30000 /* TCP_USER_TIMEOUT */
#define KEEPALIVE_IDLE_S 30
#define KEEPALIVE_STEP_S 10
#define CONNECTION_AGE_S 3600
#define H2_BODY_MAX (64u << 10) /* larger ones go by HTTP/1.1 */

static int on_sockopt(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
    unsigned ms = DEAD_PEER_MS;

    UNUSED(ctx);
    UNUSED(purpose);
    /* Not for resolver sockets and the like: failing is fine. */
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
    return CURL_SOCKOPT_OK;
}

static bool line_is_secret(Str line)
{
    for (size_t i = 0; i + 13 <= line.len; i++) {
        if (str_eq_nocase((Str){line.ptr + i, 13}, STR("authorization"))) {
            return true;
        }
    }
    return false;
}

static int on_debug(CURL *easy, curl_infotype type, char *data, size_t size, void *ctx)
{
    KubeCurl *curl = ctx;
    Str rest = {data, size};

    UNUSED(easy);
    if (type != CURLINFO_TEXT && type != CURLINFO_HEADER_IN && type != CURLINFO_HEADER_OUT) {
        return 0;
    }
    while (rest.ptr && rest.len > 0) {
        Str line = str_trim(str_cut(rest, '\n', &rest));

        if (line.len > 0) {
            LOG_DEBUG(curl->options.log, "curl",
                      F_STR("line", line_is_secret(line) ? STR("authorization: [removed]") : line));
        }
    }
    return 0;
}

static void header_add(Flight *flight, const char *name, const char *value)
{
    AUTO(mem) char *line = xasprintf("%s%s", name, value);
    struct curl_slist *list = curl_slist_append(flight->headers, line);

    CHECK(list);
    flight->headers = list;
    explicit_bzero(line, strlen(line));
}

static void flight_headers(Flight *flight)
{
    const KubeRequest *req = flight->req;
    const KubeCred *cred = &flight->curl->cred;

    header_add(flight, "Accept: ", req->accept ? req->accept : "application/json");
    if (req->body.ptr) {
        header_add(flight,
                   "Content-Type: ", req->content_type ? req->content_type : "application/json");
        header_add(flight, "Expect:", "");
    }
    if (cred->token.text) {
        header_add(flight, "Authorization: Bearer ", cred->token.text);
    }
    curl_easy_setopt(flight->easy, CURLOPT_HTTPHEADER, flight->headers);
}

static void easy_set_blob(CURL *easy, CURLoption option, const char *text)
{
    struct curl_blob blob = {(void *)text, strlen(text), CURL_BLOB_COPY};

    curl_easy_setopt(easy, option, &blob);
}

static void flight_tls(Flight *flight)
{
    const KubeCred *cred = &flight->curl->cred;
    CURL *easy = flight->easy;

    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (cred->ca.text) {
        easy_set_blob(easy, CURLOPT_CAINFO_BLOB, cred->ca.text);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (cred->cert.text && cred->key.text) {
        easy_set_blob(easy, CURLOPT_SSLCERT_BLOB, cred->cert.text);
        easy_set_blob(easy, CURLOPT_SSLKEY_BLOB, cred->key.text);
    }
    if (flight->curl->connect_to) {
        curl_easy_setopt(easy, CURLOPT_CONNECT_TO, flight->curl->connect_to);
    }
}

static void flight_connection(Flight *flight)
{
    CURL *easy = flight->easy;

    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
                     str_starts(str_from(flight->curl->base), STR("http://")) ? "http" : "https");
    /* This libcurl spins while a large upload waits for the peer's window (curl issue 10449). */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                     flight->req->body.len > H2_BODY_MAX ? (long)CURL_HTTP_VERSION_1_1
                                                         : (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* never what the environment says */
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_STEP_S);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_sockopt);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, kube_curl_shard_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, flight->shard);
    curl_easy_setopt(easy, CURLOPT_MAXLIFETIME_CONN, (long)CONNECTION_AGE_S);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, flight->curl->agent);
    if (logger_enabled(flight->curl->options.log, LOG_LEVEL_DEBUG)) {
        curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
        curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, on_debug);
        curl_easy_setopt(easy, CURLOPT_DEBUGDATA, flight->curl);
    }
}

void kube_curl_easy_setup(Flight *flight)
{
    const KubeRequest *req = flight->req;
    CURL *easy = flight->easy;
    AUTO(mem) char *url = xasprintf("%s%s", flight->curl->base, req->path);

    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, flight);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, flight->text);
    flight_connection(flight);
    flight_tls(flight);
    flight_headers(flight);
    if (req->body.ptr) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body.len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, req->body.ptr);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, kube_method_name(req->method));
}
