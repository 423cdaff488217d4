package bitsalloc

import (
	"fmt"
	"time"
)

// Fields is a parsed ID. [Allocator.Parse] returns it. Its JSON has the keys that Baidu's
// UidGenerator uses for parsed IDs, delta and datacenterId. All values are strings. The timestamp
// is RFC 3339 with its zone.
type Fields struct {
	ID           int64     `json:"UID,string"`          // the argument of Parse
	Time         time.Time `json:"timestamp"`           // when Delta begins, in UTC
	Delta        int64     `json:"delta,string"`        // units since the epoch
	DatacenterID int64     `json:"datacenterId,string"` // 0 when the layout has no such field
	WorkerID     int64     `json:"workerId,string"`     // 0 when the layout has no such field
	Sequence     int64     `json:"sequence,string"`     // number of the ID within its worker ID and unit
}

// String returns a text for people: "3200169789968523265 (2019-05-02T15:26:39Z, datacenter 0,
// worker 21, sequence 1)".
func (f Fields) String() string {
	return fmt.Sprintf("%d (%s, datacenter %d, worker %d, sequence %d)",
		f.ID, f.Time.Format(time.RFC3339Nano), f.DatacenterID, f.WorkerID, f.Sequence)
}
