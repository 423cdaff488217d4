package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// leasesBesideNodes adds leases beside live Java services, in the steps of docs/IDENTITY.md.
func leasesBesideNodes(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	for range 5 {
		Exec(t, db, javaRow)
	}
	for _, first := range []int64{0, 5} {
		Refused(t, from(db, "orders", first), leasestore.ErrOverlap, "WORKER_NODE has given out the worker IDs up to 5",
			fmt.Sprintf(`"orders" has those from %d up`, first), "LeaseConfig.FirstWorkerID well above 5", "another DatacenterID")
	}
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})
	if meta, err := store.LoadMeta(t.Context()); err != nil || meta != (leasestore.Meta{}) {
		t.Errorf("meta %+v of a namespace that was refused, want none: %v", meta, err)
	}
	var held assigner.Lease
	for want := int64(1000); want < 1003; want++ {
		held = Assign(t, from(db, "orders", 1000))
		if got := held.Grant().WorkerID; got != want {
			t.Errorf("worker %d, want %d", got, want)
		}
		Exec(t, db, javaRow)
	}
	Exec(t, db, javaRowOf(1000))
	fenced := assigner.Fenced(store, assigner.Static(2000), assigner.LeaseConfig{Owner: "me", FirstWorkerID: 1000})
	for _, a := range []assigner.Assigner{from(db, "orders", 1000), fenced} {
		Refused(t, a, leasestore.ErrOverlap, "up to 1000", "from 1000 up", "well above 1002")
	}
	meta, err := store.LoadMeta(t.Context())
	if !errors.Is(err, leasestore.ErrOverlap) || meta.FirstWorkerID != 1000 || meta.Version == 0 {
		t.Errorf("LoadMeta: %+v, %v; want the row and ErrOverlap, for tools", meta, err)
	}
	if err := Extend(t.Context(), held, 1, held.Grant().Last+1); err != nil {
		t.Errorf("Renew of a lease that is held: %v", err)
	}
	if got := Assign(t, from(db, "orders-2", 2000)).Grant().WorkerID; got != 2000 {
		t.Errorf("worker %d of the namespace that the error asks for, want 2000", got)
	}
}

// besideAnotherLayout: layouts keep IDs apart if they have another unit or another number of bits
// below the delta.
func besideAnotherLayout(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Assign(t, Disposable(db))
	like := assignertest.Domain()
	epoch, split, pace := like, like, like
	epoch.Epoch = epoch.Epoch.Add(-time.Millisecond)
	split.Layout.WorkerBits, split.Layout.SequenceBits = split.Layout.WorkerBits-1, split.Layout.SequenceBits+1
	pace.Layout.DeltaBits, pace.Layout.SequenceBits = pace.Layout.DeltaBits-1, pace.Layout.SequenceBits+1
	start := func(d assigner.Domain, name string, first int64) error {
		_, err := from(db, name, first).Assign(t.Context(), d)
		return err
	}
	WantError(t, start(epoch, "epoch", 0), leasestore.ErrOverlap, "up to 1,")
	if err := start(epoch, "epoch", 1000); err != nil {
		t.Errorf("another epoch, above all worker IDs: %v", err)
	}
	for _, first := range []int64{0, 1000} {
		WantError(t, start(split, "split", first), leasestore.ErrOverlap, "up to 1,")
	}
	if err := start(pace, "pace", 0); err != nil {
		t.Errorf("another number of bits below the delta than WORKER_NODE is pinned to: %v", err)
	}
	Assign(t, Disposable(db))
	Exec(t, db, "DELETE FROM WORKER_NODE_PIN") // as with Java services alone
	WantError(t, start(pace, "pace", 0), leasestore.ErrOverlap, "sqlassigner.Pin")
	for range 2 {
		if err := sqlassigner.Pin(t.Context(), db, sqlassigner.Config{}, like.Layout, like.Epoch); err != nil {
			t.Fatalf("Pin: %v", err)
		}
	}
	if err := start(pace, "pace", 0); err != nil {
		t.Errorf("another number of bits below the delta than the Java services have: %v", err)
	}
	err := sqlassigner.Pin(t.Context(), db, sqlassigner.Config{}, epoch.Layout, epoch.Epoch)
	WantError(t, err, assigner.ErrLayoutMismatch, "WORKER_NODE_PIN has EPOCH_MS", "delete its row")

	db, _ = b.Applied(t)
	for name, d := range map[string]assigner.Domain{"epoch": epoch, "split": split} {
		testkit.Must(t, start(d, name, 1))
		Refused(t, Disposable(db), leasestore.ErrOverlap, `namespace "`+name)
		Exec(t, db, "DELETE FROM WORKER_LEASE_META")
	}
}

