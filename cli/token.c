/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See token.h. A token goes to stdout and nowhere else; secrets come from files that only their
 * owner may read.
 */
#include "cli/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/opts.h"
#include "cli/verb.h"
#include "token/token.h"

typedef struct TokenOptions {
    const char *ns;
    const char *name;
    const char *uid;
    int64_t port;
    const char *method;
    const char *path;
    int64_t ttl_ns;
    const char *kid;
    const char *secret_file;
    const char *key_file;
    const char *set_file;
    const char *token_file;
} TokenOptions;

#define FLAG(n, k, member, d, text)                                                                \
    {                                                                                              \
        .name = (n), .kind = (k), .offset = offsetof(TokenOptions, member), .def = (d),            \
        .help = (text)                                                                             \
    }

/* One table for all three, so that a flag means the same everywhere. */
static const OptSpec specs[] = {
    FLAG("namespace", OPT_STRING, ns, "default", "mint: namespace of the sandbox"),
    FLAG("name", OPT_STRING, name, "", "mint: name of the sandbox"),
    FLAG("ttl", OPT_DURATION, ttl_ns, "10m", "mint: how long the token is good"),
    FLAG("secret-file", OPT_STRING, secret_file, "",
         "mint and inspect v1: secrets, one a line; the first one signs"),
    FLAG(
        "private-key-file", OPT_STRING, key_file, "",
        "mint v2: Ed25519 private key in PEM; keygen: where it goes, a file that is not there yet"),
    FLAG("kid", OPT_STRING, kid, "", "mint v2 and keygen: name of the key in the key set"),
    FLAG("uid", OPT_STRING, uid, "", "mint v2: UID of the Sandbox"),
    FLAG("port", OPT_INT, port, "8888", "mint v2: port"),
    FLAG("method", OPT_STRING, method, "POST", "mint v2: method"),
    FLAG("path", OPT_STRING, path, "/execute", "mint v2: path, escaped as it will be sent"),
    FLAG("verification-keys-file", OPT_STRING, set_file, "", "inspect v2: key set"),
    FLAG("token-file", OPT_STRING, token_file, "", "inspect: the token; default: standard input"),
};

static int fail(int code, const Err *err)
{
    fprintf(stderr, "sandboxctl token: %s\n", err->msg);
    return code;
}

/* ---- mint ---- */

static int check_mint(const TokenOptions *options, bool v2, Err *reterr)
{
    if (!options->secret_file[0] && !options->key_file[0]) {
        return err_set(reterr, EINVAL, "--secret-file (v1) or --private-key-file (v2) is needed");
    }
    if (options->secret_file[0] && v2) {
        return err_set(reterr, EINVAL, "--secret-file and --private-key-file exclude each other");
    }
    if (!options->name[0] || !options->ns[0]) {
        return err_set(reterr, EINVAL, "--name and --namespace are needed");
    }
    if (options->ttl_ns < (int64_t)NS_PER_S) {
        return err_set(reterr, EINVAL, "--ttl must be one second at least");
    }
    if (v2 && (!options->uid[0] || !options->kid[0] || !options->method[0])) {
        return err_set(reterr, EINVAL, "--private-key-file needs --uid, --kid and --method");
    }
    if (v2 && (options->path[0] != '/' || strpbrk(options->path, "?# "))) {
        return err_set(reterr, EINVAL, "--path begins with / and has no query");
    }
    if (v2 && (options->port < 1 || options->port > UINT16_MAX)) {
        return err_set(reterr, EINVAL, "--port must be 1 to 65535");
    }
    return 0;
}

static int mint(const TokenOptions *options)
{
    AUTO(strbuf) StrBuf key = STRBUF_INIT(TOKEN_FILE_MAX);
    AUTO(strbuf) StrBuf token = STRBUF_INIT(TOKEN_MAX);
    bool v2 = options->key_file[0] != '\0';
    Err err = ERR_INIT;
    TokenClaims claims = {
        .version = v2 ? 2 : 1,
        .ns = str_from(options->ns),
        .name = str_from(options->name),
        .uid = str_from(options->uid),
        .method = str_from(options->method),
        .path = str_from(options->path),
        .kid = str_from(options->kid),
        .port = (uint16_t)options->port,
        .exp = (int64_t)time(NULL) + options->ttl_ns / (int64_t)NS_PER_S,
    };
    int r = check_mint(options, v2, &err);

    if (r < 0) {
        return fail(VERB_USAGE, &err);
    }
    r = token_file_read(v2 ? options->key_file : options->secret_file, true, &key, &err);
    if (r == 0) {
        r = v2 ? token_mint_v2(strbuf_str(&key), &claims, &token, &err)
               : token_mint_v1(strbuf_str(&key), &claims, &token, &err);
    }
    if (r < 0) {
        return fail(VERB_FAILED, &err);
    }
    return printf("%s\n", token.ptr) < 0 || fflush(stdout) != 0 ? VERB_FAILED : VERB_OK;
}

/* ---- inspect ---- */

