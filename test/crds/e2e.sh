#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The CRDs on a real API server: test/crds/e2e.sh [part of a test's name]
#
# It uses the project's own test cluster and starts it if it is down. An ambient KUBECONFIG is
# ignored, lest a test run writes into somebody's cluster; E2E_KUBECONFIG=FILE asks for another one.
# KUBECTL names another kubectl. Objects live in a namespace of their own, which is removed at the
# end; most are dry runs, so that a controller in the cluster has nothing to do. The CRDs themselves
# are left installed; tests that have to see them created use copies under other names. Last line:
# N passed, N failed.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
readonly SELF=test/crds/e2e.sh
if [ -z "${E2E_KUBECONFIG:-}" ]; then
    dir=$(realpath -m "${CLUSTER_DIR:-build/cluster}")
    "$dir/run" true 2>/dev/null || make -s cluster-up || exit 1
    exec "$dir/run" env "E2E_KUBECONFIG=$dir/kubeconfig" "$SELF" "$@"
fi
export KUBECONFIG=$E2E_KUBECONFIG

readonly GROUPS_NEEDED='sandboxes.agents.x-k8s.io sandboxclaims.extensions.agents.x-k8s.io
    sandboxtemplates.extensions.agents.x-k8s.io sandboxwarmpools.extensions.agents.x-k8s.io'
readonly NS=crds-e2e-$$
readonly ESTABLISHED_WAIT=60s
readonly ANNOTATION_MAX=262144
readonly OBJECTS=test/golden/objects
TMP=$(mktemp -d)
readonly TMP
if [ -z "${KUBECTL:-}" ]; then
    KUBECTL=build/tools/bin/kubectl
    [ -x "$KUBECTL" ] || KUBECTL=kubectl
fi
passed=0 failed=0 why=

k() {
    "$KUBECTL" "$@"
}

kn() {
    "$KUBECTL" -n "$NS" "$@"
}

# Fails the running test with a reason; tests end with `|| return` where they need it.
no() {
    why="$*"
    return 1
}

same() {
    [ "$1" = "$2" ] || no "$3: got '$1', want '$2'"
}

# refused TEXT COMMAND...: the command fails and says TEXT.
refused() {
    local text=$1 out
    shift
    if out=$("$@" 2>&1); then
        no "accepted: $*"
        return
    fi
    [[ $out == *"$text"* ]] || no "refused with '$out', want '$text'"
}

# accepted COMMAND...: the command works; its output is in $out.
accepted() {
    out=$("$@" 2>&1) || no "$*: $out"
}

# dry [KUBECTL ARGS]: what the API server would store of standard input, as JSON; nothing is stored.
dry() {
    kn create --dry-run=server -o json -f - "$@"
}

try() {
    dry <<<"$1"
}

sandbox() { # [more of spec] [more of the container]
    cat <<YAML
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: {name: try}
spec:
  podTemplate: {spec: {containers: [{name: main, image: x${2:+, $2}}]}}
  ${1:-operatingMode: Suspended}
YAML
}

extension() { # KIND SPEC
    cat <<YAML
apiVersion: extensions.agents.x-k8s.io/v1beta1
kind: $1
metadata: {name: try}
spec: $2
YAML
}

template() { # SPEC
    extension SandboxTemplate "{podTemplate: {spec: {containers: [{name: a}]}}${1:+, $1}}"
}

# ---- acceptance -----------------------------------------------------------------------------

