package remoteassigner

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner"
)

// pathPrefix is followed by a namespace and the name of a method.
const pathPrefix = "/v1/leases/"

// Names of methods in paths.
const (
	methodStatus     = "status"
	methodLoadMeta   = "load-meta"
	methodSwapMeta   = "swap-meta"
	methodLoad       = "load"
	methodList       = "list"
	methodExpired    = "expired"
	methodSwap       = "swap"
	methodCreateFree = "create-free"
	methodNamespaces = "namespaces"
)

// A question has the arguments of a method, each under the name of its kind.
type question struct {
	WorkerID int64          `json:"workerID,omitempty"`
	N        int            `json:"n,omitempty"`
	Old      *assigner.Row  `json:"old,omitempty"`
	Next     *assigner.Row  `json:"next,omitempty"`
	OldMeta  *assigner.Meta `json:"oldMeta,omitempty"`
	NextMeta *assigner.Meta `json:"nextMeta,omitempty"`
	Rows     []assigner.Row `json:"rows,omitempty"`
	TTL      time.Duration  `json:"ttl,omitempty"` // nanoseconds
}

// An answer has a result, an error, or both. An object with neither is not an answer of the
// server: a missing result must not count as false, as an empty row or as an empty list.
type answer[T any] struct {
	Result *T       `json:"result,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

// A failure is an error of the server's store.
type failure struct {
	Text    string `json:"text"`
	Overlap bool   `json:"overlap,omitempty"` // it is assigner.ErrWorkerOverlap
}

func newFailure(err error) *failure {
	if err == nil {
		return nil
	}
	return &failure{Text: err.Error(), Overlap: errors.Is(err, assigner.ErrWorkerOverlap)}
}

func (f *failure) Error() string { return f.Text }

func (f *failure) Is(target error) bool { return f.Overlap && target == assigner.ErrWorkerOverlap }

// checkTexts rejects texts that are not UTF-8, since JSON would change them.
func checkTexts(texts ...string) error {
	var errs []error
	for _, text := range texts {
		if !utf8.ValidString(text) {
			errs = append(errs, fmt.Errorf("remoteassigner: text %q, allowed: UTF-8", text))
		}
	}
	return errors.Join(errs...)
}

func checkRow(r assigner.Row) error { return checkTexts(r.Token, r.Owner, r.Holder, r.Identity) }

func checkMeta(m assigner.Meta) error { return checkTexts(m.Namespace, m.Token, m.Identity) }

// errIncomplete is the error for a swap without both rows.
var errIncomplete = errors.New("remoteassigner: a swap lacks a row, allowed: old and next")
