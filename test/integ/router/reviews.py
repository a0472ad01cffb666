# SPDX-License-Identifier: Apache-2.0
"""TokenReview and SubjectAccessReview of a fake API server: it knows some tokens and what their users may reach."""
import json
import threading

TOKENS = '/apis/authentication.k8s.io/v1/tokenreviews'
ACCESS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'


class Reviews:
    def __init__(self):
        self.users = {}         # token -> user
        self.allowed = set()    # (user, namespace, name)
        self.audiences = {}     # token -> audiences it is for
        self.token_reviews = []
        self.access_reviews = []
        self.fail = None        # answer reviews with this status
        self.garbage = False    # answer 201 with what is no review
        self.gate = threading.Event()  # cleared: reviews wait
        self.gate.set()

    def let(self, token, user, *sandboxes):
        self.users[token] = user
        self.allowed |= {(user, ns, name) for ns, name in sandboxes}

    def answer(self, h):
        """False when the request is not one for this."""
        path = h.path.split('?')[0]
        if path not in (TOKENS, ACCESS):
            return False
        review = json.loads(h.rfile.read(int(h.headers.get('Content-Length') or 0)))
        (self.token_reviews if path == TOKENS else self.access_reviews).append(review['spec'])
        self.gate.wait(30)
        if self.fail:
            h.send_error(self.fail)
            return True
        review['status'] = self.token(review['spec']) if path == TOKENS else self.access(review['spec'])
        text = b'[1]' if self.garbage else json.dumps(review).encode()
        h.send_response(201)
        h.send_header('Content-Type', 'application/json')
        h.send_header('Content-Length', str(len(text)))
        h.end_headers()
        h.wfile.write(text)
        return True

    def token(self, spec):
        user = self.users.get(spec['token'])
        if not user:
            return {'authenticated': False, 'error': 'invalid bearer token'}
        return {'authenticated': True, 'audiences': self.audiences.get(spec['token'], []),
                'user': {'username': user, 'uid': 'uid-' + user, 'groups': ['g1', 'g2'],
                         'extra': {'authentication.kubernetes.io/pod-name': ['p']}}}

    def access(self, spec):
        what = spec['resourceAttributes']
        right = (what['verb'], what['group'], what['resource'], what['subresource']) == \
            ('get', 'agents.x-k8s.io', 'sandboxes', 'proxy')
        return {'allowed': right and (spec['user'], what['namespace'], what['name']) in self.allowed}