# created_by LETTER APPLY ARGS: creates copies of the CRDs with other names, waits, deletes them.
# The real ones cannot be deleted under a live controller. The deletion takes the API server a
# while, nobody waits for it; the letter keeps the copies of two tests apart. The sizes of the
# last-applied annotations are left in the caller's $annotations.
created_by() {
    local letter=$1 f rc path
    local file=$TMP/copies-$1.yaml
    shift
    for f in crds/*_*.yaml; do
        echo '---'
        sed -e "s/agents\.x-k8s\.io/box$letter.x-k8s.io/g" -e "s/sandbox/box$letter/g" \
            -e "s/Sandbox/Box$letter/g" -e "s/- swp\$/- bwp$letter/" "$f"
    done >"$file"
    k delete --ignore-not-found -f "$file" >"$TMP/log" 2>&1
    accepted k apply "$@" -f "$file" &&
        same "$(grep -cE 'created|serverside-applied' <<<"$out")" 4 'CRDs created' &&
        accepted k wait --for=condition=Established --timeout=$ESTABLISHED_WAIT -f "$file"
    rc=$?
    path='{.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}'
    annotations=$(k get -f "$file" -o "jsonpath={range .items[*]}$path{'\n'}{end}" |
        awk 'NF { print length($0) }')
    k delete --ignore-not-found --wait=false -f "$file" >"$TMP/log" 2>&1
    return $rc
}

test_created_by_client_side_apply() {
    local n annotations
    created_by a || return
    same "$(wc -w <<<"$annotations")" 4 'last-applied annotations' || return
    for n in $annotations; do
        [ "$n" -lt $ANNOTATION_MAX ] || no "annotation of $n bytes" || return
    done
}

test_created_by_server_side_apply() {
    local annotations
    created_by b --server-side && same "$annotations" '' 'last-applied annotations'
}

test_applied_both_ways_over_what_is_there() {
    accepted k apply -k crds &&
        accepted k apply --server-side -k crds &&
        accepted k apply -k crds && accepted k apply -k crds &&
        same "$(grep -c unchanged <<<"$out")" 4 'unchanged after a second apply'
}

test_established_structural_and_names_accepted() {
    local crd
    for crd in $GROUPS_NEEDED; do
        accepted k wait --for=condition=Established --timeout=$ESTABLISHED_WAIT "crd/$crd" ||
            return
        accepted k get crd "$crd" -o 'jsonpath={range .status.conditions[*]}{.type}={.status} {end}'
        [[ $out == *NamesAccepted=True* ]] || no "$crd: $out" || return
        [[ $out != *NonStructural* ]] || no "$crd: $out" || return
        accepted k get crd "$crd" -o 'jsonpath={.status.storedVersions}'
        same "$out" '["v1beta1"]' "$crd stored versions" || return
    done
}

# ---- schema ---------------------------------------------------------------------------------

test_sample_objects_pass_strict_validation() {
    accepted kn apply --dry-run=server --validate=strict -f $OBJECTS &&
        accepted kn apply --dry-run=server --validate=strict --server-side -f $OBJECTS
}

default_is() { # OBJECT JSONPATH WANT
    local got
    got=$(kn create --dry-run=server -o "jsonpath=$2" -f - <<<"$1" 2>"$TMP/err") ||
        no "$(cat "$TMP/err")" || return
    same "$got" "$3" "$2"
}

test_defaults_of_the_kinds() {
    local t
    default_is "$(sandbox 'service: true')" '{.spec.shutdownPolicy} {.spec.operatingMode}' \
        'Retain Running' || return
    t=$(template '')
    default_is "$t" '{.spec.networkPolicyManagement} {.spec.envVarsInjectionPolicy} {.spec.volumeClaimTemplatesPolicy}' \
        'Managed Disallowed Disallowed' || return
    default_is "$(extension SandboxWarmPool '{sandboxTemplateRef: {name: t}}')" \
        '{.spec.replicas}|{.spec.updateStrategy}' '1|' || return
    default_is "$(extension SandboxWarmPool '{sandboxTemplateRef: {name: t}, updateStrategy: {}}')" \
        '{.spec.updateStrategy.type}' OnReplenish || return
    default_is "$(extension SandboxClaim '{warmPoolRef: {name: p}}')" '{.spec.lifecycle}' '' || return
    default_is "$(extension SandboxClaim '{warmPoolRef: {name: p}, lifecycle: {}}')" \
        '{.spec.lifecycle.shutdownPolicy}' Retain
}

test_defaults_inside_the_pod_spec() {
    local c='{.spec.podTemplate.spec.containers[0]'
    default_is "$(sandbox '' 'ports: [{containerPort: 80}]')" "$c.ports[0].protocol}" TCP || return
    default_is "$(sandbox '' 'livenessProbe: {grpc: {port: 1}}')" \
        "$c.livenessProbe.grpc}" '{"port":1,"service":""}' || return
    default_is "$(sandbox '' 'envFrom: [{secretRef: {}}]')" "$c.envFrom[0].secretRef}" \
        '{"name":""}' || return
    default_is "$(sandbox '' 'imagePullPolicy: Always')" "$c}" \
        '{"image":"x","imagePullPolicy":"Always","name":"main"}'
}

test_network_policy_ports_get_no_default() {
    default_is "$(template 'networkPolicy: {ingress: [{ports: [{port: 80}]}]}')" \
        '{.spec.networkPolicy.ingress[0].ports[0]}' '{"port":80}'
}

test_unknown_fields_are_pruned() {
    local got
    got=$(sandbox 'colour: red' 'colour: red' | dry --validate=ignore) || no "$got" || return
    [[ $got != *colour* ]] || no 'an unknown field was kept' || return
    refused 'unknown field "spec.colour"' try "$(sandbox 'colour: red')"
}

test_every_pod_field_is_kept() {
    local kind
    for kind in Sandbox SandboxTemplate; do
        /usr/bin/python3 -B test/crds/filler.py make $kind >"$TMP/filled.json" || no "$kind" ||
            return
        kn create --dry-run=server --validate=strict -o json -f "$TMP/filled.json" \
            >"$TMP/stored.json" 2>"$TMP/err" || no "$(head -c 2000 "$TMP/err")" || return
        accepted /usr/bin/python3 -B test/crds/filler.py compare $kind <"$TMP/stored.json" || return
    done
}

test_quantities_keep_their_spelling() {
    default_is "$(sandbox '' 'resources: {limits: {cpu: 1, memory: 1024Mi}}')" \
        '{.spec.podTemplate.spec.containers[0].resources.limits}' '{"cpu":1,"memory":"1024Mi"}'
}

test_invalid_values_are_refused() {
    refused 'Unsupported value: "Sleeping"' try "$(sandbox 'operatingMode: Sleeping')" &&
        refused 'Unsupported value: "DeleteForeground"' \
            try "$(sandbox 'shutdownPolicy: DeleteForeground')" &&
        refused 'date-time' try "$(sandbox 'shutdownTime: tomorrow')" &&
        refused 'should match' try "$(sandbox '' 'resources: {limits: {cpu: lots}}')" &&
        refused 'spec.podTemplate.spec.containers' \
            try "$(extension SandboxTemplate '{podTemplate: {spec: {hostname: a}}}')" &&
        refused 'Unsupported value: "Never"' try "$(template 'networkPolicyManagement: Never')" &&
        refused 'Unsupported value: "Yes"' try "$(template 'envVarsInjectionPolicy: "Yes"')" &&
        refused 'Duplicate value' try "$(sandbox '' 'env: [{name: A}, {name: A}]')"
}

test_invalid_claims_and_pools_are_refused() {
    refused 'spec.warmPoolRef' try "$(extension SandboxClaim '{env: []}')" &&
        refused 'spec.warmPoolRef.name' try "$(extension SandboxClaim '{warmPoolRef: {}}')" &&
        refused 'greater than or equal to 0' try "$(extension SandboxClaim \
            '{warmPoolRef: {name: p}, lifecycle: {ttlSecondsAfterFinished: -1}}')" &&
        refused 'spec.env[0].value' try "$(extension SandboxClaim \
            '{warmPoolRef: {name: p}, env: [{name: A}]}')" &&
        refused 'greater than or equal to 0' try "$(extension SandboxWarmPool \
            '{replicas: -1, sandboxTemplateRef: {name: t}}')" &&
        refused 'Unsupported value: "Rolling"' try "$(extension SandboxWarmPool \
            '{sandboxTemplateRef: {name: t}, updateStrategy: {type: Rolling}}')"
}

# ---- stored objects -------------------------------------------------------------------------

vct() { # SIZE
    echo "volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: $1}}}}]"
}

named() { # NAME, object on standard input
    sed "s/name: try/name: $1/"
}

replace_dry() {
    kn replace --dry-run=server -f - <<<"$1"
}

test_volume_claim_templates_are_immutable() {
    local text=': volumeClaimTemplates is immutable' with without
    with=$(sandbox "$(vct 1Gi)" | named with)
    without=$(sandbox 'operatingMode: Suspended' | named without)
    accepted kn apply -f - <<<"$with" && accepted kn apply -f - <<<"$without" || return
    refused "$text" replace_dry "$(sandbox "$(vct 2Gi)" | named with)" &&
        refused "$text" replace_dry "$(sandbox 'service: true' | named with)" &&
        refused "$text" replace_dry "$(sandbox "$(vct 1Gi)" | named without)" &&
        refused "$text" replace_dry "$(sandbox 'volumeClaimTemplates: []' | named without)" &&
        accepted replace_dry "$(sandbox "$(vct 1Gi)" 'args: [changed]' | named with)" &&
        accepted replace_dry "$(sandbox 'service: true' | named without)"
}

test_template_volume_claim_templates_may_change() {
    accepted kn apply -f - <<<"$(template "$(vct 1Gi)")" &&
        accepted replace_dry "$(template "$(vct 2Gi)")" &&
        accepted replace_dry "$(template '')"
}

test_status_is_a_subresource() {
    local body got
    body=$(sandbox; echo 'status: {selector: smuggled}')
    default_is "$body" '{.status}' '' || return
    body=$(template ''; echo 'status: {selector: smuggled}')
    got=$(named smuggled <<<"$body" | dry --validate=ignore) || no "$got" || return
    [[ $got != *'"status"'* ]] || no 'a template kept a status'
}

condition() { # STATUS REASON
    echo "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"$1\",\"reason\":\"$2\",\"message\":\"m\",\"lastTransitionTime\":\"2036-01-02T03:04:05Z\",\"observedGeneration\":1}]}}"
}

patch_status() { # RESOURCE JSON [ARGS]
    local what=$1 json=$2
    shift 2
    kn patch "$what" --subresource=status --type=merge -p "$json" "$@"
}

test_conditions_are_checked() {
    accepted kn apply -f - <<<"$(sandbox | named conditions)" || return
    refused 'should be at least 1 chars long' \
        patch_status sandbox/conditions "$(condition True '')" &&
        refused 'Unsupported value: "Maybe"' \
            patch_status sandbox/conditions "$(condition Maybe Reason)" &&
        refused 'should match' patch_status sandbox/conditions "$(condition True 'two words')" &&
        accepted patch_status sandbox/conditions "$(condition True DependenciesReady)" --dry-run=server
}

# columns_are RESOURCE JSONPATH HEADER...: header and, apart from the age, the values. A controller
# may write between the two reads, so it looks again a few times.
columns_are() {
    local what=$1 path=$2 table want try
    shift 2
    for try in 1 2 3 4 5; do
        want=$(kn get "$what" -o "jsonpath=$path" | xargs)
        table=$(kn get "$what")
        same "$(head -1 <<<"$table" | xargs)" "NAME $* AGE" "$what header" || return
        table=$(tail -1 <<<"$table" | xargs)
        [ "${table% *}" = "$want" ] && return
        sleep 0.$try
    done
    no "$what: row '$table', want '$want' and the age"
}

test_printer_columns() {
    local ready='{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}'
    local reason='{.status.conditions[?(@.type=="Ready")].reason}'
    accepted kn apply -f - <<<"$(sandbox | named columns)" &&
        accepted kn apply -f - <<<"$(extension SandboxClaim '{warmPoolRef: {name: none}}' | named columns)" &&
        accepted kn apply -f - <<<"$(extension SandboxWarmPool \
            '{replicas: 0, sandboxTemplateRef: {name: none}}' | named columns)" || return
    accepted patch_status sandbox/columns "$(condition False Example)" &&
        accepted patch_status sandboxclaim/columns "$(condition False Example)" &&
        accepted patch_status sandboxclaim/columns '{"status":{"sandbox":{"name":"box"}}}' &&
        accepted patch_status swp/columns '{"status":{"readyReplicas":3}}' || return
    columns_are sandbox/columns "$ready $reason" READY REASON &&
        columns_are sandboxclaim/columns "$ready {.status.sandbox.name} $reason" \
            READY SANDBOX REASON &&
        columns_are swp/columns '{.metadata.name} {.status.readyReplicas} {.spec.replicas}' \
            READY DESIRED
}

# scale_is RESOURCE: its scale subresource repeats what the object says. Looks again a few times, as
# columns_are does.
scale_is() {
    local url=$1 path='{.spec.replicas} {.status.selector}' object scale try
    for try in 1 2 3 4 5; do
        object=$(kn get swp scaled -o "jsonpath=$path")
        scale=$(k get --raw "$url/scale")
        [[ $scale == *'"kind":"Scale"'*"\"spec\":{\"replicas\":${object% *}}"* ]] &&
            [[ $scale == *"\"selector\":\"${object#* }\""* ]] && [ "${object% *}" = 2 ] && return
        sleep 0.$try
    done
    no "scale is $scale, the object has $object"
}

test_pool_scales() {
    local api=/apis/extensions.agents.x-k8s.io/v1beta1
    accepted kn apply -f - <<<"$(extension SandboxWarmPool \
        '{replicas: 0, sandboxTemplateRef: {name: none}}' | named scaled)" &&
        accepted patch_status swp/scaled '{"status":{"replicas":0,"selector":"a=b"}}' &&
        accepted kn scale swp/scaled --replicas=2 &&
        scale_is "$api/namespaces/$NS/sandboxwarmpools/scaled" &&
        accepted k get --raw "$api" &&
        same "$(grep -o '"name":"[a-z]*/scale"' <<<"$out")" '"name":"sandboxwarmpools/scale"' \
            'what scales'
}

