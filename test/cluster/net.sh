# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The cluster's two network namespaces: the node, and beyond its default route "the internet".
# Sourced by bring-up.
#
#   pods 10.244.0.0/16 -- node 10.88.0.2 -- 10.88.0.1 internet namespace, 203.0.113.10 on its lo
#
# Nothing is connected to the host: no packet of a test can leave the machine. Every step checks
# before it acts.

net_up() {
    local ns
    for ns in "$NODE_NS" "$INTERNET_NS"; do
        if [ ! -e "/run/netns/$ns" ]; then
            ip netns add "$ns"
        fi
        in_net "$ns" ip link set lo up
    done
    if ! in_net "$NODE_NS" ip link show uplink >/dev/null 2>&1; then
        in_net "$NODE_NS" ip link add uplink type veth peer name node0 netns "$INTERNET_NS"
        in_net "$NODE_NS" ip addr add "$NODE_IP/24" dev uplink
        in_net "$NODE_NS" ip link set uplink up
        in_net "$INTERNET_NS" ip addr add "$GATEWAY_IP/24" dev node0
        in_net "$INTERNET_NS" ip link set node0 up
        in_net "$INTERNET_NS" ip addr add "$INTERNET_IP/32" dev lo
        in_net "$INTERNET_NS" ip route add "$POD_CIDR" via "$NODE_IP"
        in_net "$NODE_NS" ip route add default via "$GATEWAY_IP"
        in_net "$NODE_NS" sysctl -qw net.ipv4.ip_forward=1
    fi
    policy_rules
}

# New connections from or to pods are judged by the policy agent through its queue. In the mangle
# table, because a queue's "accept" ends its table: kube-proxy's filter rules (reject what has no
# endpoints) still see the packet. Without an agent on the queue the kernel drops: policies fail
# closed.
policy_rules() {
    local chain rule
    for chain in FORWARD INPUT; do
        rule=("$chain" -m conntrack --ctstate NEW -j NFQUEUE --queue-num "$QUEUE")
        if [ "$chain" = INPUT ]; then
            rule+=(-s "$POD_CIDR")
        fi
        if ! in_net "$NODE_NS" iptables -w -t mangle -C "${rule[@]}" 2>/dev/null; then
            in_net "$NODE_NS" iptables -w -t mangle -A "${rule[@]}"
        fi
    done
}

net_down() {
    local ns
    for ns in "$NODE_NS" "$INTERNET_NS"; do
        if [ -e "/run/netns/$ns" ]; then
            ip netns del "$ns"
        fi
    done
}
