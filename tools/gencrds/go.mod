// Pins the Kubernetes release whose published OpenAPI files the CRDs embed. go.sum holds the
// checksum. Nothing is compiled here: tools/gen-crds only reads api/openapi-spec/v3 of the module.
module cofferdam.dev/tools/gencrds

go 1.24.0

require k8s.io/kubernetes v1.37.2
