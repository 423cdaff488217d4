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
	"github.com/uidring/uidring/internal/test/testgen"
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

// The program of docs/BACKDATE.md gives all rows IDs of their times.
func TestBackdateProgram(t *testing.T) {
	program, db := ofPage(t, "docs/BACKDATE.md")
	db.MustExec("CREATE TABLE orders (seq BIGINT PRIMARY KEY AUTO_INCREMENT, created_at DATETIME NOT NULL, id BIGINT UNIQUE)")
	for i := range 100 {
		db.MustExec("INSERT INTO orders (created_at) VALUES (?)", time.Date(2026, 3, 1, 0, 0, i/10, 0, time.UTC))
	}
	testkit.Must(t, build(t.Context(), t, program).Run())

	alloc := testgen.Allocator(t, bitsalloc.Recommended(), bitsalloc.DefaultEpoch())
	var rows []struct{ Seq, ID int64 }
	testkit.Must(t, db.Select(&rows, "SELECT seq, id FROM orders WHERE id IS NOT NULL ORDER BY id"))
	if len(rows) != 100 {
		t.Errorf("%d rows have an ID, want 100", len(rows))
	}
	for i, r := range rows {
		want := time.Date(2026, 3, 1, 0, 0, i/10, 0, time.UTC)
		if f, err := alloc.Parse(r.ID); err != nil || !f.Time.Equal(want) || r.Seq != int64(i+1) {
			t.Errorf("row %d has an ID of %v, %v, want row %d of %v", r.Seq, f.Time, err, i+1, want)
		}
	}
}
