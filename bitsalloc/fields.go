package bitsalloc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Fields is a parsed ID. [Allocator.Parse] returns it.
type Fields struct {
	ID           int64     // the argument of Parse
	Delta        int64     // units since the epoch
	DatacenterID int64     // 0 when the layout has no such field
	WorkerID     int64     // 0 when the layout has no such field
	Sequence     int64     // number of the ID within its worker ID and unit
	Time         time.Time // when Delta begins, in UTC
}

// String returns a text for people: "3200169789968523265 (2019-05-02T15:26:39Z, datacenter 0,
// worker 21, sequence 1)".
func (f Fields) String() string {
	return fmt.Sprintf("%d (%s, datacenter %d, worker %d, sequence %d)",
		f.ID, f.Time.Format(time.RFC3339Nano), f.DatacenterID, f.WorkerID, f.Sequence)
}

// MarshalJSON returns an object with the keys that Baidu's UidGenerator uses for parsed IDs, and
// datacenterId. All values are strings. The timestamp is RFC 3339 with its zone.
func (f Fields) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		UID          string `json:"UID"`
		Timestamp    string `json:"timestamp"`
		DatacenterID string `json:"datacenterId"`
		WorkerID     string `json:"workerId"`
		Sequence     string `json:"sequence"`
	}{
		UID:          strconv.FormatInt(f.ID, 10),
		Timestamp:    f.Time.Format(time.RFC3339Nano),
		DatacenterID: strconv.FormatInt(f.DatacenterID, 10),
		WorkerID:     strconv.FormatInt(f.WorkerID, 10),
		Sequence:     strconv.FormatInt(f.Sequence, 10),
	})
}
