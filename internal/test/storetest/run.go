package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/schema"
)

// Run runs the tests of Disposable and Sticky that need no particular server, and of both beside
// leases.
func Run(t *testing.T, b Database) {
	b.runCases(t, []storeCase{
		{"LeasesOutliveAnOutage", false, outlive},
		{"DisposableConforms", false, disposableConforms},
		{"StickyConforms", false, stickyConforms},
		{"SourcesShareTheNumbers", false, shareTheNumbers},
		{"LeasesBesideNodesBeginAboveThem", false, leasesBesideNodes},
		{"LeasesBesideNodesOfAnotherLayout", true, besideAnotherLayout},
		{"NodesDoNotGrowIntoLeases", false, growIntoLeases},
		{"FewNodesLeftIsLogged", true, fewLeft},
		{"NodesOrLeasesThatAreOvertaken", false, overtaken},
		{"OneKindOfTablesIsEnough", false, oneKind},
		{"ApplyCreatesGroups", false, applyGroups},
		{"LeasedCreatesItsTables", false, leasedCreates},
		{"MissingTableNamesTheRemedy", true, missingTable},
		{"KeyNotReturned", true, keyNotReturned},
		{"ExhaustedSaysHowMany", true, exhausted},
		{"MismatchNamesEveryField", true, mismatch},
		{"ChangedRowIsNoticed", true, changedRow},
		{"RowSaysWhereTheProcessRuns", true, whereItRuns},
		{"TemporaryTablesAreNotUsed", false, temporaryTables},
	})
}

// outlive renews leases without a fence while the server is away, and has an assignment wait for
// it.
func outlive(t *testing.T, b Database) {
	if !b.Kills {
		t.Skip("the database has no server, or a shared one")
	}
	db, dsn := b.Applied(t)
	leases := []assigner.Lease{Assign(t, Disposable(db)), Assign(t, Sticky(db))}
	var up func()
	ComesBack(t, db, func() { up = b.Down(t, dsn) }, func() {
		for _, l := range leases {
			before := l.Grant()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			err := Extend(ctx, l, 1, 1)
			cancel()
			if !errors.Is(err, sqlassigner.ErrUnreachable) || errors.Is(err, assigner.ErrWorkerRowLost) || l.Grant() != before {
				t.Errorf("Renew: %v, grant %+v; want ErrUnreachable and %+v", err, l.Grant(), before)
			}
		}
		up()
	})
	for _, l := range leases {
		Renew(t, l)
	}
}

// ComesBack starts an assignment while the server is away and has it come back at the first attempt
// that failed.
func ComesBack(t *testing.T, db *sqlx.DB, down, up func()) {
	t.Helper()
	l := Assign(t, Disposable(db))
	down()
	log := testkit.Recorder{First: make(chan struct{})}
	waits(t, &log, func() error {
		_, err := TryAssign(t, sqlassigner.Disposable(db, sqlassigner.Config{Logger: log.Logger()}), time.Minute)
		return err
	}, up)
	Renew(t, l)
}

// waits checks that a call, which logs its attempts, tries again until help has run, which its
// first failed attempt starts.
func waits(t *testing.T, log *testkit.Recorder, call func() error, help func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case <-log.First:
		help()
		if err := <-done; err != nil {
			t.Error(err)
		}
	case err := <-done:
		t.Errorf("the call returned %v at once", err)
		help()
	}
}

func disposableConforms(t *testing.T, b Database) {
	b.conforms(t, assigner.GuaranteeFresh, "WORKER_NODE WHERE ID", func(db *sqlx.DB, _ string) assigner.Assigner { return Disposable(db) })
}

func stickyConforms(t *testing.T, b Database) {
	b.conforms(t, assigner.GuaranteeSticky, "WORKER_STICKY WHERE WORKER_ID", func(db *sqlx.DB, key string) assigner.Assigner {
		return sqlassigner.Sticky(db, key, sqlassigner.Config{})
	})
}

func (b Database) conforms(t *testing.T, g assigner.Guarantee, rows string, open func(db *sqlx.DB, key string) assigner.Assigner) {
	assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
		db, _ := b.Applied(t)
		return assignertest.AssignerFixture{
			Assigner:  func(key string) assigner.Assigner { return open(db, key) },
			Guarantee: g, Reusable: g == assigner.GuaranteeSticky, Pinned: true,
			Delete: func(t *testing.T, workerID int64) { Exec(t, db, fmt.Sprintf("DELETE FROM %s = %d", rows, workerID)) },
		}
	})
}

