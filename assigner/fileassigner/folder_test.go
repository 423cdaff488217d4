package fileassigner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
)

// A state is on disk before it is renamed, and its new name before the change is acknowledged.
func TestAChangeSyncsTheStateAndThenTheFolder(t *testing.T) {
	dir := t.TempDir()
	var synced []string
	fsync = func(f *os.File) error {
		_, err := os.Stat(filepath.Join(dir, newName))
		synced = append(synced, fmt.Sprint(filepath.Base(f.Name()), " ", err == nil))
		return f.Sync()
	}
	defer func() { fsync = (*os.File).Sync }()
	s := LeaseStore(dir, Config{})
	const create, change = ". false, state.json.new true, . false, lock false, ", "state.json.new true, . false"
	for _, want := range []string{create + change, ". false, " + change} {
		synced = nil
		stores.Swap(t, s, leasestore.Row{}, leasestore.Row{WorkerID: rand.Int64(), Version: 1}, time.Hour)
		if got := strings.Join(synced, ", "); got != want {
			t.Errorf("synced (beside a new state: true) %s, want %s", got, want)
		}
	}
}
