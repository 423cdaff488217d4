package recipes

import (
	"bufio"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The program of docs/HORIZON.md prints every ID once, in order, while two processes insert rows
// and others start and end.
func TestHorizonProgram(t *testing.T) {
	program, db := ofPage(t, "docs/HORIZON.md")
	db.MustExec("CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})
	insert := func(rows int) {
		g, err := cached.New(cached.Config{Layout: bitsalloc.Recommended(), Assigner: assigner.Leased(store, assigner.LeaseConfig{Window: 6 * time.Second})})
		if err != nil {
			t.Error(err)
			return
		}
		defer g.Close()
		for range rows {
			id, err := g.NextContext(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			db.MustExec("INSERT INTO orders VALUES (?)", id)
		}
	}
	insert(1) // or there is no namespace yet
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	// A busy machine may take longer than the program of the page allows.
	reader := build(ctx, t, strings.Replace(program, "longest = 2 *", "longest = 10 *", 1))
	lines, err := reader.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, reader.Start())
	defer func() {
		stop()
		_ = reader.Wait()
	}()
	var inserting sync.WaitGroup
	for range 2 {
		inserting.Go(func() {
			for range 4 {
				insert(250)
			}
		})
	}
	var got []int64
	for scanner := bufio.NewScanner(lines); len(got) < 2001 && scanner.Scan(); {
		id, err := strconv.ParseInt(scanner.Text(), 10, 64)
		testkit.Must(t, err)
		got = append(got, id)
	}
	inserting.Wait()
	var want []int64
	if err := db.Select(&want, "SELECT id FROM orders ORDER BY id"); err != nil || !slices.Equal(got, want) {
		t.Errorf("the program has printed %d IDs, want the %d of the table in order; %v", len(got), len(want), err)
	}
}
