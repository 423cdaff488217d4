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
	"github.com/uidring/uidring/internal/test/recorder"
)

// from returns an assigner for a namespace that begins at a worker ID.
func from(db *sqlx.DB, name string, first int64) assigner.Assigner {
	return assigner.Leased(sqlassigner.LeaseStore(db, name, sqlassigner.Config{}), assigner.LeaseConfig{FirstWorkerID: first})
}

// besideNodes adds leases beside live Java services, in the steps of docs/IDENTITY.md.
func besideNodes(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	for range 5 {
		Exec(t, db, javaRow)
	}
	for _, first := range []int64{0, 1, 5} {
		_, err := TryAssign(t, from(db, "orders", first), time.Minute)
		checkWithin(t, err, leasestore.ErrOverlap, "worker_node has given out the worker ids up to 5", fmt.Sprintf(`"orders" has those from %d up`, first),
			"LeaseConfig.FirstWorkerID well above 5", "another DatacenterID")
	}
	if meta, err := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{}).LoadMeta(t.Context()); err != nil || meta != (leasestore.Meta{}) {
		t.Errorf("meta %+v of a namespace that was refused, want none: %v", meta, err)
	}
	for want := int64(1000); want < 1003; want++ {
		l := Assign(t, from(db, "orders", 1000))
		if got := l.Grant().WorkerID; got != want {
			t.Errorf("worker %d, want %d", got, want)
		}
		Exec(t, db, javaRow)
	}
	held := Assign(t, from(db, "orders", 1000))
	Exec(t, db, strings.Replace(strings.Replace(javaRow, "(HOST_NAME", "(ID, HOST_NAME", 1), "('10", "(1000, '10", 1))
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})
	for _, a := range []assigner.Assigner{from(db, "orders", 1000), assigner.Fenced(store, assigner.Static(2000), "me", assigner.LeaseConfig{FirstWorkerID: 1000})} {
		_, err := TryAssign(t, a, time.Minute)
		checkWithin(t, err, leasestore.ErrOverlap, "up to 1000", "from 1000 up", "well above 1003")
	}
	meta, err := store.LoadMeta(t.Context())
	if !errors.Is(err, leasestore.ErrOverlap) || meta.FirstWorkerID != 1000 || meta.Version == 0 {
		t.Errorf("LoadMeta: %+v, %v; want the row and ErrOverlap, for tools", meta, err)
	}
	if err := held.Renew(t.Context(), 1, held.Grant().Limit+1); err != nil {
		t.Errorf("Renew of a lease that is held: %v", err)
	}
	if got := Assign(t, from(db, "orders-2", 2000)).Grant().WorkerID; got != 2000 {
		t.Errorf("worker %d of the namespace that the error asks for, want 2000", got)
	}
	Exec(t, db, "DELETE FROM WORKER_NODE", "INSERT INTO WORKER_NODE_TOKEN VALUES (2001, 'T', '2026-01-01')")
	_, err = TryAssign(t, from(db, "orders-2", 2000), time.Minute)
	checkWithin(t, err, leasestore.ErrOverlap, "up to 2001")
}

