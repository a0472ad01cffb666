/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kube/config.h"
#include "kube/cred.h"
#include "kube/kubeconfig.h"
#include "test/harness/t.h"

#define PEM64 "LS0tLS1CRUdJTiBYLS0tLS0KYQotLS0tLUVORCBYLS0tLS0K" /* -----BEGIN X----- a ... */

#define CONFIG(cluster, user)                                                                      \
    "apiVersion: v1\nkind: Config\ncurrent-context: c\n"                                           \
    "contexts: [{name: c, context: {cluster: k, user: u, namespace: team}}]\n"                     \
    "clusters: [{name: k, cluster: {" cluster "}}]\n"                                              \
    "users: [{name: u, user: {" user "}}]\n"

static KubeConfig *parse(const char *text)
{
    KubeConfig *config = NULL;
    Err err = ERR_INIT;

    if (kube_config_parse(str_from(text), "/etc/k", NULL, &config, &err) < 0) {
        T_FAIL("%s", err.msg);
    }
    return config;
}

T_TEST(config_inline_data_and_files)
{
    AUTO(kube_config)
    KubeConfig *config =
        parse(CONFIG("server: 'https://10.0.0.1:6443/', certificate-authority-data: " PEM64
                     ", tls-server-name: kubernetes",
                     "client-certificate-data: " PEM64 ", client-key: key.pem"));

    T_EQ_STR(config->server, "https://10.0.0.1:6443");
    T_EQ_STR(config->ns, "team");
    T_EQ_STR(config->context, "c");
    T_EQ_STR(config->tls_server_name, "kubernetes");
    T_EQ_STR(config->ca_pem, "-----BEGIN X-----\na\n-----END X-----\n");
    T_EQ_STR(config->cert_pem, "-----BEGIN X-----\na\n-----END X-----\n");
    T_EQ_STR(config->key_file, "/etc/k/key.pem");
    T_CHECK(!config->token && !config->token_file);
}

T_TEST(config_tokens_and_defaults)
{
    AUTO(kube_config)
    KubeConfig *config =
        parse("current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
              "clusters: [{name: k, cluster: {server: 'https://h', certificate-authority: /ca}}]\n"
              "users: [{name: u, user: {token: abc, tokenFile: t}}]\n");
    AUTO(kube_config)
    KubeConfig *nobody =
        parse("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
              "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:8001'}}]\n");

    T_EQ_STR(config->ns, "default");
    T_EQ_STR(config->ca_file, "/ca");
    T_EQ_STR(config->token, "abc");
    T_EQ_STR(config->token_file, "/etc/k/t");
    T_EQ_STR(nobody->server, "http://127.0.0.1:8001");
}

