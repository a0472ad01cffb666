/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate for a port that nobody gave one: P-256, for "localhost" and 127.0.0.1, made at
 * start and gone with the process. It hides the bytes from a listener on the wire and proves
 * nothing.
 */
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "http/tls_impl.h"

#define SELFSIGNED_DAYS 3650

static bool add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509_EXTENSION *extension;
    bool ok;

    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    ok = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return ok;
}

static bool set_serial(X509 *cert)
{
    unsigned char bytes[16];
    BIGNUM *number = NULL;
    bool ok = RAND_bytes(bytes, sizeof(bytes)) == 1;

    bytes[0] &= 0x7f;
    number = ok ? BN_bin2bn(bytes, sizeof(bytes), NULL) : NULL;
    ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return ok;
}

static bool fill(X509 *cert, EVP_PKEY *key, time_t now)
{
    X509_NAME *name = X509_get_subject_name(cert);

    return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
           X509_time_adj_ex(X509_getm_notBefore(cert), -1, 0, &now) &&
           X509_time_adj_ex(X509_getm_notAfter(cert), SELFSIGNED_DAYS, 0, &now) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost",
                                      -1, -1, 0) == 1 &&
           X509_set_issuer_name(cert, name) == 1 && X509_set_pubkey(cert, key) == 1 &&
           add_extension(cert, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(cert, NID_key_usage, "critical,digitalSignature") &&
           add_extension(cert, NID_ext_key_usage, "serverAuth") &&
           add_extension(cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1") &&
           X509_sign(cert, key, EVP_sha256()) > 0;
}

int tls_selfsigned_new(const Clock *clock, X509 **ret_cert, EVP_PKEY **ret_key, Err *reterr)
{
    time_t now = (time_t)(clock_wall_ns(clock) / (int64_t)NS_PER_S);
    AUTO(pkey) EVP_PKEY *key = EVP_EC_gen("P-256");
    AUTO(x509) X509 *cert = X509_new();

    if (!key || !cert || !fill(cert, key, now)) {
        return tls_openssl_error(reterr, "make a self-signed certificate");
    }
    *ret_cert = TAKE(cert);
    *ret_key = TAKE(key);
    return 0;
}
