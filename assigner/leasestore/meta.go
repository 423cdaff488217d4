package leasestore

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A Meta describes a namespace. All its holders compose IDs in the same way. A store keeps numbers
// from 0 to the largest int64, an Epoch in whole milliseconds, and the texts that a Row may have;
// Namespace is like a Token.
//
// The names in JSON never change: files, keys and remote leases have them.
type Meta struct {
	Version       int64            `json:"version"`   // counts swaps, from 1
	Namespace     string           `json:"namespace"` // random; another value shows that the namespace was created again
	Layout        bitsalloc.Layout `json:"layout"`
	Epoch         time.Time        `json:"epoch"`
	DatacenterID  int64            `json:"datacenterID"`
	FirstWorkerID int64            `json:"firstWorkerID"`   // smallest worker ID of the namespace, see LeaseConfig.FirstWorkerID
	NextWorkerID  int64            `json:"nextWorkerID"`    // smallest worker ID that was never given out
	Fence         int64            `json:"fence"`           // lower bound for the fence of every row, also of rows not created yet
	Horizon       int64            `json:"horizon"`         // claims begin above this delta, see Horizon
	Quarantine    int64            `json:"quarantine"`      // highest delta that servers before Identity may have granted and forgotten
	Token         string           `json:"token"`           // random, new at each swap
	Identity      string           `json:"identity"`        // of the server at the last claim
	Extra         string           `json:"extra,omitempty"` // of a later release, see Row
}

// Same reports whether m and other have the same version and token. A swap from m then succeeds on
// other.
func (m Meta) Same(other Meta) bool { return m.Version == other.Version && m.Token == other.Token }
