package sqlassigner_test

import (
	"bytes"
	"context"
	"net"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
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

// A trail collects the files of this module that the keeper's goroutine passes on its way to the
// network.
type trail struct {
	net.Conn
	own   *regexp.Regexp // finds these files in a stack
	files *sync.Map      // by path in the module
}

func (c trail) Write(p []byte) (int, error) {
	if stack := debug.Stack(); bytes.Contains(stack, []byte("keeper.(*Keeper).renew(")) {
		for _, found := range c.own.FindAllSubmatch(stack, -1) {
			if name := string(found[1]); !strings.HasSuffix(name, "_test.go") {
				c.files.Store(name, true)
			}
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
		root, err := filepath.Abs("../..")
		testkit.Must(t, err)
		var files sync.Map
		own := regexp.MustCompile(regexp.QuoteMeta(root) + `/(\S+\.go):`)
		cfg.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return trail{conn, own, &files}, err
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
		names := []string{"assigner/leasestore/store.go"}
		for name := range files.Range {
			names = append(names, name.(string))
		}
		picture := testkit.ReadFile(t, "../../docs/pictures/way.dot")
		packages, all := make(map[string]bool), 0
		for _, name := range names {
			lines := strings.Count(testkit.ReadFile(t, filepath.Join(root, name)), "\n")
			t.Logf("%4d %s", lines, name)
			packages[path.Dir(name)], all = true, all+lines
			if !strings.Contains(picture, `"`+name+`\n`) {
				t.Errorf("the picture of DESIGN.md lacks %s", name)
			}
		}
		if len(names) > mostFiles || len(packages) > mostPackages || all > mostLines {
			t.Errorf("%d files in %d packages, %d lines; allowed: %d, %d, %d", len(names), len(packages), all, mostFiles, mostPackages, mostLines)
		}
	})
}
