# SPDX-License-Identifier: Apache-2.0
"""Certificates for the tests of TLS, made with the openssl program once a run."""
import os
import subprocess
import tempfile

_dir = None


def run(*args):
    subprocess.run(['openssl', *args], cwd=_dir, check=True, capture_output=True)


def path(name):
    return os.path.join(_dir, name)


def make(name, issuer, cn, days='30', san='', ca=False, more='', rsa=False):
    """NAME.crt and NAME.key; issuer None = self-signed. days may be negative: expired."""
    key = ['-newkey', 'rsa:2048'] if rsa else ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    run('req', *key, '-nodes', '-keyout', name + '.key', '-out', name + '.csr', '-subj', more + '/CN=' + cn)
    with open(path(name + '.ext'), 'w') as f:
        f.write('basicConstraints=%s\n' % ('critical,CA:TRUE' if ca else 'CA:FALSE'))
        if san:
            f.write('subjectAltName=%s\n' % san)
    sign = ['-CA', issuer + '.crt', '-CAkey', issuer + '.key', '-CAcreateserial'] if issuer else ['-signkey', name + '.key']
    run('x509', '-req', '-in', name + '.csr', '-out', name + '.crt', '-days', days, '-extfile', name + '.ext', *sign)


def setup():
    """ca, server, server2, rsa (servers); joe, old (expired), stranger (of another CA)."""
    global _dir
    if _dir:
        return
    _dir = tempfile.mkdtemp(prefix='router-certs-')
    make('ca', None, 'test ca', ca=True)
    make('ca2', None, 'other ca', ca=True)
    for name in ('server', 'server2'):
        make(name, 'ca', name, san='DNS:localhost,IP:127.0.0.1')
    make('rsa', 'ca', 'rsa', san='DNS:localhost,IP:127.0.0.1', rsa=True)
    make('joe', 'ca', 'joe', san='URI:spiffe://example/ns/team/sa/joe', more='/O=dev/O=ops')
    make('old', 'ca', 'old', days='-1')
    make('stranger', 'ca2', 'stranger')


def pair(name):
    return path(name + '.crt'), path(name + '.key')


class Secret:
    """A folder as the kubelet mounts a Secret: tls.crt -> ..data/tls.crt, ..data -> ..N."""

    def __init__(self, **files):
        self.dir = tempfile.mkdtemp(prefix='router-secret-')
        self.n = 0
        self.put(**files)
        for name in files:
            os.symlink('..data/' + name.replace('_', '.'), self.path(name.replace('_', '.')))

    def path(self, name):
        return os.path.join(self.dir, name)

    def put(self, **files):
        """tls_crt='server.crt' writes tls.crt with what certs.path('server.crt') holds."""
        self.n += 1
        os.mkdir(self.path('..%d' % self.n))
        for name, source in files.items():
            with open(path(source), 'rb') as f, open(self.path('..%d/%s' % (self.n, name.replace('_', '.'))), 'wb') as out:
                out.write(f.read())
        os.symlink('..%d' % self.n, self.path('..data_tmp'))
        os.rename(self.path('..data_tmp'), self.path('..data'))
