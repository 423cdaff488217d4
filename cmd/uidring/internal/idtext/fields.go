package idtext

import (
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
)

// Fields are an ID in all its text forms and the fields of its layout, in the form for JSON.
type Fields struct {
	ID         uidring.ID `json:"id"`
	Base32     string     `json:"base32"`
	Base62     string     `json:"base62"`
	Delta      int64      `json:"delta"`
	Datacenter int64      `json:"datacenter"`
	Worker     int64      `json:"worker"`
	Sequence   int64      `json:"sequence"`
	Time       time.Time  `json:"time"`
}

// Of returns the Fields of a parsed ID.
func Of(f bitsalloc.Fields) Fields {
	id := uidring.ID(f.ID)
	return Fields{
		ID: id, Base32: id.Base32(), Base62: id.Base62(),
		Delta: f.Delta, Datacenter: f.DatacenterID, Worker: f.WorkerID, Sequence: f.Sequence, Time: f.Time,
	}
}
