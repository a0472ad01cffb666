# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The cluster's certificates, keys and kubeconfig files, all in pki/ of the state directory. Sourced
# by bring-up. Each component has an identity of its own with the rights Kubernetes gives it by
# default, as in production.

readonly PKI_DAYS=365

pki_ca() { # NAME
    openssl ecparam -genkey -name prime256v1 -noout -out "$1.key"
    openssl req -x509 -new -key "$1.key" -subj "/CN=cofferdam-test-$1" -days "$PKI_DAYS" \
        -out "$1.crt"
}

pki_cert() { # CA NAME SUBJECT [SAN]
    local -r ca=$1 name=$2 subject=$3 san=${4:-}
    openssl ecparam -genkey -name prime256v1 -noout -out "$name.key"
    openssl req -new -key "$name.key" -subj "$subject" |
        openssl x509 -req -CA "$ca.crt" -CAkey "$ca.key" -set_serial "0x$(openssl rand -hex 8)" \
            -days "$PKI_DAYS" -extfile <(printf '%s' "${san:+subjectAltName=$san}") \
            -out "$name.crt" 2>/dev/null
}

pki_kubeconfig() { # NAME FILE
    local -r name=$1 file=$2
    cat >"$file" <<KUBECONFIG
apiVersion: v1
kind: Config
current-context: cofferdam-test
contexts:
- {name: cofferdam-test, context: {cluster: cofferdam-test, user: $name}}
clusters:
- name: cofferdam-test
  cluster:
    server: https://$NODE_IP:6443
    certificate-authority-data: $(base64 -w0 ca.crt)
users:
- name: $name
  user:
    client-certificate-data: $(base64 -w0 "$name.crt")
    client-key-data: $(base64 -w0 "$name.key")
KUBECONFIG
    chmod 0600 "$file"
}

pki_up() {
    mkdir -p "$CLUSTER_DIR/pki"
    if [ -f "$CLUSTER_DIR/pki/done" ]; then
        return 0
    fi
    cd "$CLUSTER_DIR/pki"
    umask 077
    pki_ca ca
    pki_ca front-proxy-ca
    openssl ecparam -genkey -name prime256v1 -noout -out sa.key
    openssl ec -in sa.key -pubout -out sa.pub 2>/dev/null
    local san=DNS:localhost,IP:127.0.0.1,IP:$NODE_IP
    pki_cert ca kubelet-server "/O=system:nodes/CN=system:node:$NODE_NAME" "$san,DNS:$NODE_NAME"
    san+=,IP:$API_SERVICE_IP,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc
    san+=,DNS:kubernetes.default.svc.cluster.local
    pki_cert ca apiserver /CN=kube-apiserver "$san"
    pki_cert ca apiserver-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client
    pki_cert front-proxy-ca front-proxy /CN=front-proxy-client
    pki_cert ca admin /O=system:masters/CN=admin
    pki_cert ca controller-manager /CN=system:kube-controller-manager
    pki_cert ca scheduler /CN=system:kube-scheduler
    pki_cert ca kubelet "/O=system:nodes/CN=system:node:$NODE_NAME"
    pki_cert ca proxy /CN=system:kube-proxy
    pki_cert ca volumes /CN=cofferdam-test:volumes
    pki_cert ca kwok /CN=cofferdam-test:kwok
    local name
    for name in controller-manager scheduler kubelet proxy volumes kwok; do
        pki_kubeconfig "$name" "$name.conf"
    done
    pki_kubeconfig admin "$CLUSTER_DIR/kubeconfig"
    # The policy agent only knows how to be a pod: it gets a service account's directory with this
    # token in it.
    openssl rand -hex 24 >netpol.token
    printf '%s,cofferdam-test:netpol,netpol\n' "$(cat netpol.token)" >tokens.csv
    touch done
    umask 022
    cd "$HERE"
}
