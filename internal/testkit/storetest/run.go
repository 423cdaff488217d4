package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/together"
)

// Run runs all tests that need no particular server.
func Run(t *testing.T, b Database) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Database)
	}{
		{"DisposableConforms", disposableConforms},
		{"StickyConforms", stickyConforms},
		{"FiftyProcesses", fiftyProcesses},
		{"FiftyProcessesWithKeys", fiftyProcessesWithKeys},
		{"DisposableAndStickyShareTheNumbers", shareTheNumbers},
		{"JavaRowsShareTheNumbers", javaRows},
		{"LeasesBesideNodesBeginAboveThem", besideNodes},
		{"LeasesBesideNodesOfAnotherLayout", besideAnotherLayout},
		{"NodesDoNotGrowIntoLeases", growIntoLeases},
		{"FewNodesLeftIsLogged", fewLeft},
		{"NodesAndLeasesAtOnce", nodesAndLeasesAtOnce},
		{"NodesOrLeasesThatAreOvertaken", overtaken},
		{"OneKindOfTablesIsEnough", oneKind},
		{"ApplyAtOnceAndAgain", applyAtOnce},
		{"MissingTableNamesTheRemedy", missingTable},
		{"KeyNotReturned", keyNotReturned},
		{"ExhaustedSaysHowMany", exhausted},
		{"MismatchNamesEveryField", mismatch},
		{"ChangedTokenIsNoticed", changedToken},
		{"StickyNamesTheHolder", namesTheHolder},
		{"RowSaysWhereTheProcessRuns", whereItRuns},
		{"RenamedTables", renamedTables},
		{"NamesThatAreNotAllowed", badNames},
		{"TemporaryTablesAreNotUsed", temporaryTables},
		{"ServerKilledBetweenAssignmentsReissuesNone", withServer(killBetween)},
		{"AssignWaitsForAServerThatComesBack", withServer(comesBack)},
		{"RenewKeepsTheLeaseWhileTheServerIsAway", withServer(renewKeeps)},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, b) })
	}
}

func disposableConforms(t *testing.T, b Database) {
	assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
		db, _ := b.Applied(t)
		return assignertest.AssignerFixture{
			Assigner:  func(string) assigner.Assigner { return sqlassigner.Disposable(db, sqlassigner.Config{}) },
			Guarantee: assigner.GuaranteeFresh,
			Pinned:    true,
			Delete: func(t *testing.T, workerID int64) {
				Exec(t, db, fmt.Sprintf("DELETE FROM WORKER_NODE WHERE ID = %d", workerID))
			},
		}
	})
}

func stickyConforms(t *testing.T, b Database) {
	open := func(t *testing.T) assignertest.AssignerFixture {
		db, _ := b.Applied(t)
		return assignertest.AssignerFixture{
			Assigner:  func(key string) assigner.Assigner { return sqlassigner.Sticky(db, key, sqlassigner.Config{}) },
			Guarantee: assigner.GuaranteeSticky,
			Reusable:  true,
			Pinned:    true,
			Delete: func(t *testing.T, workerID int64) {
				Exec(t, db, fmt.Sprintf("DELETE FROM WORKER_STICKY WHERE WORKER_ID = %d", workerID))
			},
		}
	}
	assignertest.Run(t, open)
	assignertest.RunKeyed(t, open)
}

const processes = 50

func fiftyProcesses(t *testing.T, b Database) {
	_, dsn := b.Applied(t)
	assignertest.Processes(t, processes, func(int) string { return childArg("", dsn) })
}

func fiftyProcessesWithKeys(t *testing.T, b Database) {
	_, dsn := b.Applied(t)
	arg := func(i int) string { return childArg(fmt.Sprintf("orders-%d", i), dsn) }
	first := assignertest.Processes(t, processes, arg)
	second := assignertest.Processes(t, processes, arg)
	if len(first) != processes || !slices.Equal(first, second) {
		t.Errorf("workers %v at the first start, %v at the second; want the same %d", first, second, processes)
	}
}

func shareTheNumbers(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	seen := make(map[int64]bool)
	for i := range 10 {
		for _, a := range []assigner.Assigner{
			sqlassigner.Disposable(db, sqlassigner.Config{}),
			sqlassigner.Sticky(db, fmt.Sprint("key ", i), sqlassigner.Config{}),
		} {
			w := Assign(t, a).Grant().WorkerID
			if seen[w] {
				t.Errorf("worker %d was given out twice", w)
			}
			seen[w] = true
		}
	}
}