// javaRow is the statement of the original's mapper, which knows nothing of the tables beside
// WORKER_NODE.
const javaRow = "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES " +
	"('10.0.0.1', '1767225600000-4711', 2, '2026-01-01', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"

// javaRowOf is javaRow for a worker ID.
func javaRowOf(id int64) string {
	return strings.NewReplacer("(HOST_NAME", "(ID, HOST_NAME", "('10", fmt.Sprintf("(%d, '10", id)).Replace(javaRow)
}

// shareTheNumbers has Java services, Disposable and Sticky take worker IDs in turns.
func shareTheNumbers(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	var leases []assigner.Lease
	for i := range 5 {
		Exec(t, db, javaRow)
		leases = append(leases, Assign(t, Disposable(db)),
			Assign(t, sqlassigner.Sticky(db, fmt.Sprint("key ", i), sqlassigner.Config{})))
	}
	for i, l := range leases {
		if got, want := l.Grant().WorkerID, int64(3*(i/2)+2+i%2); got != want {
			t.Errorf("worker %d beside the Java rows, want %d", got, want)
		}
		Renew(t, l)
	}
}

// applyGroups creates the tables of one group after the other. Names are in lower case in
// PostgreSQL.
func applyGroups(t *testing.T, b Database) {
	db, _ := b.Empty(t)
	for _, tt := range []struct {
		groups []schema.Group
		want   string
	}{
		{nil, "WORKER_LEASE WORKER_LEASE_META"},
		{[]schema.Group{schema.Leases, schema.Segments}, "ID_SEGMENT"},
		{[]schema.Group{schema.Nodes, schema.Segments}, "WORKER_NODE WORKER_NODE_TOKEN WORKER_NODE_PIN WORKER_STICKY"},
		{nil, ""},
	} {
		made, err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}, tt.groups...)
		if got := strings.ToUpper(strings.Join(made, " ")); got != tt.want || err != nil {
			t.Errorf("Apply of %q created %q, want %q: %v", tt.groups, got, tt.want, err)
		}
	}
}

// takeAtOnce has n assigners, with a handle each as processes have, take a worker ID at once, and
// checks that all differ.
func takeAtOnce(t *testing.T, n int, open func() assigner.Assigner) {
	t.Helper()
	assigners, workers := make([]assigner.Assigner, n), make([]int64, n)
	for i := range assigners {
		assigners[i] = open()
	}
	testkit.Together(n, func(i int) {
		l, err := TryAssign(t, assigners[i], time.Minute)
		if err != nil {
			t.Errorf("Assign %d: %v", i, err)
			return
		}
		workers[i] = l.Grant().WorkerID
	})
	if different := len(slices.Compact(slices.Sorted(slices.Values(workers)))); different != n {
		t.Errorf("workers %v, %d different ones, want %d", workers, different, n)
	}
}

// leasedCreates has assigners that start at once create the tables. Afterwards a missing table
// stays missing.
func leasedCreates(t *testing.T, b Database) {
	db, dsn := b.Empty(t)
	takeAtOnce(t, 6, func() assigner.Assigner { return sqlassigner.Leased(b.Open(t, dsn), namespace) })
	Refused(t, Disposable(db), sqlassigner.ErrTableMissing, "schema.Nodes")
	a := sqlassigner.Leased(db, namespace)
	Assign(t, a)
	if held := Get[int](t, db, "SELECT COUNT(*) FROM WORKER_LEASE WHERE TOKEN <> ''"); held != 7 {
		t.Errorf("%d worker IDs are held, want 7", held)
	}
	Exec(t, db, "DROP TABLE WORKER_LEASE", "DROP TABLE WORKER_LEASE_META")
	Refused(t, a, sqlassigner.ErrTableMissing, "schema.Leases")
	Assign(t, sqlassigner.Leased(db, namespace))
}

func missingTable(t *testing.T, b Database) {
	const nodes, leases = "schema.Nodes), or with uidring schema mysql nodes |", "schema.Leases), or with uidring schema mysql leases |"
	for table, tt := range map[string]struct {
		use  func(*sqlx.DB) assigner.Assigner
		want string
	}{
		"WORKER_NODE": {Disposable, nodes}, "WORKER_NODE_TOKEN": {Disposable, nodes}, "WORKER_NODE_PIN": {Disposable, nodes},
		"WORKER_STICKY": {Sticky, nodes}, "WORKER_LEASE": {Beside, leases}, "WORKER_LEASE_META": {Beside, leases},
	} {
		db, _ := b.Applied(t)
		Exec(t, db, "DROP TABLE "+table)
		a := tt.use(db)
		Refused(t, a, sqlassigner.ErrTableMissing, "create it with sqlassigner.Apply(…, "+tt.want, table)
		Apply(t, db)
		Assign(t, a)
	}
}

