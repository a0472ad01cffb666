#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sandbox-router beside nginx as a proxy, in the same run: requests per second, latency, CPU per request.
#
#   test/bench/router.sh [ROUNDS] [SECONDS]      (3 rounds of 4 s)
#
# The proxy under test has CPU 0 for itself; wrk and the backend (nginx, three bytes) share the others.
# Both proxies keep connections to the backend alive and write an access log; ours follows a table and
# counts metrics. ROUTER_BIN names the binary. Prints a table; never fails on a number.
set -u
cd "$(dirname "$0")/../.." || exit 1
BIN=${ROUTER_BIN:-build/bin/sandbox-router}
ROUNDS=${1:-3}
SECONDS_EACH=${2:-4}
DIR=$(mktemp -d)
PIDS=()
OTHERS=1-$(($(nproc) - 1))
BACK=$((21000 + RANDOM % 4000)); OURS=$((BACK + 4001)); NGINX=$((BACK + 8002)); METRICS=$((BACK + 8003))

for tool in wrk nginx taskset python3; do
    command -v "$tool" >/dev/null || { echo "router.sh needs $tool" >&2; exit 1; }
done
[ "$(nproc)" -ge 2 ] || { echo 'router.sh needs two CPUs' >&2; exit 1; }

finish() {
    for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null; done
    wait 2>/dev/null
    rm -rf "$DIR"
}
trap finish EXIT

nginx_conf() { # name, content of http{}
    cat >"$DIR/$1.conf" <<CONF
daemon off; pid $DIR/$1.pid; worker_processes 1; error_log $DIR/$1.err; worker_rlimit_nofile 20000;
events { worker_connections 16000; }
http { client_body_temp_path $DIR/b; proxy_temp_path $DIR/p; fastcgi_temp_path $DIR/f; uwsgi_temp_path $DIR/u;
scgi_temp_path $DIR/s; keepalive_requests 100000000; $2 }
CONF
}
nginx_conf backend "access_log off; server { listen 127.0.0.1:$BACK backlog=4096;
  location /4k { client_body_buffer_size 8k; return 200 'ok\\n'; } location / { return 200 'ok\\n'; } }"
nginx_conf proxy "access_log $DIR/access.log; upstream b { server 127.0.0.1:$BACK; keepalive 512; keepalive_requests 100000000; }
  server { listen 127.0.0.1:$NGINX backlog=4096; location / { proxy_pass http://b; proxy_http_version 1.1;
  proxy_set_header Connection ''; proxy_set_header X-Forwarded-For \$remote_addr; proxy_buffering off; } }"

taskset -c "$OTHERS" nginx -c "$DIR/backend.conf" & PIDS+=($!)
taskset -c 0 nginx -c "$DIR/proxy.conf" & PIDS+=($!)
taskset -c "$OTHERS" python3 - "$DIR/kubeconfig" <<'PY' & PIDS+=($!)
import sys, threading
sys.path.insert(0, 'test/integ/router'); sys.dont_write_bytecode = True
import fakeapi
api = fakeapi.FakeApi()
api.put(fakeapi.pod('box', '127.0.0.1'))
api.kubeconfig(sys.argv[1])
threading.Event().wait()
PY
for _ in $(seq 100); do [ -s "$DIR/kubeconfig" ] && break; sleep 0.05; done
taskset -c 0 "$BIN" --authz-mode=allow-all --workers=1 --http-bind-address=127.0.0.1:$OURS --kubeconfig="$DIR/kubeconfig" \
    --metrics-bind-address=127.0.0.1:$METRICS --health-probe-bind-address=0 2>"$DIR/ours.log" & ROUTER=$!; PIDS+=($ROUTER)
sleep 1
HEADERS=(-H 'X-Sandbox-ID: box' -H "X-Sandbox-Port: $BACK")
curl -sf "${HEADERS[@]}" "http://127.0.0.1:$OURS/" >/dev/null || { echo 'the router does not answer:'; cat "$DIR/ours.log"; exit 1; }
curl -sf "http://127.0.0.1:$NGINX/" >/dev/null || { echo 'nginx does not answer'; exit 1; }
NGINX_WORKER=$(pgrep -P "$(cat "$DIR/proxy.pid")")

cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
memory() { awk '/^(VmRSS|RssAnon)/ { printf "%s %.1f MB  ", $1, $2 / 1024 }' "/proc/$ROUTER/status"; }

IDLE="$(memory)"
# One measurement: name, pid, port, connections, extra arguments of wrk... -> "rps p50 p99 us-per-request" into FILE
measure() {
    local file=$1 pid=$2 port=$3 conns=$4; shift 4
    local before after out
    before=$(cpu_ticks "$pid")
    out=$(taskset -c "$OTHERS" wrk -t1 -c"$conns" -d"${SECONDS_EACH}s" --latency "${HEADERS[@]}" "$@" "http://127.0.0.1:$port/")
    after=$(cpu_ticks "$pid")
    echo "$out" | grep -q 'Non-2xx' && echo "$out" | grep 'Non-2xx' >&2
    echo "$out" | awk -v ticks=$((after - before)) '
        function us(t) { return t ~ /us$/ ? t + 0 : t ~ /ms$/ ? t * 1000 : t * 1000000 }
        $1 == "50%" { p50 = us($2) } $1 == "99%" { p99 = us($2) } /requests in/ { n = $1 } /^Requests\/sec/ { rps = $2 }
        END { printf "%.0f %.0f %.0f %.2f\n", rps, p50, p99, n ? ticks * 10000 / n : 0 }' >>"$file"
}
median() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
spread() { awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 } END { printf "%.0f-%.0f", v[1], v[NR] }'; }

cat >"$DIR/post.lua" <<'LUA'
wrk.method = "POST"
wrk.body = string.rep("x", 4096)
LUA
printf '%-22s %-7s %9s %15s %9s %9s %8s\n' case proxy req/s spread 'p50 us' 'p99 us' 'us CPU'
for case in 1 50 200 post50; do
    extra=(); conns=$case
    if [ "$case" = post50 ]; then conns=50; extra=(-s "$DIR/post.lua"); fi
    for _ in $(seq "$ROUNDS"); do
        measure "$DIR/$case.ours" "$ROUTER" $OURS "$conns" "${extra[@]}"
        measure "$DIR/$case.nginx" "$NGINX_WORKER" $NGINX "$conns" "${extra[@]}"
    done
    for who in ours nginx; do
        f=$DIR/$case.$who
        printf '%-22s %-7s %9s %15s %9s %9s %8s\n' "c=$case" $who "$(median "$f" 1)" "$(spread "$f" 1)" \
            "$(median "$f" 2)" "$(median "$f" 3)" "$(median "$f" 4)"
    done
    awk -v a="$(median "$DIR/$case.ours" 1)" -v b="$(median "$DIR/$case.nginx" 1)" -v p="$(median "$DIR/$case.ours" 4)" \
        -v q="$(median "$DIR/$case.nginx" 4)" 'BEGIN { printf "%-22s %-7s req/s %.2f (target 1.00), CPU per request %.2f\n", "", "ratio", a / b, p / q }'
done
echo "router idle: $IDLE; after the load: $(memory)"
strip -o "$DIR/stripped" "$BIN" && printf 'stripped binary: %d KiB (limit 1024)\n' $(($(stat -c %s "$DIR/stripped") / 1024))