// javaRow is the statement of the original's mapper.
const javaRow = "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES " +
	"('10.0.0.1', '1767225600000-4711', 2, '2026-01-01', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"

// javaRows writes rows as the original's mapper does, which knows nothing of the tables beside
// WORKER_NODE.
func javaRows(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	a := sqlassigner.Disposable(db, sqlassigner.Config{})
	var leases []assigner.Lease
	for range 5 {
		Exec(t, db, javaRow)
		leases = append(leases, Assign(t, a))
	}
	for i, l := range leases {
		if got, want := l.Grant().WorkerID, int64(2*i+2); got != want {
			t.Errorf("worker %d beside the Java rows, want %d", got, want)
		}
		Renew(t, l)
	}
}

func applyAtOnce(t *testing.T, b Database) {
	db, _ := b.Empty(t)
	together.Run(8, func(int) {
		if err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
			t.Error(err)
		}
	})
	l := Assign(t, sqlassigner.Disposable(db, sqlassigner.Config{}))
	Apply(t, db)
	Renew(t, l)
}

func missingTable(t *testing.T, b Database) {
	for _, tt := range []struct {
		table string
		use   func(*sqlx.DB) assigner.Assigner
	}{
		{"WORKER_NODE", disposable},
		{"WORKER_NODE_TOKEN", disposable},
		{"WORKER_NODE_PIN", disposable},
		{"WORKER_NODE", sticky},
		{"WORKER_STICKY", sticky},
	} {
		db, _ := b.Applied(t)
		Exec(t, db, "DROP TABLE "+tt.table)
		a := tt.use(db)
		_, err := a.Assign(t.Context(), assignertest.Domain())
		checkText(t, err, sqlassigner.ErrTableMissing, "sqlassigner.Apply, or with uidring schema ", strings.ToLower(tt.table))
		Apply(t, db)
		Assign(t, a)
	}
}

func disposable(db *sqlx.DB) assigner.Assigner {
	return sqlassigner.Disposable(db, sqlassigner.Config{})
}

func sticky(db *sqlx.DB) assigner.Assigner {
	return sqlassigner.Sticky(db, "orders", sqlassigner.Config{})
}

func keyNotReturned(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	Exec(t, db, "DROP TABLE WORKER_NODE", b.Uncounted)
	for _, use := range []func(*sqlx.DB) assigner.Assigner{disposable, sticky} {
		_, err := use(db).Assign(t.Context(), assignertest.Domain())
		checkText(t, err, sqlassigner.ErrKeyNotReturned, "worker_node gave 0 for a new row", "schema/"+b.NodeFile)
	}
}

func exhausted(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	d := assignertest.Domain()
	d.Layout.WorkerBits = 3
	held := sqlassigner.Sticky(db, "held", sqlassigner.Config{})
	for i := range d.MaxWorkerID() {
		a := disposable(db)
		if i == 0 {
			a = held
		}
		if _, err := a.Assign(t.Context(), d); err != nil {
			t.Fatalf("worker %d of %d: %v", i+1, d.MaxWorkerID(), err)
		}
	}
	for _, use := range []func(*sqlx.DB) assigner.Assigner{disposable, sticky} {
		_, err := use(db).Assign(t.Context(), d)
		checkText(t, err, assigner.ErrWorkersExhausted, "worker_node", "28/5/3/13", "7 (1 to 7)", "more worker bits")
	}
	if _, err := held.Assign(t.Context(), d); err != nil {
		t.Errorf("Assign for a key that has its number: %v", err)
	}
	var rows int
	if err := db.Get(&rows, "SELECT COUNT(*) FROM WORKER_NODE WHERE ID > 7"); err != nil || rows != 0 {
		t.Errorf("%d rows with an ID that nobody can use were kept: %v", rows, err)
	}
}

