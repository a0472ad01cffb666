/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a certificate names. A value counts only when it is plain text of a sane length: no control
 * bytes, no NUL that would cut it short for whoever compares it. A certificate with several SPIFFE
 * URIs is no SPIFFE identity (X.509-SVID section 2) and gets no other name either.
 */
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/tls_impl.h"

#define SPIFFE "spiffe://"

static bool is_plain(Str s)
{
    if (s.len == 0 || s.len > HTTP_TLS_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < 0x20 || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* Borrowed; empty when there is none of this type that begins so. */
static Str alt_name(const GENERAL_NAMES *names, int type, Str prefix, int *ret_count)
{
    Str found = STR("");

    *ret_count = 0;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);

        if (name->type != type) {
            continue;
        }
        /* dNSName and uniformResourceIdentifier are both IA5Strings */
        Str s = {(const char *)ASN1_STRING_get0_data(name->d.ia5),
                 (size_t)ASN1_STRING_length(name->d.ia5)};

        if (is_plain(s) && s.len >= prefix.len && str_eq_nocase(str_take(s, prefix.len), prefix)) {
            found = *ret_count == 0 ? s : found;
            (*ret_count)++;
        }
    }
    return found;
}

/* Of the subject, the next entry with this type after *at as UTF-8; malloc'ed, NULL at the end. */
static char *subject_next(const X509_NAME *subject, int nid, int *at)
{
    while ((*at = X509_NAME_get_index_by_NID(subject, nid, *at)) >= 0) {
        unsigned char *utf8 = NULL;
        int n =
            ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, *at)));
        Str s = {(const char *)utf8, n > 0 ? (size_t)n : 0};
        char *copy = is_plain(s) ? xstrndup(s.ptr, s.len) : NULL;

        OPENSSL_free(utf8);
        if (copy) {
            return copy;
        }
    }
    return NULL;
}

static void find_name(HttpTlsIdentity *identity, X509 *cert)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    int n_spiffe, n_dns, at = -1;
    Str spiffe = alt_name(names, GEN_URI, STR(SPIFFE), &n_spiffe);
    Str dns = alt_name(names, GEN_DNS, STR(""), &n_dns);

    if (n_spiffe > 0) {
        identity->source = "spiffe";
        identity->name = n_spiffe == 1 ? xstrndup(spiffe.ptr, spiffe.len) : NULL;
    } else if (n_dns > 0) {
        identity->source = "dns";
        identity->name = xstrndup(dns.ptr, dns.len);
    } else {
        identity->source = "cn";
        identity->name = subject_next(X509_get_subject_name(cert), NID_commonName, &at);
    }
    GENERAL_NAMES_free(names);
}

HttpTlsIdentity *tls_identity_new(X509 *cert)
{
    HttpTlsIdentity *identity = xcalloc(1, sizeof(*identity));
    char *group;
    int at = -1;

    find_name(identity, cert);
    if (!identity->name) {
        return tls_identity_free(identity);
    }
    while (identity->n_groups < HTTP_TLS_GROUPS_MAX &&
           (group = subject_next(X509_get_subject_name(cert), NID_organizationName, &at))) {
        identity->groups[identity->n_groups++] = group;
    }
    return identity;
}

HttpTlsIdentity *tls_identity_free(HttpTlsIdentity *identity)
{
    if (identity) {
        for (size_t i = 0; i < identity->n_groups; i++) {
            free(identity->groups[i]);
        }
        free(identity->name);
        free(identity);
    }
    return NULL;
}