static int load_keys(const TokenOptions *options, TokenKeys *keys, Err *reterr)
{
    int r = 0;

    if (options->secret_file[0]) {
        r = token_keys_add_secret_file(keys, options->secret_file, true, reterr);
    }
    if (r == 0 && options->set_file[0]) {
        r = token_keys_add_set_file(keys, options->set_file, reterr);
    }
    return r;
}

static void show(const char *name, Str text)
{
    if (text.len > 0) {
        printf("%-10s ", name);
        for (size_t i = 0; i < text.len; i++) { /* what is in a token may not steer a terminal */
            char c = text.ptr[i];

            putchar(c >= ' ' && c <= '~' ? c : '?');
        }
        putchar('\n');
    }
}

static void show_claims(const TokenClaims *claims)
{
    printf("version    v%d\n", claims->version);
    show("namespace", claims->ns);
    show("name", claims->name);
    show("kid", claims->kid);
    show("uid", claims->uid);
    if (claims->version == 2) {
        printf("port       %u\n", claims->port);
    }
    show("method", claims->method);
    show("path", claims->path);
    printf("exp        %lld\n", (long long)claims->exp);
}

static int inspect(const TokenOptions *options)
{
    AUTO(token_keys) TokenKeys *keys = token_keys_new();
    AUTO(strbuf) StrBuf text = STRBUF_INIT(TOKEN_FILE_MAX);
    const char *path = options->token_file[0] ? options->token_file : "/dev/stdin";
    TokenClaims claims;
    TokenVerdict verdict;
    Err err = ERR_INIT;
    char line[TOKEN_MAX + 2];
    FILE *in;
    size_t n;

    if (load_keys(options, keys, &err) < 0) {
        return fail(VERB_FAILED, &err);
    }
    in = options->token_file[0] ? fopen(path, "re") : stdin;
    if (!in) {
        err_set_errno(&err, errno, "%s", path);
        return fail(VERB_FAILED, &err);
    }
    n = fread(line, 1, sizeof(line), in);
    if (in != stdin) {
        fclose(in);
    }
    Str token = str_trim((Str){line, n});

    verdict = token_read(token, &claims);
    if (verdict == TOKEN_GOOD) {
        show_claims(&claims);
        verdict = token_verify(keys, token, (int64_t)time(NULL), &claims);
    }
    printf("token      %s\n", token_verdict_text(verdict));
    return verdict == TOKEN_GOOD ? VERB_OK : VERB_FAILED;
}

/* ---- keygen ---- */

static int write_private(const char *path, Str text, Err *reterr)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n;

    if (fd < 0) {
        return err_set_errno(reterr, errno, "%s", path);
    }
    n = write(fd, text.ptr, text.len);
    if (close(fd) < 0 || n != (ssize_t)text.len) {
        unlink(path);
        return err_set(reterr, EIO, "cannot write %s", path);
    }
    return 0;
}

static int keygen(const TokenOptions *options)
{
    AUTO(strbuf) StrBuf pem = STRBUF_INIT(TOKEN_FILE_MAX);
    AUTO(strbuf) StrBuf set = STRBUF_INIT(TOKEN_FILE_MAX);
    Err err = ERR_INIT;

    if (!options->kid[0] || !options->key_file[0]) {
        err_set(&err, EINVAL, "--kid and --private-key-file are needed");
        return fail(VERB_USAGE, &err);
    }
    if (token_keygen(str_from(options->kid), &pem, &set, &err) < 0 ||
        write_private(options->key_file, strbuf_str(&pem), &err) < 0) {
        return fail(VERB_FAILED, &err);
    }
    return printf("%s", set.ptr) < 0 || fflush(stdout) != 0 ? VERB_FAILED : VERB_OK;
}

static const struct {
    const char *name;
    int (*run)(const TokenOptions *options);
} actions[] = {
    {"mint", mint},
    {"inspect", inspect},
    {"keygen", keygen},
};

void token_usage(FILE *out)
{
    fputs("flags of sandboxctl token mint, inspect and keygen:\n", out);
    opts_print(out, specs, ARRAY_LEN(specs));
}

static int run(int (*action)(const TokenOptions *options), int argc, char **argv)
{
    TokenOptions options = {0};
    OptsResult result;
    Err err = ERR_INIT;

    if (opts_parse(specs, ARRAY_LEN(specs), argc, argv, &options, &result, &err) < 0) {
        return fail(VERB_USAGE, &err);
    }
    if (result.help) {
        token_usage(stdout);
        return VERB_OK;
    }
    if (result.rest < argc) {
        err_set(&err, EINVAL, "unexpected argument \"%s\"", argv[result.rest]);
        return fail(VERB_USAGE, &err);
    }
    return action(&options);
}

int token_verb(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;

    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (strcmp(actions[i].name, word) == 0) {
            return run(actions[i].run, argc - 1, argv + 1);
        }
    }
    token_usage(help ? stdout : stderr);
    return help ? VERB_OK : VERB_USAGE;
}
