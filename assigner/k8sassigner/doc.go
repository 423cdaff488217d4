// Package k8sassigner keeps the leases of worker IDs in Lease objects of Kubernetes
// (coordination.k8s.io/v1). Pods get worker IDs without a database and without an operator.
//
//	cluster, err := k8sassigner.InCluster()
//	…
//	numbers := assigner.Leased(k8sassigner.LeaseStore(cluster, "orders", k8sassigner.Config{}), assigner.LeaseConfig{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: numbers})
//
// The service account of the pods needs get, list, create and update on leases in its Kubernetes
// namespace. docs/kubernetes in the repository has manifests.
//
// The API server acknowledges a write when a majority of etcd has it on disk, and replaces an
// object only if the resourceVersion in the request is still the present one. The package reads
// without a resourceVersion: the API server then shows every acknowledged write, and does not
// answer from an old cache. Grants are therefore [assigner.GuaranteeFenced]: wrong clocks, pauses
// and crashes cannot cause duplicate IDs.
//
// # Objects
//
// All objects have the label app.kubernetes.io/managed-by=uidring:
//
//   - uidring-orders-7 is the row of worker 7 of the namespace orders. For kubectl get leases, it
//     shows the owner as holderIdentity while the worker ID is held, the expiry as renewTime and
//     leaseDurationSeconds, and the number of claims after the first as leaseTransitions.
//   - uidring-orders-meta is the meta row of the namespace. A hash takes the place of a name that
//     cannot be part of names and labels, such as one with capital letters.
//   - uidring identifies the cluster by its UID. All namespaces share it.
//
// The annotation uidring.github.io/record holds the row itself. The package reads the annotation,
// the labels and the resourceVersion; changing a spec by hand changes nothing. Never delete an
// object, and never delete the Kubernetes namespace: fences are lost with it.
//
// # Limits
//
//   - The clock of the store is the Date header of the API server, in whole seconds. A proxy must
//     pass it on, or have the right time.
//   - A renewal, every 45 s by default, takes four requests. Each write is a revision of an object
//     of about 1.3 kB in the etcd of the cluster, which the API server compacts.
//   - The API server filters lists: it reads all Lease objects of the Kubernetes namespace. Use a
//     Kubernetes namespace without other Lease objects for thousands of workers. Recover, which
//     lists all rows at once, fails with more than about 200,000.
//   - Processes that start at once compete for new worker IDs: a hundred first processes of a
//     namespace took 48 s on two cores together with their API server and etcd.
//
// # Restore
//
// A tool that saves and restores objects through the API, or moves them to another cluster, creates
// them anew. The object uidring then has another UID, and claims are quarantined, see
// [assigner.ErrQuarantined]. A snapshot of etcd keeps all UIDs: claims cannot detect that it was
// restored. Call [leasestore.Recover] after a restore of etcd, before any process starts.
//
// Experimental: this package may still change. See docs/STABILITY.md.
package k8sassigner
