package fileassigner

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// stateFormat rises when a reader that does not know a change would do harm. A reader ignores
// fields that it does not know, and the next write drops them.
const stateFormat = 1

// A fileState is the whole state of a LeaseStore and a SegmentSource.
type fileState struct {
	Reader int                      `json:"reader"` // the lowest format that a reader must know
	ID     string                   `json:"id"`     // random, and different for each store
	Seen   time.Time                `json:"seen"`   // of the last write, by the clock of the host that wrote
	Meta   leasestore.Meta          `json:"meta"`
	Rows   map[int64]leasestore.Row `json:"rows"`
	// Counters maps the counters of package segment to their next IDs.
	Counters map[string]int64 `json:"counters,omitempty"`
}

// blank reports whether no process has created a namespace, a row or a counter yet.
func (s *fileState) blank() bool {
	return s.Meta.Version == 0 && len(s.Rows) == 0 && len(s.Counters) == 0
}

// frame wraps body in a JSON object with its checksum.
func frame(body []byte) []byte {
	return fmt.Appendf(nil, frameStart+"%s"+frameEnd, sha256.Sum256(body), body)
}

const (
	frameStart = `{"sha256":"%x","state":`
	frameEnd   = "}\n"
)

// decodeState reads a state that folder.write has written, also of a later release.
func decodeState(raw []byte) (*fileState, error) {
	body := raw[min(len(frame(nil))-len(frameEnd), len(raw)):]
	body = bytes.TrimSuffix(body, []byte(frameEnd))
	if !bytes.Equal(frame(body), raw) {
		return nil, fmt.Errorf("%w: %s, %d bytes: the checksum is wrong: the file is incomplete, or was edited",
			leasestore.ErrDamaged, stateName, len(raw))
	}
	s := new(fileState)
	err := json.Unmarshal(body, s)
	if s.Reader > stateFormat {
		err = fmt.Errorf("it needs a reader of format %d, here %d; use a later version", s.Reader, stateFormat)
	} else if err == nil && (s.Reader < 1 || s.ID == "" || s.Rows == nil) {
		err = errors.New("not the state of a LeaseStore or SegmentSource")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", leasestore.ErrDamaged, stateName, err)
	}
	return s, nil
}