func mismatch(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	a := disposable(db)
	Assign(t, a)
	d := assignertest.Domain()
	d.DatacenterID = 7
	if _, err := a.Assign(t.Context(), d); err != nil {
		t.Errorf("Assign for another datacenter: %v", err)
	}
	d.Layout.DeltaBits, d.Layout.DatacenterBits, d.Layout.WorkerBits, d.Layout.SequenceBits = 41, 0, 10, 12
	d.Layout.Unit /= 1000
	d.Epoch = d.Epoch.AddDate(0, 0, 1)
	for _, use := range []func(*sqlx.DB) assigner.Assigner{disposable, sticky} {
		_, err := use(db).Assign(t.Context(), d)
		checkText(t, err, assigner.ErrLayoutMismatch, "worker_node_pin has delta_bits 28, here 41; datacenter_bits 5, here 0; "+
			"worker_bits 17, here 10; sequence_bits 13, here 12; unit_ms 1000, here 1; "+
			"epoch_ms 1767225600000, here 1767312000000;")
	}
	d = assignertest.Domain()
	d.Layout.DeltaBits = 0
	if _, err := a.Assign(t.Context(), d); err == nil || !strings.Contains(err.Error(), "DeltaBits 0") {
		t.Errorf("Assign with a layout that makes no IDs: %v", err)
	}
}

func changedToken(t *testing.T, b Database) {
	for _, change := range []string{
		"UPDATE WORKER_NODE_TOKEN SET TOKEN = 'another' WHERE ID = %d",
		"DELETE FROM WORKER_NODE_TOKEN WHERE ID = %d",
		"DELETE FROM WORKER_NODE WHERE ID = %d",
	} {
		db, _ := b.Applied(t)
		l := Assign(t, disposable(db))
		Exec(t, db, fmt.Sprintf(change, l.Grant().WorkerID))
		checkText(t, l.Renew(t.Context(), 1, 1), assigner.ErrWorkerRowLost, "the row with id 1", "worker 1 must not be used")
	}
	for _, tt := range []struct{ change, want string }{
		{"UPDATE WORKER_STICKY SET TOKEN = 'another', HOLDER = 'db-7 pid 4'", "is held by db-7 pid 4"},
		{"UPDATE WORKER_STICKY SET WORKER_ID = 9", "has worker 9 now"},
		{"DELETE FROM WORKER_STICKY", "has vanished"},
	} {
		db, _ := b.Applied(t)
		l := Assign(t, sticky(db))
		Exec(t, db, tt.change)
		checkText(t, l.Renew(t.Context(), 1, 1), assigner.ErrWorkerRowLost, `row "orders" of worker_sticky `+tt.want)
	}
}

func namesTheHolder(t *testing.T, b Database) {
	t.Setenv("JPAAS_HOST", "10.0.0.1")
	t.Setenv("JPAAS_HTTP_PORT", "8080")
	db, _ := b.Applied(t)
	l := Assign(t, sticky(db))
	t.Setenv("JPAAS_HOST", "10.0.0.2")
	Assign(t, sticky(db))
	checkText(t, l.Renew(t.Context(), 1, 1), assigner.ErrWorkerRowLost, "worker 1",
		fmt.Sprintf("held by 10.0.0.2:8080 pid %d", os.Getpid()))
}

func whereItRuns(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	t.Setenv("JPAAS_HOST", "10.0.0.1")
	t.Setenv("JPAAS_HTTP_PORT", "8080")
	l := Assign(t, disposable(db))
	var row struct {
		Host string `db:"host"`
		Port string `db:"port"`
		Type int    `db:"type"`
		Now  bool   `db:"today"`
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := db.GetContext(ctx, &row, db.Rebind("SELECT HOST_NAME AS host, PORT AS port, TYPE AS type, "+
		"MODIFIED = CREATED AS today FROM WORKER_NODE WHERE ID = ?"), l.Grant().WorkerID)
	if err != nil {
		t.Fatal(err)
	}
	if row.Host != "10.0.0.1" || row.Port != "8080" || row.Type != 1 || !row.Now {
		t.Errorf("row is %+v, want 10.0.0.1, 8080, type 1, MODIFIED = CREATED", row)
	}
	t.Setenv("JPAAS_HTTP_PORT", "")
	if _, err := disposable(db).Assign(ctx, assignertest.Domain()); err == nil || !strings.Contains(err.Error(), "JPAAS_HTTP_PORT") {
		t.Errorf("Assign with a host and no port: %v", err)
	}
}

// checkText compares in lower case, since PostgreSQL folds names.
func checkText(t *testing.T, err, sentinel error, parts ...string) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Errorf("error %v, want %v", err, sentinel)
		return
	}
	text := strings.ToLower(err.Error())
	if strings.Contains(text, "\n") {
		t.Errorf("error has more than one line: %q", err)
	}
	for _, part := range parts {
		if !strings.Contains(text, strings.ToLower(part)) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
	if first := strings.Index(text, strings.ToLower(cmp.Or(sentinel.Error(), "?"))); first != 0 {
		t.Errorf("error %q does not begin with %q", err, sentinel)
	}
}
