# SPDX-License-Identifier: Apache-2.0
"""gRPC through the router: grpcio as the sandbox and grpcio as the client, payload is plain bytes."""
import os
import signal
import threading
import time
from concurrent import futures

os.environ['GRPC_ENABLE_FORK_SUPPORT'] = '0'
import grpc  # noqa: E402

import common  # noqa: E402
import lib  # noqa: E402

SIZE = [('grpc.max_receive_message_length', 64 << 20), ('grpc.max_send_message_length', 64 << 20)]
server = None
server_port = 0
channel = None
cancelled = threading.Event()


def unary(request, context):
    context.set_trailing_metadata((('x-after', 'yes'), ('bin-bin', b'\x00\xff')))
    context.send_initial_metadata((('x-before', '1'),))
    return request + b'!'


def metadata(request, context):
    return repr(sorted((k, v) for k, v in context.invocation_metadata())).encode()


def fail(request, context):
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, 'no: \u00e4 100%')


def sleep(request, context):
    context.add_callback(cancelled.set)
    for _ in range(500):
        if not context.is_active():
            return b''
        time.sleep(0.02)
    return b'late'


def count(request, context):
    for i in range(int(request)):
        yield b'%d' % i


def count_then_hang(request, context):
    yield b'first'
    sleep(request, context)


def total(requests, context):
    return b'%d' % sum(len(r) for r in requests)


def echo(requests, context):
    for request in requests:
        yield request


def early(requests, context):
    return b'enough'


METHODS = {'Unary': grpc.unary_unary_rpc_method_handler(unary),
           'Metadata': grpc.unary_unary_rpc_method_handler(metadata),
           'Fail': grpc.unary_unary_rpc_method_handler(fail),
           'Sleep': grpc.unary_unary_rpc_method_handler(sleep),
           'Count': grpc.unary_stream_rpc_method_handler(count),
           'CountThenHang': grpc.unary_stream_rpc_method_handler(count_then_hang),
           'Total': grpc.stream_unary_rpc_method_handler(total),
           'Early': grpc.stream_unary_rpc_method_handler(early),
           'Echo': grpc.stream_stream_rpc_method_handler(echo)}


def serve():
    made = grpc.server(futures.ThreadPoolExecutor(64), options=SIZE)
    made.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler('t.T', METHODS),
        grpc.method_handlers_generic_handler('grpc.reflection.v1.ServerReflection',
                                             {'ServerReflectionInfo': METHODS['Echo']})))
    port = made.add_insecure_port('127.0.0.1:0')
    made.start()
    return made, port


def setup():
    global server, server_port, channel
    common.setup('--workers=2')
    server, server_port = serve()
    channel = grpc.insecure_channel('127.0.0.1:%d' % common.router.port, options=SIZE)


def teardown():
    channel.close()
    server.stop(0).wait()
    common.teardown()


def call(method, request, kind='unary_unary', port=None, timeout=20, more=(), service='t.T', name='box'):
    stub = getattr(channel, kind)('/%s/%s' % (service, method))
    routing = [('x-sandbox-id', name), ('x-sandbox-port', str(port or server_port))]
    return stub(request, timeout=timeout, metadata=routing + list(more))


def refused(method, request=b'', **how):
    """The code and the details of a call that has to fail."""
    try:
        result = call(method, request, **how)
        result = list(result) if not isinstance(result, bytes) else result
    except grpc.RpcError as e:
        return e.code(), e.details()
    raise AssertionError('the call succeeded: %r' % result)


def test_unary_with_metadata_both_ways():
    stub = channel.unary_unary('/t.T/Unary')
    reply, done = stub.with_call(b'hello', timeout=20, metadata=[
        ('x-sandbox-id', 'box'), ('x-sandbox-port', str(server_port))])
    lib.equal(reply, b'hello!')
    lib.equal(done.code(), grpc.StatusCode.OK)
    lib.equal(dict(done.initial_metadata())['x-before'], '1')
    trailing = dict(done.trailing_metadata())
    lib.equal((trailing['x-after'], trailing['bin-bin']), ('yes', b'\x00\xff'))


def test_metadata_reaches_the_sandbox_without_what_is_the_routers():
    seen = call('Metadata', b'', more=[('x-mine', 'a b'), ('raw-bin', b'\x00\x01'),
                                       ('authorization', 'Bearer secret')]).decode()
    lib.contains(seen, "('x-mine', 'a b')")
    lib.contains(seen, "('raw-bin', b'\\x00\\x01')")
    lib.contains(seen, "('x-forwarded-for', '127.0.0.1')")
    assert 'secret' not in seen and 'x-sandbox' not in seen, seen


def test_status_and_message_of_the_sandbox():
    lib.equal(refused('Fail'), (grpc.StatusCode.FAILED_PRECONDITION, 'no: \u00e4 100%'))
    lib.equal(refused('NoSuchMethod')[0], grpc.StatusCode.UNIMPLEMENTED)


def test_server_client_and_both_streaming():
    lib.equal(list(call('Count', b'1000', 'unary_stream')), [b'%d' % i for i in range(1000)])
    lib.equal(call('Total', iter([b'x' * 1000] * 300), 'stream_unary'), b'300000')
    pieces = [b'%d' % i * 100 for i in range(200)]
    lib.equal(list(call('Echo', iter(pieces), 'stream_stream')), pieces)
    listed = call('ServerReflectionInfo', iter([b'list']), 'stream_stream',
                  service='grpc.reflection.v1.ServerReflection')
    lib.equal(list(listed), [b'list'])


