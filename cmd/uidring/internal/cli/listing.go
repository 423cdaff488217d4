package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

// A listing is a namespace with its worker IDs at the time when it was read, as JSON.
type listing struct {
	Store string `json:"store"`
	space
	Guarantee  string    `json:"guarantee"`
	Faults     []string  `json:"faults"`
	Recovering bool      `json:"recovering,omitempty"` // a recovery is not finished: no worker ID is assigned
	Quarantine time.Time `json:"quarantine,omitzero"`  // ahead of Now and of a recovery: forgotten worker IDs begin above it
	Overlap    string    `json:"overlap,omitempty"`    // why the store assigns no worker IDs of the namespace
	Server     string    `json:"server"`
	Now        time.Time `json:"now"`
	Workers    []worker  `json:"workers"` // by worker ID

	store *storeurl.Store
	alloc *bitsalloc.Allocator
}

// A worker is a row as JSON.
type worker struct {
	Worker    int64     `json:"worker"`
	State     string    `json:"state"` // held, expired, revoked or free
	Owner     string    `json:"owner"`
	Fence     int64     `json:"fence"`
	FenceTime time.Time `json:"fenceTime"`
	Oldest    int64     `json:"oldest"` // the oldest delta that the holder could still use at its last renewal
	Largest   string    `json:"largestId"`
	Expires   time.Time `json:"expires"`
	Claims    int64     `json:"claims"` // the version of the row
	Server    string    `json:"server"`
}

// read opens the store and reads all rows before it calls do. The timeout applies to the reading,
// so an answer on the terminal may take any time.
func (f *storeFlags) read(ctx context.Context, do func(*listing) error) error {
	st, err := f.open()
	if err != nil {
		return err
	}
	defer st.Close()
	var seen *listing
	err = f.within(ctx, func(ctx context.Context) (err error) {
		seen, err = f.look(ctx, st)
		return err
	})
	if err != nil {
		return err
	}
	return do(seen)
}

func (f *storeFlags) look(ctx context.Context, st *storeurl.Store) (*listing, error) {
	status, err := st.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", st, err)
	}
	l := &listing{store: st, Store: st.String(), Guarantee: assigner.GuaranteeFenced.String(), Faults: append([]string{}, status.Faults...),
		Server: status.Identity, Now: status.Now.UTC(), Workers: []worker{}}
	if status.Lossy || len(status.Faults) > 0 {
		l.Guarantee = assigner.GuaranteeLossy.String()
	}
	meta, err := st.LoadMeta(ctx)
	if errors.Is(err, leasestore.ErrOverlap) {
		l.Overlap, err = settingNames.Replace(err.Error()), nil
	}
	if err == nil && meta.Version == 0 {
		err = fmt.Errorf("namespace %q of %s has no worker IDs yet; uidring workers namespaces lists all namespaces", f.namespace, st)
	}
	if err != nil {
		return nil, err
	}
	l.Recovering = meta.Recovering()
	if l.space, l.alloc, err = newSpace(f.namespace, meta); err != nil {
		return nil, err
	}
	if bound := l.alloc.Time(meta.Quarantine); bound.After(l.Now) && meta.Quarantine > meta.Fence {
		l.Quarantine = bound
	}
	rows, err := st.List(ctx)
	for _, r := range rows {
		l.Workers = append(l.Workers, l.worker(r))
	}
	slices.SortFunc(l.Workers, func(a, b worker) int { return cmp.Compare(a.Worker, b.Worker) })
	return l, err
}

func (l *listing) worker(r leasestore.Row) worker {
	state := "held"
	switch {
	case r.Free():
		state = "free"
	case !r.Expires.After(l.Now):
		state = "expired"
	case r.Revoked():
		state = "revoked"
	}
	largest := "-" // of a row of another layout, or in quarantine and never granted
	if id, err := l.alloc.Allocate(r.Fence, l.Datacenter, r.WorkerID, l.alloc.MaxSequence()); err == nil && r.Fence > 0 {
		largest = strconv.FormatInt(id, 10)
	}
	return worker{r.WorkerID, state, r.Owner, r.Fence, l.alloc.Time(r.Fence), r.Oldest, largest, r.Expires.UTC(), r.Version, r.Identity}
}

