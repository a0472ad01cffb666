# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What every script of the test cluster shares: names, paths, messages, processes. Sourced, never
# run.
#
# A cluster is its state directory (CLUSTER_DIR). Whatever it makes outside of that directory, two
# network namespaces and one control group, is named after a hash of the directory's path, so that
# two checkouts never meet and `down` finds everything even when the directory is gone.
#
# Every process of a cluster is started by `start` below: it records its pid and enters the
# cluster's control group before it becomes the program. Children inherit the group, containers live
# in it (kubelet's cgroupRoot). A cluster's processes are therefore exactly the members of that
# group, however a script died.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
ROOT=$(cd "$HERE/../.." && pwd -P)
CLUSTER_DIR=$(realpath -m "${CLUSTER_DIR:-$ROOT/build/cluster}")
TOOLS_DIR=$(realpath -m "${TOOLS_DIR:-$ROOT/build/tools}")
ID=cofferdam-$(printf %s "$CLUSTER_DIR" | sha256sum | cut -c1-8)
NODE_NS=$ID
INTERNET_NS=$ID-internet

readonly HERE ROOT CLUSTER_DIR TOOLS_DIR ID NODE_NS INTERNET_NS

# Addresses exist inside the cluster's namespaces only: every cluster uses the same.
readonly NODE_NAME=node0 NODE_IP=10.88.0.2 GATEWAY_IP=10.88.0.1 INTERNET_IP=203.0.113.10
readonly POD_CIDR=10.244.0.0/16 SERVICE_CIDR=10.96.0.0/16
readonly API_SERVICE_IP=10.96.0.1 DNS_SERVICE_IP=10.96.0.10
readonly QUEUE=98

# Paths as the node sees them (node-mounts makes them): short, and the same for every cluster.
readonly N=/run/cluster N_BIN=/run/tools/bin N_SCRIPTS=/run/scripts

say() { printf 'cluster: %s\n' "$*"; }

die() {
    printf 'cluster: %s\n' "$*" >&2
    exit 1
}

need_root() {
    [ "$(id -u)" = 0 ] ||
        die "needs root for namespaces, mounts and control groups; run: sudo make ${1:-cluster-up}"
}

# One script at a time works on a cluster. The lock lies beside the state, so that `down` can remove
# the state.
lock() {
    mkdir -p "$(dirname "$CLUSTER_DIR")"
    exec 9>"$CLUSTER_DIR.lock"
    if ! flock -n 9; then
        say "waiting for another script that works on $CLUSTER_DIR"
        flock 9
    fi
}

# --- control groups: version 2, version 1 and the hybrid of both ---

cgroup_mounts() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

# The hierarchy whose membership says which processes are ours.
cgroup_tracker() {
    if [ -d /sys/fs/cgroup/pids ]; then
        echo /sys/fs/cgroup/pids
    else
        cgroup_mounts | head -1
    fi
}

cgroup_create() {
    local mount controller file
    for mount in $(cgroup_mounts); do
        if [ -f "$mount/cgroup.controllers" ]; then
            for controller in $(cat "$mount/cgroup.controllers"); do
                echo "+$controller" >"$mount/cgroup.subtree_control" 2>/dev/null || true
            done
        fi
        mkdir -p "$mount/$ID"
        if [ -f "$mount/$ID/cgroup.controllers" ]; then
            for controller in $(cat "$mount/$ID/cgroup.controllers"); do
                echo "+$controller" >"$mount/$ID/cgroup.subtree_control" 2>/dev/null || true
            done
        fi
        # version 1: empty until set, and nothing can join before
        for file in cpuset.cpus cpuset.mems; do
            if [ -f "$mount/cpuset.sched_load_balance" ] && [ -z "$(cat "$mount/$ID/$file")" ]; then
                cat "$mount/$file" >"$mount/$ID/$file"
            fi
        done
    done
    mkdir -p "$(cgroup_tracker)/$ID/node"
}

cgroup_dirs() {
    local mount
    for mount in $(cgroup_mounts); do
        if [ -d "$mount/$ID" ]; then
            find "$mount/$ID" -depth -type d
        fi
    done
}

# Every process of this cluster.
cgroup_pids() {
    local dir
    for dir in $(cgroup_dirs); do
        cat "$dir/cgroup.procs" 2>/dev/null || true
    done | sort -un
}

# --- processes ---

# shellcheck disable=SC2016
readonly START='
    echo $$ >"$1/cgroup.procs" && echo $$ >"$2.new" && mv "$2.new" "$2" && shift 2 && exec "$@"'

# start NAME NETNS PROGRAM ARG...: in a session of its own, logging to log/NAME.log, pid in
# pid/NAME. The pid file is complete and the group entered before PROGRAM runs: nothing can escape
# `down`.
start() {
    local -r name=$1 netns=$2
    shift 2
    mkdir -p "$CLUSTER_DIR/log" "$CLUSTER_DIR/pid"
    rm -f "$CLUSTER_DIR/pid/$name"
    setsid env -i PATH="$N_BIN:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root ${START_ENV:-} \
        bash -c "$START" start "$(cgroup_tracker)/$ID/node" "$CLUSTER_DIR/pid/$name" \
        nsenter --net="/run/netns/$netns" ${NODE_MOUNTS:+--mount="$NODE_MOUNTS"} "$@" \
        >>"$CLUSTER_DIR/log/$name.log" 2>&1 </dev/null 9>&- &
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        if [ -s "$CLUSTER_DIR/pid/$name" ]; then
            return 0
        fi
        sleep 0.02
    done
    die "could not start $name; see $CLUSTER_DIR/log/$name.log"
}

# True when the process that pid/NAME names runs and is ours (a pid can be reused by somebody else's
# process).
alive() {
    local pid
    pid=$(cat "$CLUSTER_DIR/pid/$1" 2>/dev/null) || return 1
    [ -n "$pid" ] && grep -qs "/$ID\(/\|\$\)" "/proc/$pid/cgroup"
}

# Runs a program of the node: its network, its mounts.
node() {
    nsenter --net="/run/netns/$NODE_NS" --mount="/proc/$(cat "$CLUSTER_DIR/pid/mounts")/ns/mnt" "$@"
}

in_net() { # NETNS PROGRAM ARG...
    local -r netns=$1
    shift
    nsenter --net="/run/netns/$netns" "$@"
}

kubectl() {
    env -u HTTP_PROXY -u HTTPS_PROXY -u http_proxy -u https_proxy \
        nsenter --net="/run/netns/$NODE_NS" \
        "$TOOLS_DIR/bin/kubectl" --kubeconfig "$CLUSTER_DIR/kubeconfig" "$@"
}

# wait_for SECONDS WHAT COMMAND...: polls; on failure names WHAT and returns 1.
wait_for() {
    local -r end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= end)); then
            printf 'cluster: %s did not happen in time; logs: %s\n' "$what" "$CLUSTER_DIR/log" >&2
            return 1
        fi
        sleep 0.2
    done
}