// growIntoLeases: the share of WORKER_NODE ends where a namespace begins.
func growIntoLeases(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Assign(t, from(db, "orders", 3))
	elsewhere := assignertest.Domain()
	elsewhere.DatacenterID = 7
	if _, err := from(db, "far", 0).Assign(t.Context(), elsewhere); err != nil {
		t.Fatal(err)
	}
	Assign(t, Disposable(db))
	held := Assign(t, Sticky(db))
	for _, a := range []assigner.Assigner{Disposable(db), sqlassigner.Sticky(db, "another", sqlassigner.Config{}), Disposable(db)} {
		Refused(t, a, leasestore.ErrOverlap, "WORKER_NODE has given out", `namespace "orders" of WORKER_LEASE`, "from 3 up", "assigner.Leased")
	}
	if largest := Get[int64](t, db, "SELECT MAX(ID) FROM WORKER_NODE"); largest != 2 {
		t.Errorf("largest ID %d, want 2: a number that was refused must not keep the leases from starting", largest)
	}
	if again := Assign(t, Sticky(db)); again.Grant() != held.Grant() {
		t.Errorf("grant %+v for a key that has its number, want %+v", again.Grant(), held.Grant())
	}
	if got := Assign(t, from(db, "orders", 3)).Grant().WorkerID; got != 4 {
		t.Errorf("worker %d of the namespace, want 4", got)
	}
}

// fewLeft: both sides say so once, when less than a tenth of the numbers below a namespace is left.
func fewLeft(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	var log, leaseLog testkit.Recorder
	nodes := sqlassigner.Disposable(db, sqlassigner.Config{Logger: log.TextLogger()})
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{Logger: leaseLog.TextLogger()})
	leases := assigner.Leased(store, assigner.LeaseConfig{FirstWorkerID: 21})
	give := func(n int) {
		for range n {
			Assign(t, leases)
			Assign(t, nodes)
		}
	}
	give(18)
	if texts := append(log.Read(), leaseLog.Read()...); len(texts) > 0 {
		t.Errorf("log %q with 18 of 20 given out, want no warning", texts)
	}
	give(2)
	Assign(t, leases)
	for _, texts := range [][]string{log.Read(), leaseLog.Read()} {
		const begin, end = `level=WARN msg="sqlassigner: WORKER_NODE has few worker IDs left below`, " left=1 highest=19 namespace=orders first_worker_id=21"
		if len(texts) != 1 || !strings.HasPrefix(texts[0], begin) || !strings.Contains(texts[0], end) {
			t.Errorf("log %q, want one warning", texts)
		}
	}
}

// overtaken has one source stand between its first look at the other source and its write, while
// the other one starts. Its second look then finds the other one.
func overtaken(t *testing.T, b Database) {
	if b.Block == nil {
		t.Skip("the database cannot keep others from writing alone")
	}
	leasesFromZero := func(db *sqlx.DB) assigner.Assigner { return from(db, "orders", 0) }
	for _, tt := range []struct {
		table       string
		slow, quick func(*sqlx.DB) assigner.Assigner
	}{
		{"WORKER_NODE_TOKEN", Disposable, leasesFromZero},
		{"WORKER_STICKY", Sticky, leasesFromZero},
		{"WORKER_LEASE_META", leasesFromZero, Disposable},
	} {
		db, dsn := b.Applied(t)
		Assign(t, from(db, "elsewhere", 1000)) // creates the tables and rows that both sides read
		unblock := b.Block(t, dsn, tt.table)
		done := make(chan error, 1)
		go func() {
			_, err := TryAssign(t, tt.slow(db), time.Minute)
			done <- err
		}()
		for Get[int](t, db, b.Blocked) == 0 {
		}
		Assign(t, tt.quick(db))
		unblock()
		WantError(t, <-done, leasestore.ErrOverlap, `namespace "orders"`)
		Refused(t, tt.slow(db), leasestore.ErrOverlap)
	}
}

// oneKind: neither kind of worker ID needs the tables of the other.
func oneKind(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Exec(t, db, "DROP TABLE WORKER_NODE_TOKEN", "DROP TABLE WORKER_NODE_PIN")
	Exec(t, db, javaRow) // of Java services alone
	Refused(t, from(db, "orders", 0), leasestore.ErrOverlap, "up to 1")
	Exec(t, db, "DROP TABLE WORKER_NODE")
	Assign(t, from(db, "orders", 0))

	db, _ = b.Applied(t)
	Exec(t, db, "DROP TABLE WORKER_LEASE", "DROP TABLE WORKER_LEASE_META")
	Assign(t, Disposable(db))
	Assign(t, Sticky(db))
}
