package remoteassigner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner/leasestore"
)

// pathPrefix is followed by a namespace and the name of a method.
const pathPrefix = "/v1/leases/"

// mostBytes bounds a request and an answer. A row takes about 250 bytes.
const mostBytes = 1 << 20

// A question has the arguments of a method, each under the name of its kind.
type question struct {
	Nonce    string           `json:"nonce,omitempty"` // random, new for each call
	WorkerID int64            `json:"workerID,omitempty"`
	N        int              `json:"n,omitempty"`
	Old      *leasestore.Row  `json:"old,omitempty"`
	Next     *leasestore.Row  `json:"next,omitempty"`
	Rows     []leasestore.Row `json:"rows,omitempty"`
	OldMeta  *leasestore.Meta `json:"oldMeta,omitempty"`
	NextMeta *leasestore.Meta `json:"nextMeta,omitempty"`
	TTL      time.Duration    `json:"ttl,omitempty"` // nanoseconds
}

// An answer has a result, an error, or both. An object with neither is not an answer of the
// server: a missing result must not count as false, as an empty row or as an empty list.
type answer[T any] struct {
	Nonce  string   `json:"nonce,omitempty"` // of the question
	Result *T       `json:"result,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

// A failure is an error of the server's store.
type failure struct {
	Text    string `json:"text"`
	Overlap bool   `json:"overlap,omitempty"` // it is leasestore.ErrOverlap
	Passes  bool   `json:"passes,omitempty"`  // a later call may succeed
}

func (f *failure) Error() string { return f.Text }

func (f *failure) Is(target error) bool { return f.Overlap && target == leasestore.ErrOverlap }

// unfit reports whether some store could not keep a row.
func unfit(r leasestore.Row) bool {
	return min(r.WorkerID, r.Version, r.Fence, r.Oldest, r.Former) < 0 ||
		len(r.Token) > 64 || strings.ContainsFunc(r.Token, func(c rune) bool { return c <= ' ' || c > '~' }) ||
		max(utf8.RuneCountInString(r.Owner), utf8.RuneCountInString(r.Holder)) > 255 || strings.Contains(r.Owner+r.Holder+r.Identity, "\x00")
}

// check returns the client's mistake in the arguments of a method, or nil.
func (q question) check(method string) error {
	switch {
	case method == "swap" && (q.Old == nil || q.Next == nil):
		return errors.New("old or next is missing, allowed: both")
	case method == "swap-meta" && (q.OldMeta == nil || q.NextMeta == nil):
		return errors.New("oldMeta or nextMeta is missing, allowed: both")
	case q.Next != nil && unfit(*q.Next) || slices.ContainsFunc(q.Rows, unfit):
		return errors.New("a row cannot be stored, allowed: numbers of 0 or more, a token of up to 64 printable ASCII characters without spaces, " +
			"an owner and a holder of up to 255 characters, and no NUL")
	case q.WorkerID < 0 || q.N < 0:
		return fmt.Errorf("workerID %d, n %d, allowed: 0 or more each", q.WorkerID, q.N)
	}
	return nil
}
