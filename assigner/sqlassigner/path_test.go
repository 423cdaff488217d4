package sqlassigner_test

import (
	"bytes"
	"context"
	"maps"
	"net"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

const module = "github.com/uidring/uidring/"

// A trail collects the files of this module that the keeper's goroutine passes on its way to the
// network.
type trail struct {
	net.Conn
	mu    *sync.Mutex
	files map[string]string // by path in the module, the path on disk
}

func (c trail) Write(p []byte) (int, error) {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	passed := make(map[string]string)
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		name, ours := strings.CutPrefix(frame.Function, module)
		if ours && !strings.HasSuffix(frame.File, "_test.go") {
			folder := name[:strings.LastIndex(name, "/")+1] + strings.SplitN(path.Base(name), ".", 2)[0]
			passed[folder+"/"+path.Base(frame.File)] = frame.File
		}
		if strings.HasSuffix(frame.Function, "keeper.(*Keeper).renew") {
			defer func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				maps.Copy(c.files, passed)
			}()
		}
	}
	return c.Conn.Write(p)
}

// A renewal on MySQL, from the timer to the driver, can be read in one go: the files that its stack
// passes through, and the contract of stores. The picture of DESIGN.md has them all.
func TestPathOfARenewal(t *testing.T) {
	t.Parallel()
	const mostFiles, mostPackages, mostLines = 8, 4, 1200
	onBoth(t, func(t *testing.T, f flavor) {
		t.Parallel()
		_, dsn := f.database(t).Applied(t)
		cfg, err := sqlassigner.ParseMySQL(dsn)
		testkit.Must(t, err)
		way := trail{mu: new(sync.Mutex), files: make(map[string]string)}
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return trail{conn, way.mu, way.files}, err
		}
		db, err := sqlassigner.OpenMySQLConfig(cfg)
		testkit.Must(t, err)
		defer db.Close()
		g, err := defaultgen.New(defaultgen.Config{
			Layout:   bitsalloc.Layout{DeltaBits: 41, WorkerBits: 10, SequenceBits: 12, Unit: time.Millisecond},
			Assigner: assigner.Leased(sqlassigner.LeaseStore(db, "path", sqlassigner.Config{}), assigner.LeaseConfig{Window: 200 * time.Millisecond}),
		})
		testkit.Must(t, err)
		defer func() { testkit.Must(t, g.Close()) }()
		testkit.Until(t, "a renewal", func() bool { return g.Stats().Renewals > 1 })
		way.mu.Lock()
		defer way.mu.Unlock()
		way.files["assigner/leasestore/store.go"] = "../leasestore/store.go"
		picture, err := os.ReadFile("../../docs/pictures/way.dot")
		testkit.Must(t, err)
		packages, all := make(map[string]bool), 0
		for _, name := range slices.Sorted(maps.Keys(way.files)) {
			text, err := os.ReadFile(way.files[name])
			testkit.Must(t, err)
			lines := bytes.Count(text, []byte("\n"))
			t.Logf("%4d %s", lines, name)
			packages[path.Dir(name)], all = true, all+lines
			if !bytes.Contains(picture, []byte(`"`+name+`\n`)) {
				t.Errorf("the picture of DESIGN.md lacks %s", name)
			}
		}
		if len(way.files) > mostFiles || len(packages) > mostPackages || all > mostLines {
			t.Errorf("%d files in %d packages, %d lines; allowed: %d, %d, %d", len(way.files), len(packages), all, mostFiles, mostPackages, mostLines)
		}
	})
}