// keyNotReturned has a WORKER_NODE whose ID does not count by itself.
func keyNotReturned(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Exec(t, db, "ALTER TABLE WORKER_NODE MODIFY ID bigint NOT NULL DEFAULT 0")
	Refused(t, Disposable(db), sqlassigner.ErrKeyNotReturned, "WORKER_NODE gave 0 for a new row", "schema/worker_node.sql")
}

func exhausted(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	held := sqlassigner.Sticky(db, "held", sqlassigner.Config{})
	d := assignertest.Domain()
	d.Layout.WorkerBits = 3
	for _, last := range []int64{6, 7} {
		if _, err := held.Assign(t.Context(), d); err != nil {
			t.Fatalf("Assign for a key, before and after it has its number: %v", err)
		}
		Exec(t, db, javaRowOf(last))
	}
	for _, a := range []assigner.Assigner{Disposable(db), Sticky(db)} {
		_, err := a.Assign(t.Context(), d)
		WantError(t, err, assigner.ErrWorkersExhausted, "the next ID of WORKER_NODE is ", "28/5/3/13", "7 (1 to 7)", "more worker bits")
	}
}

func mismatch(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Assign(t, Sticky(db))
	d := assignertest.Domain()
	d.DatacenterID = 7
	d.Layout.DeltaBits, d.Layout.DatacenterBits, d.Layout.WorkerBits, d.Layout.SequenceBits = 41, 0, 10, 12
	d.Layout.Unit /= 1000
	d.Epoch = d.Epoch.AddDate(0, 0, 1)
	_, err := Disposable(db).Assign(t.Context(), d)
	WantError(t, err, assigner.ErrLayoutMismatch, "WORKER_NODE_PIN has DELTA_BITS 28, here 41; DATACENTER_BITS 5, here 0; "+
		"WORKER_BITS 17, here 10; SEQUENCE_BITS 13, here 12; UNIT_MS 1000, here 1; EPOCH_MS 1767225600000, here 1767312000000;")
}

func changedRow(t *testing.T, b Database) {
	for _, tt := range []struct{ kind, change, want string }{
		{"Disposable", "UPDATE WORKER_NODE_TOKEN SET TOKEN = 'another'", "the row with ID 1 has another token in WORKER_NODE_TOKEN"},
		{"Disposable", "DELETE FROM WORKER_NODE_TOKEN", "the row with ID 1 has vanished from WORKER_NODE_TOKEN"},
		{"Disposable", "DELETE FROM WORKER_NODE", "the row with ID 1 has vanished from WORKER_NODE "},
		{"Sticky", "UPDATE WORKER_STICKY SET TOKEN = 'another', HOLDER = 'db-7 pid 4'", `row "orders" of WORKER_STICKY is held by db-7 pid 4`},
		{"Sticky", "UPDATE WORKER_STICKY SET WORKER_ID = 9", `row "orders" of WORKER_STICKY has worker 9 now`},
		{"Sticky", "DELETE FROM WORKER_STICKY", `row "orders" of WORKER_STICKY has vanished`},
	} {
		db, _ := b.Applied(t)
		l := Assign(t, Kinds(db)[tt.kind](sqlassigner.Config{}))
		Exec(t, db, tt.change)
		WantError(t, Extend(t.Context(), l, 1, 1), assigner.ErrWorkerRowLost, tt.want, "worker 1 must not be used")
	}
}

func whereItRuns(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	t.Setenv("JPAAS_HOST", "10.0.0.1")
	t.Setenv("JPAAS_HTTP_PORT", "8080")
	Assign(t, Disposable(db))
	if got := Get[string](t, db, "SELECT CONCAT(HOST_NAME, ' ', PORT, ' ', TYPE, ' ', MODIFIED = CREATED) FROM WORKER_NODE"); got != "10.0.0.1 8080 1 1" {
		t.Errorf("row %q, want host, port, type 1, and equal times", got)
	}
	held := Assign(t, Sticky(db))
	t.Setenv("JPAAS_HOST", "10.0.0.2")
	Assign(t, Sticky(db))
	WantError(t, Extend(t.Context(), held, 1, 1), assigner.ErrWorkerRowLost, "held by 10.0.0.2:8080 pid "+strconv.Itoa(os.Getpid()))
}
