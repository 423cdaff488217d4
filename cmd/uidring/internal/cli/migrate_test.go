package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/migrate"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testkit"
)

// checked runs migrate check, which must exit with a code, and returns its report.
func checked(t *testing.T, stdin string, code int, args ...string) (r migrate.Report) {
	t.Helper()
	got, out, stderr := run(t, stdin, append([]string{"migrate", "check", "--json", "--start", "2026-11-22"}, args...)...)
	if got != code || stderr != "" {
		t.Fatalf("uidring migrate check %q: exit code %d, want %d, stderr %q", args, got, code, stderr)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}

func TestMigrateCheckPrintsAReport(t *testing.T) {
	clean(t)
	code, out, stderr := run(t, "", "migrate", "check", "--old", "baidu", "--start", "2026-11-22", "--layout", "recommended", "--",
		"3200169789968523265", "3200169789968523265", "-7055269968853590016")
	const want = `
IDS         3: all arguments
FORMAT      baidu, 28/0/22/13@1s since 2016-05-19T16:00:00Z, until 2024-11-20
SMALLEST    -7055269968853590016
LARGEST     3200169789968523265
OLDEST      3200169789968523265: 2019-05-02T15:26:39Z, datacenter 0, worker 21, sequence 1
NEWEST      -7055269968853590016: 2026-11-20T21:12:11Z, datacenter 0, worker 1, sequence 0
NOTE        negative IDs: 1; the layout ended on 2024-11-20, and delta overflowed into the sign
NOTE        3200169789968523265 was read 2 times: two generators had one worker ID, or a row was read twice
NEW LAYOUT  31/0/12/20@1s since 2026-01-01T00:00:00Z, until 2094-01-19
NEW IDS     120602681671680000 to 9223372036854775807, from 2026-11-22T00:00:00Z on
ADVICE      --layout 31/0/12/20@1s --epoch 2003-01-01 is above the old IDs, and lasts until 2071-01-19
IN GO       Layout: bitsalloc.Layout{DeltaBits: 31, DatacenterBits: 0, WorkerBits: 12, SequenceBits: 20, Unit: time.Second}, Epoch: time.Date(2003, time.January, 1, 0, 0, 0, 0, time.UTC)
VERDICT     overlap: new IDs may equal existing ones from 2049-08-11T19:33:12Z until 2049-08-11T19:33:13Z, and will be above them from then on

DATACENTER  WORKER  IDS  FIRST                 LAST
0           1       1    2026-11-20T21:12:11Z  2026-11-20T21:12:11Z
0           21      2    2019-05-02T15:26:39Z  2019-05-02T15:26:39Z
`
	if code != exitNotAbove || stderr != "" || "\n"+out != want {
		t.Errorf("exit code %d, stderr %q, printed\n%s", code, stderr, out)
	}
}

func TestMigrateCheckReadsLines(t *testing.T) {
	clean(t)
	lines := "3200169789968523265\n\nNULL\n -7055269968853590016\r\n3200169789968523265"
	r := checked(t, lines, exitNotAbove, "--old", "baidu", "--layout", "recommended", "-")
	if r.Read != 3 || r.Negative != 1 || len(r.Repeated) != 1 {
		t.Errorf("%+v", r)
	}
	above := checked(t, lines, exitOK, "--old", "baidu", "--layout", "recommended", "--epoch", "2003-01-01", "-")
	if above.New.Relation != migrate.Above || above.New.First <= above.Largest {
		t.Errorf("%+v", above.New)
	}
	utc := checked(t, lines, exitNotAbove, "--old", "baidu", "--old-epoch", "2016-05-20", "-") // without: midnight in Shanghai
	if got := utc.Newest.Time.Sub(r.Newest.Time); got != 8*time.Hour {
		t.Errorf("with --old-epoch the newest ID is %v later, want 8h", got)
	}
	for in, want := range map[string]string{
		"id\n1\n":                  `line 1: "id", allowed: decimal IDs from -2^63 to 2^63 - 1, one per line without a header`,
		"1\n9223372036854775808\n": `line 2: "9223372036854775808", allowed: decimal IDs from -2^63 to 2^63 - 1, one per line without a header`,
		"\n":                       "no IDs: every layout is above them",
	} {
		wants(t, in, []string{"migrate", "check", "--old", "counter", "-"}, exitFailure, "", "uidring: "+want+"\n")
	}
}

// A Java table has more rows than the new layout has worker IDs. With the layout of the Java
// services in WORKER_NODE_PIN, leases begin nevertheless: their IDs are others.
func TestMigratePinLetsLeasesBesideJavaRowsBegin(t *testing.T) {
	st, err := storeurl.Open(sqlite(t), "orders")
	testkit.Close(t, st, err)
	st.DB().MustExecContext(t.Context(), "INSERT INTO WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) "+
		"VALUES (20000, '10.0.0.9', '1700000000000-7', 2, '2026-11-22', '2026-11-22 12:00:00', '2026-11-22 12:00:00')")
	start := func() error {
		g, err := cached.New(cached.Config{Assigner: assigner.Leased(st, assigner.LeaseConfig{}), Layout: bitsalloc.JavaScript()})
		if err == nil {
			err = g.Close()
		}
		return err
	}
	if err := start(); !errors.Is(err, leasestore.ErrOverlap) || !strings.Contains(err.Error(), "uidring migrate pin") {
		t.Fatalf("New without the layout of the Java services: %v, want ErrOverlap and the way out", err)
	}
	for range 2 {
		wants(t, "", []string{"migrate", "pin", "--old", "baidu"}, exitOK,
			st.String()+": WORKER_NODE has layout 28/0/22/13@1s since 2016-05-19T16:00:00Z\n", "")
	}
	if err := start(); err != nil {
		t.Errorf("New: %v", err)
	}
	code, _, stderr := run(t, "", "migrate", "pin", "--old", "29/0/21/13", "--old-epoch", "2016-09-20T00:00:00+08:00")
	if code != exitFailure || !strings.Contains(stderr, "layout mismatch: WORKER_NODE_PIN has DELTA_BITS 28, here 29; ") {
		t.Errorf("another layout: exit code %d, %s", code, stderr)
	}
}

func TestLayoutAsALiteralOfGo(t *testing.T) {
	const want = "bitsalloc.Layout{DeltaBits: 39, DatacenterBits: 0, WorkerBits: 16, SequenceBits: 8, Unit: 10 * time.Millisecond}"
	if got := goLayout(bitsalloc.Layout{DeltaBits: 39, WorkerBits: 16, SequenceBits: 8, Unit: 10 * time.Millisecond}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
