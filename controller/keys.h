/* SPDX-License-Identifier: Apache-2.0 */
/* controller/keys.h
 *
 * Every label, annotation, kind and API group that objects of the control plane are known by.
 * They are shared with the SDKs, the router and users' own selectors, so they never change.
 * String literals, to be concatenated and to be used where a constant expression is needed.
 */
#pragma once

/* API groups */
#define API_GROUP_CORE "agents.x-k8s.io"
#define API_GROUP_EXTENSIONS "extensions.agents.x-k8s.io"
#define API_VERSION_CORE API_GROUP_CORE "/v1beta1"
#define API_VERSION_EXTENSIONS API_GROUP_EXTENSIONS "/v1beta1"

/* Kinds */
#define KIND_SANDBOX "Sandbox"
#define KIND_SANDBOX_CLAIM "SandboxClaim"
#define KIND_SANDBOX_TEMPLATE "SandboxTemplate"
#define KIND_SANDBOX_WARM_POOL "SandboxWarmPool"

/* A podTemplate key with one of these prefixes is the system's and is ignored. */
#define KEY_PREFIX_CORE API_GROUP_CORE "/"
#define KEY_PREFIX_EXTENSIONS API_GROUP_EXTENSIONS "/"

/* Labels */
#define LABEL_SANDBOX_NAME_HASH KEY_PREFIX_CORE "sandbox-name-hash"
#define LABEL_WARM_POOL_SANDBOX KEY_PREFIX_CORE "warm-pool-sandbox"
#define LABEL_TEMPLATE_REF_HASH KEY_PREFIX_CORE "sandbox-template-ref-hash"
#define LABEL_TEMPLATE_HASH KEY_PREFIX_CORE "sandbox-template-hash"
#define LABEL_POD_TEMPLATE_HASH KEY_PREFIX_CORE "sandbox-pod-template-hash"
#define LABEL_LAUNCH_TYPE KEY_PREFIX_CORE "launch-type"
#define LABEL_CREATED_BY KEY_PREFIX_CORE "created-by"
#define LABEL_CLAIM_UID KEY_PREFIX_CORE "claim-uid"
#define LABEL_ADOPTABLE KEY_PREFIX_CORE "adoptable"
#define LABEL_SANDBOX_NAME KEY_PREFIX_CORE "sandbox-name" /* legacy, on claims only */

#define LAUNCH_TYPE_WARM "warm"
#define LAUNCH_TYPE_COLD "cold"
#define CREATED_BY_CONTROLLER "controller"
#define CREATED_BY_GO_CLIENT "go-client"
#define CREATED_BY_PYTHON_CLIENT "python-client"
#define CREATED_BY_UNKNOWN "unknown"

/* Annotations */
#define ANNOTATION_POD_NAME KEY_PREFIX_CORE "pod-name"
#define ANNOTATION_TEMPLATE_REF KEY_PREFIX_CORE "sandbox-template-ref"
#define ANNOTATION_SANDBOX_NAME KEY_PREFIX_CORE "sandbox-name" /* assignment, on claims */
#define ANNOTATION_PROPAGATED_LABELS KEY_PREFIX_CORE "propagated-labels"
#define ANNOTATION_PROPAGATED_ANNOTATIONS KEY_PREFIX_CORE "propagated-annotations"
#define ANNOTATION_CLIENT_FIRST_REQUESTED KEY_PREFIX_CORE "client-first-requested-at"
#define ANNOTATION_WEBHOOK_FIRST_OBSERVED KEY_PREFIX_CORE "webhook-first-observed-at"
#define ANNOTATION_CONTROLLER_FIRST_OBSERVED KEY_PREFIX_CORE "controller-first-observed-at"
#define ANNOTATION_CLAIM_FIRST_READY KEY_PREFIX_CORE "claim-first-ready-at"
#define ANNOTATION_TRACE_CONTEXT "opentelemetry.io/trace-context"
#define ANNOTATION_SAFE_TO_EVICT "cluster-autoscaler.kubernetes.io/safe-to-evict"

/* Own annotations: "true" on a claim restores a new binding when its Sandbox is gone. */
#define ANNOTATION_REBIND "cofferdam.dev/rebind"