// ahead formats how far an instant is ahead of the store's clock; an earlier one has a minus sign.
func (l *listing) ahead(t time.Time) string { return t.Sub(l.Now).Round(time.Second).String() }

// lease formats the rest of a lease.
func (l *listing) lease(w worker) string {
	switch w.State {
	case "free":
		return "-"
	case "expired":
		return "expired " + l.Now.Sub(w.Expires).Round(time.Second).String() + " ago"
	}
	return l.ahead(w.Expires) + " left"
}

// unused returns the number of rows at the start of a list that no process has claimed. Their
// worker IDs are consecutive, and their fences equal.
func unused(rows []worker) (n int) {
	for n < len(rows) && rows[n].State == "free" && rows[n].Owner == "" && rows[n].Fence == rows[0].Fence && rows[n].Worker == rows[0].Worker+int64(n) {
		n++
	}
	return n
}

// print prints the store, the namespace and its faults, and all rows. Rows that were never used
// share a line.
func (l *listing) print(w io.Writer) {
	fmt.Fprintf(w, "STORE\t%s\n", l.Store)
	fmt.Fprintf(w, "NAMESPACE\t%s\n", l.Namespace)
	fmt.Fprintf(w, "LAYOUT\t%s since %s, datacenter %d, until %s\n", l.Layout, rfc3339(l.Epoch), l.Datacenter, l.alloc.Expires().Format(time.DateOnly))
	most := l.alloc.MaxWorkerID()
	used := int64(0)
	for _, r := range l.Workers {
		if r.Owner != "" { // a claim leaves an owner
			used++
		}
	}
	fmt.Fprintf(w, "WORKERS\t%d to %d: %d were used, %d never\n", l.First, most, used, most+1-l.First-used)
	fmt.Fprintf(w, "GUARANTEE\t%s\n", l.Guarantee)
	for _, fault := range l.Faults {
		fmt.Fprintf(w, "FAULT\t%s\n", fault)
	}
	if l.Recovering {
		fmt.Fprintln(w, "RECOVERY\tnot finished: no process gets a worker ID until uidring workers recover has run to its end")
	}
	if !l.Quarantine.IsZero() {
		fmt.Fprintf(w, "QUARANTINE\tworker IDs that the store may have forgotten begin above %s, %s ahead: starts wait until that is MaxLead (5 min) ahead\n",
			l.Quarantine.Format(time.RFC3339), l.ahead(l.Quarantine))
	}
	if l.Overlap != "" {
		fmt.Fprintf(w, "OVERLAP\t%s\n", printable(l.Overlap))
	}
	fmt.Fprintln(w, "\nWORKER\tSTATE\tOWNER\tLEASE\tAHEAD\tFENCE\tFENCE TIME\tEXPIRES")
	for i := 0; i < len(l.Workers); i++ {
		r := l.Workers[i]
		if n := unused(l.Workers[i:]); n > 0 {
			numbers := strconv.FormatInt(r.Worker, 10)
			if n > 1 {
				numbers += "-" + strconv.FormatInt(r.Worker+int64(n)-1, 10)
			}
			fmt.Fprintf(w, "%s\tfree\tnever used\t-\t-\t%d\t-\t-\n", numbers, r.Fence)
			i += n - 1
			continue
		}
		expires, owner := r.Expires.Format(time.RFC3339), printable(r.Owner)
		if r.State == "free" {
			owner = "was " + owner
			if !r.Expires.After(l.Now) { // a free row in quarantine has a time
				expires = "-"
			}
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.Worker, r.State, owner, l.lease(r), l.ahead(r.FenceTime), r.Fence,
			r.FenceTime.Format(time.RFC3339), expires)
	}
}
