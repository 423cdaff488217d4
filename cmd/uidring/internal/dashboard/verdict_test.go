package dashboard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestVerdicts runs testdata/verdicts.txt. Each line behind > changes a situation that is all
// right, and below it the script has the verdict, and its section of the run book. With -update,
// the test writes the verdicts.
func TestVerdicts(t *testing.T) {
	page := testkit.ReadFile(t, "../../../../docs/OPERATIONS.md")
	scripts.Each(t, func(t *testing.T, x *testkit.Script, changes testkit.Words) {
		v := judge(changed(t, changes))
		x.Print("  %s [%s]%s", v.Level, v.Title, v.More)
		x.Print("  %s", v.Detail)
		if section, ok := strings.CutPrefix(v.Book, runBook); ok {
			x.Print("  %s", section)
			heading := "\n### " + strings.ReplaceAll(section, "-", " ") + "\n"
			if section != "" && !strings.Contains(strings.ToLower(page), heading) {
				t.Errorf("OPERATIONS.md has no heading %q", heading)
			}
		}
	})
}

// changed returns a situation that is all right but for some changes.
func changed(t *testing.T, changes testkit.Words) situation {
	s := situation{
		stats:  cached.Stats{LastGranted: 100, Window: time.Minute, WindowLasts: 58 * time.Second, Remaining: 65536, Capacity: 65536, Expires: time.Now().AddDate(2, 0, 0)},
		limits: newLimits(Config{MaxAhead: time.Hour, Window: 30 * time.Second}), issued: 100, store: "mysql://db/ids",
	}
	var fence, failure, segments, ends string
	for name, to := range map[string]any{
		"remaining": &s.stats.Remaining, "windowLasts": &s.stats.WindowLasts, "ahead": &s.stats.Ahead, "began": &s.began,
		"unready": &s.unready, "refusal": &s.refusal, "issued": &s.issued, "rejected": &s.rejected, "failed": &s.failed,
		"fence": &fence, "outage": &failure, "segments": &segments, "ends": &ends,
	} {
		changes.Set(name, to)
	}
	if fence == "none" {
		s.stats.LastGranted = assigner.Unlimited
	}
	if failure != "" {
		err := map[string]error{"refused": syscall.ECONNREFUSED, "denied": errors.New("access denied")}[failure]
		s.outage = outage{time.Date(2026, 11, 23, 9, 31, 5, 0, time.UTC), fmt.Errorf("store: %w", err)}
	}
	if segments != "" {
		s.segments, s.segmentErr = strings.Split(segments, ","), context.DeadlineExceeded
	}
	if ends != "" {
		var err error
		s.stats.Expires, err = time.Parse(time.DateOnly, ends)
		testkit.Must(t, err)
	}
	return s
}

// An outage lasts from the first failed call to the next answer, and has the last error.
func TestStoreCallsKnowAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c StoreCalls
		trace, began := c.Trace(), time.Now()
		first, second := errors.New("first"), errors.New("second")
		for i, step := range []struct {
			event func(assigner.LeaseInfo)
			err   error
			want  outage
		}{
			{trace.LeaseAssigned, nil, outage{}},
			{trace.RenewFailed, first, outage{began.Add(time.Second), first}},
			{trace.RenewFailed, second, outage{began.Add(time.Second), second}},
			{trace.LeaseKept, nil, outage{}},
			{trace.RenewFailed, first, outage{began.Add(4 * time.Second), first}},
			{trace.LeaseAssigned, nil, outage{}},
			{trace.RenewFailed, first, outage{began.Add(6 * time.Second), first}},
			{trace.RenewFailed, fmt.Errorf("%w: for 3 min", assigner.ErrQuarantined), outage{}},
		} {
			step.event(assigner.LeaseInfo{Err: step.err})
			if got := c.outage(); !got.since.Equal(step.want.since) || got.err != step.want.err {
				t.Errorf("step %d: %v, want %v", i, got, step.want)
			}
			time.Sleep(time.Second)
		}
	})
}
