# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How each program of the cluster is started: one function `run_NAME` per component, `ensure` starts
# what does not run. Sourced by bring-up. Components are started in the order of the two lists; the
# first needs no API server.

readonly COMPONENTS_BASE="mounts internet containerd etcd apiserver"
readonly COMPONENTS_API="controller-manager scheduler kubelet proxy netpol volumes"

# Components that were asked for once and belong to the cluster from then on.
components_extra() {
    if [ -e "$CLUSTER_DIR/pid/kwok" ]; then
        echo kwok
    fi
}

# ensure NAME...: what runs stays untouched, so a second run repairs a cluster that lost a process.
ensure() {
    local name
    for name in "$@"; do
        if ! alive "$name"; then
            "run_${name//-/_}"
        fi
    done
}

node_start() { # NAME PROGRAM ARG...: with the node's network and mounts
    local -r name=$1
    shift
    NODE_MOUNTS=/proc/$(cat "$CLUSTER_DIR/pid/mounts")/ns/mnt start "$name" "$NODE_NS" "$@"
}

run_mounts() {
    rm -f "$CLUSTER_DIR/node/ready"
    start mounts "$NODE_NS" unshare --mount --propagation private \
        "$HERE/node-mounts" "$CLUSTER_DIR" "$TOOLS_DIR" "$HERE"
    wait_for 5 "the node's mount namespace" test -e "$CLUSTER_DIR/node/ready"
}

run_internet() {
    start internet "$INTERNET_NS" /usr/bin/python3 "$HERE/internet" "$INTERNET_IP" 80
}

run_containerd() {
    node_start containerd containerd --config "$N/config/containerd.toml"
}

run_etcd() {
    node_start etcd "$N_BIN/etcd" --data-dir "$N/etcd" --unsafe-no-fsync --log-level warn \
        --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
        --listen-peer-urls http://127.0.0.1:2380
}

run_apiserver() {
    local -r admission=NodeRestriction,OwnerReferencesPermissionEnforcement,PodSecurity
    node_start apiserver "$N_BIN/kube-apiserver" \
        --etcd-servers=http://127.0.0.1:2379 \
        --bind-address=0.0.0.0 --advertise-address="$NODE_IP" --secure-port=6443 \
        --tls-cert-file="$N/pki/apiserver.crt" --tls-private-key-file="$N/pki/apiserver.key" \
        --client-ca-file="$N/pki/ca.crt" --token-auth-file="$N/pki/tokens.csv" \
        --service-account-key-file="$N/pki/sa.pub" \
        --service-account-signing-key-file="$N/pki/sa.key" \
        --service-account-issuer=https://kubernetes.default.svc.cluster.local \
        --service-cluster-ip-range="$SERVICE_CIDR" --service-node-port-range=30000-32767 \
        --authorization-mode=Node,RBAC --allow-privileged=true \
        --enable-admission-plugins="$admission" \
        --kubelet-client-certificate="$N/pki/apiserver-kubelet.crt" \
        --kubelet-client-key="$N/pki/apiserver-kubelet.key" \
        --kubelet-certificate-authority="$N/pki/ca.crt" \
        --kubelet-preferred-address-types=InternalIP \
        --requestheader-client-ca-file="$N/pki/front-proxy-ca.crt" \
        --requestheader-allowed-names=front-proxy-client \
        --requestheader-username-headers=X-Remote-User \
        --requestheader-group-headers=X-Remote-Group \
        --requestheader-extra-headers-prefix=X-Remote-Extra- \
        --proxy-client-cert-file="$N/pki/front-proxy.crt" \
        --proxy-client-key-file="$N/pki/front-proxy.key" \
        --max-requests-inflight=2000 --max-mutating-requests-inflight=1000 \
        --audit-policy-file="$N/config/audit.yaml" --audit-log-path="$N/audit.log" \
        --audit-log-maxsize=1000
}

run_controller_manager() {
    local -r conf=$N/pki/controller-manager.conf
    node_start controller-manager "$N_BIN/kube-controller-manager" \
        --kubeconfig="$conf" --authentication-kubeconfig="$conf" \
        --authorization-kubeconfig="$conf" \
        --service-account-private-key-file="$N/pki/sa.key" --root-ca-file="$N/pki/ca.crt" \
        --cluster-signing-cert-file="$N/pki/ca.crt" --cluster-signing-key-file="$N/pki/ca.key" \
        --use-service-account-credentials --leader-elect=false --bind-address=127.0.0.1 \
        --kube-api-qps=500 --kube-api-burst=1000 --horizontal-pod-autoscaler-sync-period=2s
}

run_scheduler() {
    local -r conf=$N/pki/scheduler.conf
    node_start scheduler "$N_BIN/kube-scheduler" \
        --kubeconfig="$conf" --authentication-kubeconfig="$conf" \
        --authorization-kubeconfig="$conf" \
        --leader-elect=false --bind-address=127.0.0.1 --kube-api-qps=500 --kube-api-burst=1000
}

run_kubelet() {
    node_start kubelet "$N_BIN/kubelet" --config="$N/config/kubelet.yaml" \
        --kubeconfig="$N/pki/kubelet.conf" \
        --hostname-override="$NODE_NAME" --node-ip="$NODE_IP" --root-dir=/var/lib/kubelet --v=2
}

# conntrack-max-per-core=0: the limit is the machine's, not a namespace's to change.
run_proxy() {
    node_start proxy "$N_BIN/kube-proxy" --kubeconfig="$N/pki/proxy.conf" \
        --hostname-override="$NODE_NAME" \
        --proxy-mode=iptables --cluster-cidr="$POD_CIDR" --conntrack-max-per-core=0 \
        --metrics-bind-address=127.0.0.1:10249
}

# Runs on the node instead of in a pod, with the directory a pod's service account would have.
run_netpol() {
    local -r account=/run/secrets/kubernetes.io/serviceaccount
    node mkdir -p "$account"
    node cp "$N/pki/netpol.token" "$account/token"
    node cp "$N/pki/ca.crt" "$account/ca.crt"
    START_ENV="KUBERNETES_SERVICE_HOST=$NODE_IP KUBERNETES_SERVICE_PORT=6443" node_start netpol \
        "$N_BIN/kube-network-policies" --hostname-override="$NODE_NAME" --nfqueue-id="$QUEUE" \
            --disable-nri \
        --netfilter-bug-1766-fix=false --metrics-bind-address=127.0.0.1:9080
}

run_volumes() {
    node_start volumes "$N_SCRIPTS/reclaim-volumes" "$N/pki/volumes.conf" /var/lib/volumes
}

run_kwok() {
    node_start kwok "$N_BIN/kwok" --kubeconfig="$N/pki/kwok.conf" --node-ip="$NODE_IP" \
        --manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake \
        --node-lease-duration-seconds=40 \
        --server-address=127.0.0.1:10247
}