test_short_names() {
    local name
    for name in sandbox sandboxclaim sandboxtemplate swp; do
        accepted kn get "$name" || return
    done
    accepted k api-resources --api-group=extensions.agents.x-k8s.io --no-headers || return
    same "$(awk '{ print $1, $2, $3, $4, $5 }' <<<"$out" | sort | xargs)" \
        "$(echo sandboxclaims sandboxclaim extensions.agents.x-k8s.io/v1beta1 true SandboxClaim \
            sandboxtemplates sandboxtemplate extensions.agents.x-k8s.io/v1beta1 true SandboxTemplate \
            sandboxwarmpools swp extensions.agents.x-k8s.io/v1beta1 true SandboxWarmPool)" \
        'resources of the extensions group'
}

# Two managers own different entries of one list: list types work as in a core Pod.
test_server_side_apply_merges_lists_by_key() {
    local manager
    for manager in a b; do
        accepted kn apply --server-side --field-manager=$manager -f - <<<"$(sandbox \
            'operatingMode: Suspended' "env: [{name: $manager, value: v}], ports: [{containerPort: 8$(printf %d "'$manager")}]" |
            named merged)" || return
    done
    accepted kn get sandbox merged -o \
        'jsonpath={.spec.podTemplate.spec.containers[*].env[*].name} {.spec.podTemplate.spec.containers[*].ports[*].protocol}'
    same "$out" 'a b TCP TCP' 'names of env and protocols of ports'
}

# ---- run ------------------------------------------------------------------------------------

finish() {
    k delete namespace "$NS" --ignore-not-found --wait=false >"$TMP/log" 2>&1
    rm -rf "$TMP"
}

main() {
    local name
    trap finish EXIT
    if ! k version >"$TMP/log" 2>&1 || ! k create namespace "$NS" >>"$TMP/log" 2>&1; then
        cat "$TMP/log"
        echo '0 passed, 1 failed'
        return 1
    fi
    for name in $(sed -n 's/^\(test_[a-z_]*\)() {$/\1/p' $SELF); do
        [[ $name == *"${1:-}"* ]] || continue
        why='no reason given'
        if "$name"; then
            passed=$((passed + 1))
            echo "ok   $name"
        else
            failed=$((failed + 1))
            echo "FAIL $name: $why"
        fi
    done
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

main "$@"