// besideAnotherLayout: layouts keep IDs apart if they have another unit or another number of bits
// below the delta.
func besideAnotherLayout(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Assign(t, disposable(db))
	like := assignertest.Domain()
	epoch, ends, split := like, like, like
	epoch.Epoch = epoch.Epoch.Add(-time.Millisecond)
	ends.Layout.DeltaBits--
	split.Layout.WorkerBits, split.Layout.SequenceBits = split.Layout.WorkerBits-1, split.Layout.SequenceBits+1
	for name, d := range map[string]assigner.Domain{"epoch": epoch, "ends": ends, "split": split} {
		_, err := from(db, name, 0).Assign(t.Context(), d)
		checkWithin(t, err, leasestore.ErrOverlap, "up to 1,")
		_, err = from(db, name, 1000).Assign(t.Context(), d)
		if name == "split" {
			checkWithin(t, err, leasestore.ErrOverlap, "up to 1,")
		} else if err != nil {
			t.Errorf("%s, above all worker IDs: %v", name, err)
		}
	}
	d := like
	d.Layout.DeltaBits, d.Layout.SequenceBits = d.Layout.DeltaBits-1, d.Layout.SequenceBits+1
	if _, err := from(db, "pace", 0).Assign(t.Context(), d); err != nil {
		t.Errorf("Assign with another number of bits below the delta than WORKER_NODE is pinned to: %v", err)
	}
	Assign(t, disposable(db))
	_, err := TryAssign(t, from(db, "same", 0), time.Minute)
	checkWithin(t, err, leasestore.ErrOverlap)
	Exec(t, db, "DELETE FROM WORKER_NODE_PIN") // as with Java services alone
	_, err = from(db, "pace", 0).Assign(t.Context(), d)
	checkWithin(t, err, leasestore.ErrOverlap, "sqlassigner.pin")
	for range 2 {
		if err := sqlassigner.Pin(t.Context(), db, sqlassigner.Config{}, like.Layout, like.Epoch); err != nil {
			t.Fatalf("Pin: %v", err)
		}
	}
	if _, err := from(db, "pace", 0).Assign(t.Context(), d); err != nil {
		t.Errorf("Assign with another number of bits below the delta than the Java services have: %v", err)
	}
	err = sqlassigner.Pin(t.Context(), db, sqlassigner.Config{}, epoch.Layout, epoch.Epoch)
	checkText(t, err, assigner.ErrLayoutMismatch, "WORKER_NODE_PIN has EPOCH_MS", "delete its row")

	db, _ = b.Applied(t)
	for name, d := range map[string]assigner.Domain{"epoch": epoch, "split": split} {
		if _, err := from(db, name, 1).Assign(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		_, err = TryAssign(t, disposable(db), time.Minute)
		checkWithin(t, err, leasestore.ErrOverlap, `namespace "`+name)
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
	Assign(t, disposable(db))
	held := Assign(t, sticky(db))
	for range 2 {
		for _, use := range []func(*sqlx.DB) assigner.Assigner{disposable, func(db *sqlx.DB) assigner.Assigner {
			return sqlassigner.Sticky(db, "another", sqlassigner.Config{})
		}} {
			_, err := TryAssign(t, use(db), time.Minute)
			checkText(t, err, leasestore.ErrOverlap, "worker_node has given out", `namespace "orders" of WORKER_LEASE`, "from 3 up", "assigner.Leased")
		}
	}
	var largest int64
	if err := db.Get(&largest, "SELECT MAX(ID) FROM WORKER_NODE"); err != nil || largest != 2 {
		t.Errorf("largest ID %d, want 2: a number that was refused must not keep the leases from starting: %v", largest, err)
	}
	if again := Assign(t, sticky(db)); again.Grant() != held.Grant() {
		t.Errorf("grant %+v for a key that has its number, want %+v", again.Grant(), held.Grant())
	}
	if got := Assign(t, from(db, "orders", 3)).Grant().WorkerID; got != 4 {
		t.Errorf("worker %d of the namespace, want 4", got)
	}
}

// fewLeft: both sides say so when less than a tenth of the numbers below a namespace is left.
func fewLeft(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	var log, leaseLog recorder.Recorder
	var texts []string
	nodes := sqlassigner.Disposable(db, sqlassigner.Config{Logger: log.TextLogger()})
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{Logger: leaseLog.TextLogger()})
	leases := assigner.Leased(store, assigner.LeaseConfig{FirstWorkerID: 21})
	for i := range 20 {
		Assign(t, leases)
		Assign(t, nodes)
		want := 0
		if i >= 18 {
			want = 1
		}
		if texts = append(texts, log.Read()...); len(texts) != want {
			t.Fatalf("log %q with %d of 20 given out, want %d warnings", texts, i+1, want)
		}
	}
	Assign(t, leases)
	for _, texts := range [][]string{append(texts, log.Read()...), leaseLog.Read()} {
		const begin = `level=WARN msg="sqlassigner: WORKER_NODE has few worker IDs left below` // in lower case on PostgreSQL
		if len(texts) != 1 || !strings.HasPrefix(strings.ToLower(texts[0]), strings.ToLower(begin)) ||
			!strings.Contains(texts[0], " left=1 highest=19 namespace=orders first_worker_id=21") {
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
		{"WORKER_NODE_TOKEN", disposable, leasesFromZero},
		{"WORKER_LEASE_META", leasesFromZero, disposable},
	} {
		db, dsn := b.Applied(t)
		Assign(t, from(db, "elsewhere", 1000)) // creates the tables and rows that both sides read
		unblock := b.Block(t, dsn, tt.table)
		done := make(chan error, 1)
		go func() {
			_, err := TryAssign(t, tt.slow(db), time.Minute)
			done <- err
		}()
		for waiting := 0; waiting == 0; {
			if err := db.Get(&waiting, b.Blocked); err != nil {
				t.Fatal(err)
			}
		}
		Assign(t, tt.quick(db))
		unblock()
		checkWithin(t, <-done, leasestore.ErrOverlap, `namespace "orders"`)
	}
}

// oneKind: neither kind of worker ID needs the tables of the other.
func oneKind(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Exec(t, db, "DROP TABLE WORKER_NODE_TOKEN", "DROP TABLE WORKER_NODE_PIN")
	Exec(t, db, javaRow) // of Java services alone
	_, err := TryAssign(t, from(db, "orders", 0), time.Minute)
	checkWithin(t, err, leasestore.ErrOverlap, "up to 1")
	Exec(t, db, "DROP TABLE WORKER_NODE")
	Assign(t, from(db, "orders", 0))

	db, _ = b.Applied(t)
	Exec(t, db, "DROP TABLE WORKER_LEASE", "DROP TABLE WORKER_LEASE_META")
	Assign(t, disposable(db))
	Assign(t, sticky(db))
}