def test_both_directions_take_turns():
    turn = threading.Semaphore(1)

    def ask():
        for i in range(50):
            turn.acquire()
            yield b'%d' % i
    got = []
    for reply in call('Echo', ask(), 'stream_stream'):
        got.append(reply)
        turn.release()
    lib.equal(got, [b'%d' % i for i in range(50)])


def test_messages_of_16_mib_in_constant_memory():
    big = os.urandom(16 << 20)
    call('Total', iter([big]), 'stream_unary', timeout=60)
    before = common.router.rss_kb()
    lib.equal(call('Unary', big, timeout=60), big + b'!')
    lib.equal(len(list(call('Echo', iter([big, big]), 'stream_stream', timeout=60))), 2)
    common.router.check_growth(before, 2048)


def test_windows_of_a_connection_last_for_many_calls():
    """Each reply has to be given back whole, also its last bytes."""
    big = b'x' * 10000
    for _ in range(50):
        lib.equal(call('Unary', big, timeout=5), big + b'!')
    lib.equal(len(list(call('Count', b'20000', 'unary_stream'))), 20000)


def test_many_calls_at_once():
    stub = channel.unary_unary('/t.T/Unary')
    routing = [('x-sandbox-id', 'box'), ('x-sandbox-port', str(server_port))]
    running = [stub.future(b'%d' % i, timeout=40, metadata=routing) for i in range(300)]
    lib.equal([r.result() for r in running], [b'%d!' % i for i in range(300)])


def test_deadline_before_and_after_the_head():
    started = time.monotonic()
    lib.equal(refused('Sleep', timeout=0.5)[0], grpc.StatusCode.DEADLINE_EXCEEDED)
    lib.equal(refused('CountThenHang', timeout=0.5, kind='unary_stream')[0],
              grpc.StatusCode.DEADLINE_EXCEEDED)
    assert time.monotonic() - started < 5


def test_the_router_keeps_the_deadline_when_the_client_does_not():
    for method, kind in (('Sleep', 'unary_unary'), ('CountThenHang', 'unary_stream')):
        started = time.monotonic()
        code, details = refused(method, timeout=None, kind=kind, more=[('grpc-timeout', '300m')])
        lib.equal(code, grpc.StatusCode.DEADLINE_EXCEEDED)
        assert 0.2 < time.monotonic() - started < 5, details


def test_cancel_reaches_the_sandbox():
    cancelled.clear()
    running = channel.unary_unary('/t.T/Sleep').future(b'', metadata=[
        ('x-sandbox-id', 'box'), ('x-sandbox-port', str(server_port))])
    time.sleep(0.3)
    assert not cancelled.is_set()
    running.cancel()
    assert cancelled.wait(5)


def test_a_reply_before_the_end_of_the_request():
    hold = threading.Event()

    def endless():
        yield b'x'
        hold.wait(20)
    lib.equal(call('Early', endless(), 'stream_unary'), b'enough')
    hold.set()


def test_refusals_of_the_router():
    code = grpc.StatusCode
    stub = channel.unary_unary('/t.T/Unary')

    def failing(pairs):
        try:
            stub(b'', timeout=20, metadata=pairs)
        except grpc.RpcError as e:
            return e.code(), e.details()
        raise AssertionError('the call succeeded')
    lib.equal(failing([]), (code.INVALID_ARGUMENT, 'X-Sandbox-ID header is required.'))
    lib.equal(failing([('x-sandbox-id', 'box')]),
              (code.INVALID_ARGUMENT, 'X-Sandbox-Port header is required for gRPC.'))
    lib.equal(failing([('x-sandbox-id', 'box'), ('x-sandbox-port', '0')]),
              (code.INVALID_ARGUMENT, 'Invalid port format.'))
    lib.equal(refused('Unary', name='other'), (code.NOT_FOUND, 'Sandbox default/other is not known.'))
    lib.equal(refused('Unary', port=lib.free_port())[0], code.UNAVAILABLE)


def test_a_sandbox_that_speaks_only_http_1_1():
    backend = lib.Backend(lib.replying(lib.OK))
    lib.equal(refused('Unary', port=backend.port)[0], grpc.StatusCode.UNAVAILABLE)


def test_a_sandbox_that_dies_in_the_middle():
    other, port = serve()
    replies = call('CountThenHang', b'', 'unary_stream', port=port)
    lib.equal(next(replies), b'first')
    other.stop(0)
    try:
        next(replies)
    except grpc.RpcError as e:
        assert e.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED), e
    else:
        raise AssertionError('a message came')


def test_connections_to_sandboxes_are_used_again():
    for _ in range(20):
        call('Unary', b'')
    total = common.router.metric('sandbox_router_sandbox_connections')
    assert total <= 100, total


def test_authentication():
    router = lib.Router(api=common.router.api, env={'ROUTER_AUTH_TOKEN': 'sesame'})
    with grpc.insecure_channel('127.0.0.1:%d' % router.port) as other:
        stub = other.unary_unary('/t.T/Unary')
        pairs = [('x-sandbox-id', 'box'), ('x-sandbox-port', str(server_port))]
        try:
            stub(b'', timeout=20, metadata=pairs)
            raise AssertionError('the call succeeded')
        except grpc.RpcError as e:
            lib.equal(e.code(), grpc.StatusCode.UNAUTHENTICATED)
        lib.equal(stub(b'a', timeout=20, metadata=pairs + [('authorization', 'Bearer sesame')]), b'a!')
    lib.equal(router.stop(signal.SIGTERM), 0)
