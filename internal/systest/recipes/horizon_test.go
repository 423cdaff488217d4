package recipes

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The program of docs/HORIZON.md prints every ID once, in order, while two processes insert rows
// and others start and end.
func TestHorizonProgram(t *testing.T) {
	page, err := os.ReadFile("../../../docs/HORIZON.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```go\n")
	program, _, _ := strings.Cut(text, "```")
	dsn := testserver.MariaDB(t).DSN()
	db, err := sqlassigner.OpenMySQL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := sqlassigner.Apply(t.Context(), db, sqlassigner.Config{}); err != nil {
		t.Fatal(err)
	}
	db.MustExec("CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})
	insert := func(rows int) {
		g, err := cached.New(cached.Config{Layout: bitsalloc.Recommended(), Assigner: assigner.Leased(store, assigner.LeaseConfig{Window: 2e9})})
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
	ctx, stop := context.WithCancel(t.Context())
	reader := build(ctx, t, strings.Replace(program, "root@tcp(127.0.0.1:3306)/ids?", dsn+"?", 1))
	lines, err := reader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, id)
	}
	inserting.Wait()
	var want []int64
	if err := db.Select(&want, "SELECT id FROM orders ORDER BY id"); err != nil || !slices.Equal(got, want) {
		t.Errorf("the program has printed %d IDs, want the %d of the table in order; %v", len(got), len(want), err)
	}
}
