package k8sassigner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
)

// Names of labels and annotations.
const (
	labelNamespace   = "uidring.github.io/namespace"
	labelBlock       = "uidring.github.io/block" // of rows; metaBlock for meta rows
	labelManager     = "app.kubernetes.io/managed-by"
	annotationRecord = "uidring.github.io/record"

	metaBlock = "meta"
	hashed    = "x--" // before the hash of a namespace
	// anchor is the name of the Lease object whose UID identifies the cluster.
	anchor = "uidring"
)

// A lease is a Lease object of coordination.k8s.io/v1.
type lease struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// A spec repeats a row for kubectl and dashboards. This package reads the annotation only.
type spec struct {
	HolderIdentity       string `json:"holderIdentity,omitempty"`
	LeaseDurationSeconds int32  `json:"leaseDurationSeconds,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"`
	LeaseTransitions     int32  `json:"leaseTransitions,omitempty"`
}

// newLease returns the object for a key and a value of package kvassigner. revision is "" or a
// result of Get.
func (c *store) newLease(key string, value []byte, revision string, now time.Time) lease {
	l := lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: c.metadata(key)}
	l.Metadata.UID, l.Metadata.ResourceVersion, _ = strings.Cut(revision, "/")
	l.Metadata.Annotations = map[string]string{annotationRecord: string(value)}
	if strings.HasPrefix(key, "worker/") {
		row, _ := kvassigner.Row(value)
		l.Spec.LeaseTransitions = int32(min(max(row.Version-1, 0), math.MaxInt32))
		if left := row.Expires.Sub(now); !row.Free() && left > 0 {
			l.Spec.HolderIdentity = row.Owner
			l.Spec.LeaseDurationSeconds = int32(min(math.Ceil(left.Seconds()), math.MaxInt32))
			l.Spec.RenewTime = now.UTC().Format("2006-01-02T15:04:05.000000Z") // six decimals, as the API server expects
		}
	}
	return l
}

// split returns the values of the labels and the end of the name for a key or a prefix of package
// kvassigner.
func split(key string) (namespace, block, end string) {
	folder, name, _ := strings.Cut(key, "/")
	if folder == "meta" {
		return labelValue(name), metaBlock, metaBlock
	}
	namespace, name, _ = strings.Cut(name, "/")
	block, row, _ := strings.Cut(name, "/")
	return labelValue(namespace), decimal(block), decimal(block + row)
}

// metadata returns the name and the labels for a key: uidring-orders-meta for meta/orders, and
// uidring-orders-4007 for worker/orders/0000000000000004/007.
func (c *store) metadata(key string) metadata {
	namespace, block, end := split(key)
	return metadata{
		Name:      fmt.Sprintf("uidring-%s-%s", namespace, end),
		Namespace: c.Namespace,
		Labels:    map[string]string{labelManager: "uidring", labelNamespace: namespace, labelBlock: block},
	}
}

// selector returns the labels of the objects under a prefix of keys.
func selector(prefix string) string {
	switch namespace, block, _ := split(prefix); block {
	case metaBlock:
		return labelBlock + "=" + metaBlock
	case "":
		return labelNamespace + "=" + namespace + "," + labelBlock + "!=" + metaBlock
	default:
		return labelNamespace + "=" + namespace + "," + labelBlock + "=" + block
	}
}

// plain is the form of a namespace of worker IDs that can be part of names and labels of objects.
var plain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// labelValue returns a namespace of worker IDs, or a hash if the name does not fit or looks like a
// hash.
func labelValue(namespace string) string {
	if plain.MatchString(namespace) && len(namespace) <= 63 && !strings.HasPrefix(namespace, hashed) {
		return namespace
	}
	sum := sha256.Sum256([]byte(namespace))
	return hashed + hex.EncodeToString(sum[:16])
}

// decimal removes leading zeros.
func decimal(digits string) string {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return digits
}

// revision holds the UID as well: an update of a deleted object would otherwise create it again.
func (m metadata) revision() string { return m.UID + "/" + m.ResourceVersion }
