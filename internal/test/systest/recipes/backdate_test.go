package recipes

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

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
