package dashboard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
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

// The reason for which the store has no worker ID now is an answer.
func TestStoreCallsKnowAFailure(t *testing.T) {
	var c StoreCalls
	trace, first, second := c.Trace(), errors.New("first"), errors.New("second")
	for i, step := range []struct {
		event     func(assigner.LeaseInfo)
		err, want error
	}{
		{trace.LeaseAssigned, nil, nil}, {trace.RenewFailed, first, first}, {trace.RenewFailed, second, second}, {trace.LeaseKept, nil, nil},
		{trace.RenewFailed, first, first}, {trace.LeaseAssigned, nil, nil}, {trace.RenewFailed, first, first},
		{trace.RenewFailed, fmt.Errorf("%w: for 3 min", assigner.ErrQuarantined), nil},
	} {
		step.event(assigner.LeaseInfo{Err: step.err})
		if got := c.failure(); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}
