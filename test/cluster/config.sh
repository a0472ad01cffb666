# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Writes the configuration files of the node's programs into config/ of the state directory. Sourced
# by bring-up. Paths in them are the node's view (N=/run/cluster), see node-mounts.

config_up() {
    mkdir -p "$CLUSTER_DIR"/{config/cni,node/var-lib/volumes,node/var-log}
    config_audit >"$CLUSTER_DIR/config/audit.yaml"
    config_containerd >"$CLUSTER_DIR/config/containerd.toml"
    config_cni >"$CLUSTER_DIR/config/cni/10-pods.conflist"
    config_kubelet >"$CLUSTER_DIR/config/kubelet.yaml"
    config_volumes >"$CLUSTER_DIR/config/volumes.yaml"
    config_run >"$CLUSTER_DIR/run.new"
    chmod 0755 "$CLUSTER_DIR/run.new"
    mv "$CLUSTER_DIR/run.new" "$CLUSTER_DIR/run"
}

# Writes only, who and what but no bodies; not the heartbeats of node and API server
# and the node's questions about its callers.
config_audit() {
    cat <<'YAML'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, verbs: [get, list, watch]}
- {level: None, namespaces: [kube-node-lease]}
- {level: None, users: ["system:apiserver"], resources: [{group: coordination.k8s.io}]}
- level: None
  userGroups: ["system:nodes"]
  resources:
  - {group: authentication.k8s.io}
  - {group: authorization.k8s.io}
- {level: Metadata}
YAML
}

# restrict_oom_score_adj: a machine's root may lack CAP_SYS_RESOURCE, and then no container would
# start.
config_containerd() {
    cat <<TOML
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "$N/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/cofferdam-test/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$N/config/cni"
TOML
}

# ptp, not bridge: every packet between pods is routed, so services and policies see it without
# bridge filtering.
config_cni() {
    cat <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "ptp", "ipMasq": false, "mtu": 1500,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$POD_CIDR"}]],
            "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "/var/lib/cni/networks"}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
}

config_kubelet() {
    cat <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupRoot: /$ID
containerRuntimeEndpoint: unix://$N/containerd.sock
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $N/pki/ca.crt}
authorization: {mode: Webhook}
clusterDomain: cluster.local
clusterDNS: [$DNS_SERVICE_IP]
tlsCertFile: $N/pki/kubelet-server.crt
tlsPrivateKeyFile: $N/pki/kubelet-server.key
resolvConf: ""
volumePluginDir: /var/lib/kubelet/volume-plugins
podLogsDir: /var/log/pods
maxPods: 500
serializeImagePulls: false
kubeAPIQPS: 500
kubeAPIBurst: 1000
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
imageGCHighThresholdPercent: 100
YAML
}

# A default storage class with volumes ready to bind; reclaim-volumes empties and frees them again.
config_volumes() {
    local i name
    cat <<'YAML'
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: Immediate
YAML
    for i in {01..40}; do
        name=volume-$i
        mkdir -p "$CLUSTER_DIR/node/var-lib/volumes/$name"
        chmod 0777 "$CLUSTER_DIR/node/var-lib/volumes/$name"
        cat <<YAML
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: $name}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce, ReadWriteMany]
  storageClassName: standard
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /var/lib/volumes/$name}
YAML
    done
}

# CLUSTER_DIR/run: a command inside the node's network namespace, with the cluster's tools and
# kubeconfig. Only the network is the node's; files are the caller's. A proxy of the caller's cannot
# be reached from there.
config_run() {
    cat <<SH
#!/bin/sh
# run COMMAND ARG...: inside the test node's network namespace, with its kubeconfig and kubectl; a
# shell if none.
if [ "\$(id -u)" != 0 ]; then
    exec sudo "\$0" "\$@"
fi
if [ ! -e /run/netns/$NODE_NS ]; then
    echo "cluster: not up; run: make cluster-up" >&2
    exit 1
fi
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy
KUBECONFIG='$CLUSTER_DIR/kubeconfig'
PATH='$TOOLS_DIR/bin':"\$PATH"
export KUBECONFIG PATH
[ \$# -gt 0 ] || set -- "\${SHELL:-/bin/sh}"
exec nsenter --net=/run/netns/$NODE_NS -- "\$@"
SH
}
