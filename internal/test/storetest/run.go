package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/together"
)

// A storeCase is a case of [Run] or [RunLeases].
type storeCase struct {
	name string
	once bool // it does not depend on the dialect: only a Database with All runs it
	run  func(*testing.T, Database)
}

func (b Database) runCases(t *testing.T, cases []storeCase) {
	for _, c := range cases {
		if b.All || !c.once {
			t.Run(c.name, func(t *testing.T) { c.run(t, b) })
		}
	}
}

// Run runs the tests of Disposable and Sticky that need no particular server.
func Run(t *testing.T, b Database) {
	b.runCases(t, []storeCase{
		{"KilledServerReissuesNoNumber", false, withServer(killBetween)},
		{"LeasesOutliveAnOutage", false, withServer(outlive)},
		{"DisposableConforms", false, disposableConforms},
		{"StickyConforms", false, stickyConforms},
		{"Processes", false, nodeProcesses},
		{"SourcesShareTheNumbers", false, shareTheNumbers},
		{"LeasesBesideNodesBeginAboveThem", false, besideNodes},
		{"LeasesBesideNodesOfAnotherLayout", true, besideAnotherLayout},
		{"NodesDoNotGrowIntoLeases", false, growIntoLeases},
		{"FewNodesLeftIsLogged", true, fewLeft},
		{"NodesOrLeasesThatAreOvertaken", false, overtaken},
		{"OneKindOfTablesIsEnough", false, oneKind},
		{"ApplyAtOnceAndAgain", false, applyAtOnce},
		{"MissingTableNamesTheRemedy", true, missingTable},
		{"KeyNotReturned", true, keyNotReturned},
		{"ExhaustedSaysHowMany", true, exhausted},
		{"MismatchNamesEveryField", true, mismatch},
		{"ChangedTokenIsNoticed", true, changedToken},
		{"RowSaysWhereTheProcessRuns", true, whereItRuns},
		{"RenamedTables", false, renamedTables},
		{"NamesThatAreNotAllowed", true, badNames},
		{"TemporaryTablesAreNotUsed", false, temporaryTables},
	})
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
	assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
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
	})
}

// processes is the number of processes that start at once.
const processes = 20

// nodeProcesses starts processes twice, half of them with keys, which lead to the same worker IDs
// again.
func nodeProcesses(t *testing.T, b Database) {
	_, dsn := b.Applied(t)
	keyed := func(i int) bool { return i%2 == 1 }
	arg := func(i int) string {
		if keyed(i) {
			return childArg(fmt.Sprintf("orders-%d", i), dsn)
		}
		return childArg("", dsn)
	}
	first := assignertest.Processes(t, processes, arg)
	second := assignertest.Processes(t, processes, arg)
	if len(first) != processes || len(second) != processes {
		t.Fatalf("workers %v at the first start, %v at the second; want %d each", first, second, processes)
	}
	for i, w := range second {
		if keyed(i) != (w == first[i]) || !keyed(i) && slices.Contains(first, w) {
			t.Errorf("workers %v at the first start, %v at the second; want the same for those with keys alone", first, second)
			break
		}
	}
}

// javaRow is the statement of the original's mapper, which knows nothing of the tables beside
// WORKER_NODE.
const javaRow = "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES " +
	"('10.0.0.1', '1767225600000-4711', 2, '2026-01-01', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"

// shareTheNumbers has Java services, Disposable and Sticky take worker IDs in turns.
func shareTheNumbers(t *testing.T, b Database) {
	db, _ := b.Applied(t)
	var leases []assigner.Lease
	for i := range 5 {
		Exec(t, db, javaRow)
		leases = append(leases, Assign(t, disposable(db)),
			Assign(t, sqlassigner.Sticky(db, fmt.Sprint("key ", i), sqlassigner.Config{})))
	}
	for i, l := range leases {
		if got, want := l.Grant().WorkerID, int64(3*(i/2)+2+i%2); got != want {
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
		{"WORKER_LEASE", leasedBeside},
		{"WORKER_LEASE_META", leasedBeside},
	} {
		db, _ := b.Applied(t)
		Exec(t, db, "DROP TABLE "+tt.table)
		a := tt.use(db)
		_, err := a.Assign(t.Context(), assignertest.Domain())
		checkWithin(t, err, sqlassigner.ErrTableMissing, "sqlassigner.Apply, or with uidring schema ", strings.ToLower(tt.table))
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
		checkText(t, err, sqlassigner.ErrKeyNotReturned, "worker_node gave 0 for a new row", "schema/worker_node.sql")
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
	err := db.GetContext(t.Context(), &row, db.Rebind("SELECT HOST_NAME AS host, PORT AS port, TYPE AS type, "+
		"MODIFIED = CREATED AS today FROM WORKER_NODE WHERE ID = ?"), l.Grant().WorkerID)
	if err != nil {
		t.Fatal(err)
	}
	if row.Host != "10.0.0.1" || row.Port != "8080" || row.Type != 1 || !row.Now {
		t.Errorf("row is %+v, want 10.0.0.1, 8080, type 1, MODIFIED = CREATED", row)
	}
	held := Assign(t, sticky(db))
	t.Setenv("JPAAS_HOST", "10.0.0.2")
	Assign(t, sticky(db))
	checkText(t, held.Renew(t.Context(), 1, 1), assigner.ErrWorkerRowLost, "held by 10.0.0.2:8080 pid "+strconv.Itoa(os.Getpid()))
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