T_TEST(config_that_lies_is_refused_by_name)
{
    static const struct {
        const char *text;
        int code;
        const char *says;
    } ROWS[] = {
        {CONFIG("server: 'https://h'", "exec: {command: aws}"), -EOPNOTSUPP,
         "user \"u\" uses exec"},
        {CONFIG("server: 'https://h'", "auth-provider: {name: gcp}"), -EOPNOTSUPP, "auth-provider"},
        {CONFIG("server: 'https://h'", "username: a, password: b"), -EOPNOTSUPP, "username"},
        {CONFIG("server: 'https://h'", "as: root"), -EOPNOTSUPP, "impersonation"},
        {CONFIG("server: 'https://h', insecure-skip-tls-verify: true", ""), -EOPNOTSUPP,
         "cluster \"k\" uses insecure-skip-tls-verify"},
        {CONFIG("server: 'https://h', insecure-skip-tls-verify: 'yes'", ""), -EOPNOTSUPP,
         "insecure-skip-tls-verify"},
        {CONFIG("server: 'https://h', proxy-url: 'http://p'", ""), -EOPNOTSUPP, "proxy-url"},
        {CONFIG("server: 'http://10.0.0.1'", ""), -EINVAL, "only for loopback"},
        {CONFIG("server: 'http://127.0.0.1.example.com'", ""), -EINVAL, "only for loopback"},
        {CONFIG("server: 'http://localhost.example'", ""), -EINVAL, "only for loopback"},
        {CONFIG("server: 'ftp://h'", ""), -EINVAL, "not an https:// URL"},
        {CONFIG("server: 'https://user@h'", ""), -EINVAL, "not a usable URL"},
        {CONFIG("server: 'https://h:99999'", ""), -EINVAL, "not a usable URL"},
        {CONFIG("server: 'https://'", ""), -EINVAL, "not an https:// URL"},
        {CONFIG("server: 'https://:6443'", ""), -EINVAL, "not a usable URL"},
        {CONFIG("server: 'https://h/a?b'", ""), -EINVAL, "not a usable URL"},
        {CONFIG("server: \"https://h\\nX: y\"", ""), -EINVAL, "not a usable URL"},
        {CONFIG("server: 5", ""), -EINVAL, "has no server"},
        {CONFIG("", ""), -EINVAL, "has no server"},
        {CONFIG("server: 'https://h', certificate-authority-data: '!!'", ""), -EINVAL,
         "certificate-authority-data of \"k\""},
        {CONFIG("server: 'https://h', certificate-authority-data: YWJj", ""), -EINVAL, "PEM"},
        {CONFIG("server: 'https://h'", "client-key: k"), -EINVAL, "both a client certificate"},
        {"current-context: x\n", -EINVAL, "no context \"x\""},
        {"contexts: []\n", -EINVAL, "current-context is not set"},
        {"current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
         "clusters: [{name: k, cluster: {server: 'https://h'}}]\n",
         -EINVAL, "no user \"u\""},
        {"current-context: c\ncontexts: {name: c}\n", -EINVAL, "no context"},
        {"current-context: c\ncontexts: [1, [], {name: c}]\n", -EINVAL, "no context"},
        {"[]\n", -EINVAL, "not a kubeconfig"},
        {"", -EINVAL, "not a kubeconfig"},
        {"a: [\n", -EINVAL, "line"},
        {"a: &x [*x, *x]\n", -EINVAL, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        KubeConfig *config = NULL;
        Err err = ERR_INIT;

        t_row(ROWS[i].text);
        T_EQ_INT(kube_config_parse(str_from(ROWS[i].text), ".", NULL, &config, &err), ROWS[i].code);
        T_CONTAINS(err.msg, ROWS[i].says);
        T_CHECK(!config);
    }
}

T_TEST(config_context_can_be_chosen)
{
    KubeConfig *config = NULL;

    T_OK(kube_config_parse(STR("current-context: a\ncontexts:\n"
                               "- {name: a, context: {cluster: k}}\n"
                               "- {name: b, context: {cluster: l, namespace: z}}\n"
                               "clusters:\n- {name: k, cluster: {server: 'https://k'}}\n"
                               "- {name: l, cluster: {server: 'https://[::1]:6443'}}\n"),
                           ".", "b", &config, NULL));
    T_EQ_STR(config->server, "https://[::1]:6443");
    T_EQ_STR(config->ns, "z");
    kube_config_free(config);
}

T_TEST(config_base64)
{
    static const struct {
        const char *text;
        const char *want;
    } ROWS[] = {
        {"", ""},
        {"YQ==", "a"},
        {"YWI=", "ab"},
        {"YWJj", "abc"},
        {"YW\nJj\r\n ZA==", "abcd"},
        {"YQ", NULL},
        {"YQ=", NULL},
        {"YQ===", NULL},
        {"Y", NULL},
        {"YQ==YQ==", NULL},
        {"Y*Jj", NULL},
        {"=", NULL},
        {"YWJjZ", NULL},
    };

    for (size_t i = 0; i < ARRAY_LEN(ROWS); i++) {
        AUTO(mem) char *bytes = NULL;
        size_t len = 0;

        t_row(ROWS[i].text);
        T_EQ_INT(kubeconfig_base64(str_from(ROWS[i].text), 100, &bytes, &len),
                 ROWS[i].want ? 0 : -EINVAL);
        if (ROWS[i].want) {
            T_EQ_STR(bytes, ROWS[i].want);
            T_EQ_INT(len, strlen(ROWS[i].want));
        }
    }
    {
        AUTO(mem) char *bytes = NULL;
        size_t len = 0;

        T_EQ_INT(kubeconfig_base64(STR("YWJjZA=="), 3, &bytes, &len), -E2BIG);
    }
}

/* ---- loading ---- */

static void write_file(const char *dir, const char *name, const char *text)
{
    AUTO(mem) char *path = xasprintf("%s/%s", dir, name);
    FILE *f = fopen(path, "we");

    T_CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static struct {
    char kubeconfig[1024];
    char home[512];
    const char *host;
} env;

static const char *get_env(const char *name)
{
    if (strcmp(name, "KUBECONFIG") == 0) {
        return env.kubeconfig;
    }
    if (strcmp(name, "HOME") == 0) {
        return env.home;
    }
    if (strcmp(name, "KUBERNETES_SERVICE_HOST") == 0) {
        return env.host;
    }
    return strcmp(name, "KUBERNETES_SERVICE_PORT") == 0 ? "443" : NULL;
}

static KubeConfig *load(const char *path, const char *account_dir, Err *err)
{
    KubeConfig *config = NULL;

    kube_config_load(&(KubeConfigSource){.path = path, .env = get_env, .account_dir = account_dir},
                     &config, err);
    return config;
}

T_TEST(config_order_of_places)
{
    const char *dir = t_tmpdir();
    AUTO(mem) char *flag = xasprintf("%s/flag", dir);
    AUTO(mem) char *kube = xasprintf("%s/.kube", dir);
    AUTO(kube_config) KubeConfig *by_flag = NULL;
    AUTO(kube_config) KubeConfig *by_env = NULL;
    AUTO(kube_config) KubeConfig *in_pod = NULL;
    AUTO(kube_config) KubeConfig *by_home = NULL;
    Err err = ERR_INIT;

    env.host = NULL;
    env.kubeconfig[0] = '\0';
    snprintf(env.home, sizeof(env.home), "%s", dir);
    T_CHECK(!load(NULL, dir, &err));
    T_CONTAINS(err.msg, "--kubeconfig");
    T_CHECK(mkdir(kube, 0700) == 0);
    write_file(kube, "config", CONFIG("server: 'https://home'", "token: t"));
    by_home = load(NULL, dir, &err);
    T_EQ_STR(by_home->server, "https://home");
    write_file(dir, "token", "tok\n");
    write_file(dir, "namespace", "sys\n");
    env.host = "fd00::1";
    in_pod = load("", dir, &err);
    T_EQ_STR(in_pod->server, "https://[fd00::1]:443");
    T_EQ_STR(in_pod->ns, "sys");
    T_CONTAINS(in_pod->token_file, "/token");
    T_CONTAINS(in_pod->ca_file, "/ca.crt");
    /* A list: absent files are skipped, the first definition wins. */
    write_file(dir, "one",
               "current-context: c\n"
               "clusters: [{name: k, cluster: {server: 'https://one'}}]\n");
    write_file(dir, "two", CONFIG("server: 'https://two'", "tokenFile: tok"));
    snprintf(env.kubeconfig, sizeof(env.kubeconfig), "%s/none::%s/one:%s/two", dir, dir, dir);
    by_env = load(NULL, dir, &err);
    T_EQ_STR(by_env->server, "https://one");
    T_CONTAINS(by_env->token_file, dir);
    write_file(dir, "flag", CONFIG("server: 'https://flag'", "token: t"));
    by_flag = load(flag, dir, &err);
    T_EQ_STR(by_flag->server, "https://flag");
    snprintf(env.kubeconfig, sizeof(env.kubeconfig), "%s/none", dir);
    T_CHECK(!load(NULL, dir, &err));
    T_CONTAINS(err.msg, "no file of");
    T_CHECK(!load("/nonexistent", dir, &err));
    T_CHECK(!load(dir, dir, &err));
    T_CONTAINS(err.msg, "not a regular file");
}

/* ---- credentials ---- */

T_TEST(cred_files_are_read_again)
{
    const char *dir = t_tmpdir();
    AUTO(mem) char *token = xasprintf("%s/token", dir);
    AUTO(mem) char *ca = xasprintf("%s/ca", dir);
    KubeConfig config = {.token_file = token, .ca_file = ca};
    KubeCred cred;
    Err err = ERR_INIT;
    uint64_t now = 1000 * NS_PER_S;

    T_CHECK(kube_cred_init(&cred, &config, now, &err) < 0);
    T_CONTAINS(err.msg, "token");
    write_file(dir, "token", " first \n");
    write_file(dir, "ca", "pem");
    T_OK(kube_cred_init(&cred, &config, now, &err));
    T_EQ_STR(cred.token.text, "first");
    T_EQ_STR(cred.ca.text, "pem");
    write_file(dir, "token", "second and longer");
    T_CHECK(kube_cred_refresh(&cred, now + NS_PER_S, &err) == 0);
    T_EQ_STR(cred.token.text, "first"); /* not asked so often */
    T_CHECK(kube_cred_refresh(&cred, now + KUBE_CRED_CHECK_NS, &err) < 0);
    T_EQ_STR(cred.token.text, "first"); /* that is no token: the good one stays */
    write_file(dir, "token", "third");
    T_OK(kube_cred_refresh(&cred, now + 2 * KUBE_CRED_CHECK_NS, &err));
    T_EQ_STR(cred.token.text, "third");
    T_EQ_INT(cred.token_gen, 2);
    T_EQ_INT(cred.tls_gen, 1);
    write_file(dir, "ca", "mep"); /* same size */
    T_OK(kube_cred_refresh(&cred, now + 2 * KUBE_CRED_READ_NS, &err));
    T_EQ_INT(cred.tls_gen, 2);
    remove(token);
    T_CHECK(kube_cred_refresh_now(&cred, now + 3 * KUBE_CRED_READ_NS, &err) < 0);
    T_EQ_STR(cred.token.text, "third");
    kube_cred_deinit(&cred);
}

T_TEST(cred_inline_values)
{
    KubeConfig config = {
        .token = (char *)"tok", .ca_pem = (char *)"pem", .ca_file = (char *)"/none"};
    KubeConfig bad = {.token = (char *)"to\nken"};
    KubeCred cred;
    Err err;

    T_OK(kube_cred_init(&cred, &config, 0, &err));
    T_EQ_STR(cred.token.text, "tok");
    T_EQ_STR(cred.ca.text, "pem");
    T_OK(kube_cred_refresh(&cred, 100 * NS_PER_S, &err));
    kube_cred_deinit(&cred);
    T_EQ_INT(kube_cred_init(&cred, &bad, 0, &err), -EINVAL);
}
