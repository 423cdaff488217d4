package cli

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testgen"
)

func TestBackfill(t *testing.T) {
	clean(t)
	g := generator(t, sqlite(t), "service", time.Minute)
	at := bitsalloc.DefaultEpoch().Add(time.Hour)
	// The third form is MySQL's and PostgreSQL's. The generator of the tests has 2^13 IDs a second.
	times := []string{at.Format(time.RFC3339), strconv.FormatInt(at.UnixMilli(), 10), at.Format("2006-01-02 15:04:05.999999"), at.Format("2006-01-02 15:04:05+00"),
		at.In(time.FixedZone("", 19_800)).Format("2006-01-02 15:04:05-07:00")}
	many := strings.Repeat(strings.Join(times, "\n")+"\n", 5000)
	alloc := testgen.Allocator(t, bitsalloc.Default(), time.Time{})
	var ids idset.Set
	workers := make(map[int64]bool)
	for range 2 { // a second run has other worker IDs
		code, out, text := run(t, many, "backfill")
		if code != exitOK {
			t.Fatal(text)
		}
		for line := range strings.Lines(out) {
			id, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ids.Once(t, id)
			f, err := alloc.Parse(id)
			if err != nil || !f.Time.Equal(at) {
				t.Fatalf("ID %d is of %v, %v, want %v", id, f.Time, err, at)
			}
			workers[f.WorkerID] = true
		}
	}
	if ids.Len() != 2*5*5000 || len(workers) != 2*4 || workers[g.WorkerID()] {
		t.Errorf("%d IDs of the workers %v, want %d IDs of 8 workers without %d", ids.Len(), workers, 2*5*5000, g.WorkerID())
	}
}

func TestBackfillStopsAtTheFirstLineWithoutAnID(t *testing.T) {
	clean(t)
	url := sqlite(t)
	code, out, text := run(t, "2026-02-01\n", "backfill")
	if code != exitUsage || out != "" || !strings.Contains(text, "a namespace that exists") {
		t.Errorf("without the namespace: code %d, %q, %q", code, out, text)
	}
	generator(t, url, "service", time.Minute)
	// Inputs without a time use up no worker ID.
	for line, want := range map[string]int{"": exitOK, "created_at": exitFailure} {
		if code, out, text := run(t, line, "backfill"); code != want || out != "" {
			t.Errorf("%q: code %d, %q, %q, want code %d and no ID", line, code, out, text, want)
		}
	}
	if _, out, _ := run(t, "", "workers", "list"); !strings.Contains(out, "1 given out") {
		t.Errorf("%s, want one worker ID", out)
	}
	for line, want := range map[string]string{
		"":           `line 2: time "", allowed: milliseconds since 1970`, // psql's NULL
		" ":          `line 2: time "", allowed: milliseconds since 1970`,
		"NULL":       `line 2: time "NULL", allowed: milliseconds since 1970`,
		"2026-01-01": "line 2: backdate: instant out of span: 2026-01-01 00:00:00 +0000 UTC, allowed: 2026-01-01 00:00:01 +0000 UTC to ",
		"2025-12-31": "line 2: backdate: instant out of span: 2025-12-31 00:00:00 +0000 UTC, allowed: 2026-01-01 00:00:01 +0000 UTC to ",
		"2093-01-01": "line 2: backdate: instant out of span",
	} {
		code, out, text := run(t, fmt.Sprintf("2026-02-01\n%s\n2026-02-01\n", line), "backfill")
		if code != exitFailure || strings.Count(out, "\n") != 1 || !strings.Contains(text, want) {
			t.Errorf("%s: code %d, %q, %q, want code 1, one ID and %q", line, code, out, text, want)
		}
	}
}
