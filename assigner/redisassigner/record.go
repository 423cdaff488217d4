package redisassigner

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner"
)

// format is the version of the records that this code knows.
const format = 1

// A stamp begins each record.
type stamp struct {
	Written int64  `json:",omitempty"` // by the server's clock, in microseconds since 1970; set by the script
	Format  int    // see format
	Swap    string // random, of the call that wrote the record
}

func newStamp() stamp { return stamp{Format: format, Swap: rand.Text()} }

// A guard holds the values that a swap compares. Its numbers are text, because numbers in Lua are
// floating-point numbers with 53 exact bits.
type (
	rowGuard struct {
		Version int64 `json:",string"`
		Fence   int64 `json:",string"`
		Token   string
	}
	metaGuard struct {
		Version int64 `json:",string"`
		Token   string
	}
)

type rowRecord struct {
	stamp
	rowGuard
	Owner    string
	Holder   string
	Identity string
	TTL      int64 // from Written, in microseconds
}

type metaRecord struct {
	stamp
	Version int64 `json:",string"` // shadows Meta.Version
	assigner.Meta
}

func (l *leases) row(field, text string) (assigner.Row, error) {
	var r rowRecord
	workerID, err := strconv.ParseInt(field, 10, 64)
	if err == nil {
		err = json.Unmarshal([]byte(text), &r)
	}
	if err := known(l.key, field, r.stamp, err); err != nil {
		return assigner.Row{}, err
	}
	return assigner.Row{
		WorkerID: workerID,
		Version:  r.Version,
		Fence:    r.Fence,
		Token:    r.Token,
		Owner:    r.Owner,
		Holder:   r.Holder,
		Identity: r.Identity,
		Expires:  time.UnixMicro(r.Written).Add(time.Duration(r.TTL) * time.Microsecond).UTC(),
	}, nil
}

// decodeMeta reads the meta row of a hash.
func decodeMeta(key, text string) (assigner.Meta, error) {
	var r metaRecord
	err := json.Unmarshal([]byte(text), &r)
	if err := known(key, metaField, r.stamp, err); err != nil {
		return assigner.Meta{}, err
	}
	r.Meta.Version = r.Version
	return r.Meta, nil
}

// known returns an error for a record of another program or in another format.
func known(key, field string, s stamp, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("redisassigner: hash %s: field %q was not written by this package: %w", key, field, err)
	case s.Format != format:
		return fmt.Errorf("%w: hash %s: field %q has format %d, here %d; use a release of this library that knows it",
			assigner.ErrLayoutMismatch, key, field, s.Format, format)
	}
	return nil
}

// checkTexts rejects texts that are not UTF-8, since JSON would change them.
func (l *leases) checkTexts(field string, texts []string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return fmt.Errorf("redisassigner: hash %s: field %s: text %q, allowed: UTF-8", l.key, field, text)
		}
	}
	return nil
}
