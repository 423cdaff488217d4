package dashboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestVerdicts(t *testing.T) {
	refused := outage{time.Date(2026, 11, 23, 9, 31, 5, 0, time.UTC), fmt.Errorf("store: %w", syscall.ECONNREFUSED)}
	const silent = "Store mysql://db/ids has not answered since 09:31:05 UTC: connection refused. Bring it back. Do not restart servers: a start needs the store."
	const ahead = "IDs stay unique. If it falls, wait: a burst or an earlier server is the cause. If it grows, add servers. Check the clock of this host, too."
	const behind = "IDs stay unique, and show a time that is too early: the machine was suspended, or its clock was set. If that matters, restart the server."
	const tooFast = "Clients draw more IDs than the layout has per second. Add servers, or limit clients with rate."
	fine := verdict{good, "Issuing", "", "IDs are ready, and the store of worker IDs answers.", ""}
	const noStore, noTakes = "uidringstoreunreachable", "uidringrejectedtakes"
	for _, test := range []struct {
		name   string
		change func(*situation)
		want   verdict
	}{
		{"all right", func(*situation) {}, fine},
		{"without requests", func(s *situation) { s.issued = 0 }, fine},
		{"no fence", func(s *situation) { s.stats.LastGranted, s.stats.WindowLasts = assigner.Unlimited, 0 }, verdict{good, "Issuing", "", "IDs are ready.", ""}},
		{"an empty ring alone", func(s *situation) { s.stats.Remaining = 0 }, fine},
		{"no lease, from a store that answers", func(s *situation) { s.stats.Remaining, s.unready = 0, "no-lease" },
			verdict{bad, "Not issuing", ": no worker ID is held",
				"The lease is used up or lost. The server tries to get another by itself; if that takes more than a minute, its log says why.", "uidringleasewindowlow"}},
		{"no lease, from a store that is down", func(s *situation) { s.stats.Remaining, s.unready, s.outage = 0, "no-lease", refused },
			verdict{bad, "Not issuing", ": store unreachable", silent, "uidringleasewindowlow"}},
		{"shutting down", func(s *situation) { s.unready = "shutting-down" },
			verdict{bad, "Not ready", ": shutting down", "The server was told to end, and finishes the requests under way.", ""}},
		{"all are rejected", func(s *situation) { s.issued, s.rejected, s.refusal = 0, 7, "too-far-ahead" },
			verdict{bad, "Not issuing", ": ID time is too far ahead", tooFast, "uidringahead"}},
		{"some are refused before the generator", func(s *situation) { s.failed, s.unready, s.refusal = 7, "too-far-ahead", "too-far-ahead" },
			verdict{warn, "Issuing, not to all", ": ID time is too far ahead", "7 requests in the last 10 s got no ID. " + tooFast, "uidringahead"}},
		{"all are refused before the generator", func(s *situation) { s.issued, s.failed, s.unready, s.refusal = 0, 7, "too-far-ahead", "too-far-ahead" },
			verdict{bad, "Not issuing", ": ID time is too far ahead", tooFast, "uidringahead"}},
		{"all are rejected for no known reason", func(s *situation) { s.issued, s.rejected = 0, 1 },
			verdict{bad, "Not issuing", ": requests get no IDs", "The log of the server says why.", noTakes}},
		{"some are rejected", func(s *situation) { s.rejected, s.refusal = 7, "too-far-ahead" },
			verdict{warn, "Issuing, not to all", ": ID time is too far ahead", "7 requests in the last 10 s got no ID. " + tooFast, "uidringahead"}},
		{"a rare reason", func(s *situation) { s.rejected, s.refusal = 7, "none-ready" },
			verdict{warn, "Issuing, not to all", ": none ready", "7 requests in the last 10 s got no ID. The log of the server says why.", noTakes}},
		{"some were rejected in an outage that is over", func(s *situation) { s.rejected, s.refusal = 7, "no-lease" },
			verdict{warn, "Issuing, not to all", "", "7 requests in the last 10 s got no ID.", noTakes}},
		{"one was rejected", func(s *situation) { s.rejected = 1 }, verdict{warn, "Issuing, not to all", "", "1 request in the last 10 s got no ID.", noTakes}},
		{"the store is down", func(s *situation) { s.outage, s.stats.WindowLasts = refused, 22900*time.Millisecond },
			verdict{warn, "Store unreachable", ", IDs for another 22 s", silent, noStore}},
		{"it refuses calls", func(s *situation) { s.outage = outage{refused.since, errors.New("access denied")} },
			verdict{warn, "Store fails", ", IDs for another 58 s", "Store mysql://db/ids has refused calls since 09:31:05 UTC: access denied. Correct that; the server then goes on by itself.", noStore}},
		{"and not much is left", func(s *situation) { s.outage, s.stats.WindowLasts = refused, 9*time.Second },
			verdict{bad, "Store unreachable", ", IDs for another 9 s", silent, noStore}},
		{"and the lease is used up", func(s *situation) { s.outage, s.stats.WindowLasts, s.stats.Remaining = refused, 0, 12345 },
			verdict{bad, "Store unreachable", ", 12345 IDs left", silent, noStore}},
		{"some minutes", func(s *situation) { s.outage, s.stats.WindowLasts = refused, 150*time.Second }, verdict{warn, "Store unreachable", ", IDs for another 2 min", silent, noStore}},
		{"5xx", func(s *situation) { s.failed = 3 },
			verdict{warn, "Issuing, with errors", "", "3 requests in the last 10 s got an answer with status 5xx. The metrics and the log say which.", "uidringrequestsfail"}},
		{"a segment without a range, which gives 5xx", func(s *situation) {
			s.segments, s.segmentErr, s.failed = []string{"invoices", "orders"}, context.DeadlineExceeded, 1
		}, verdict{warn, "Issuing, not from all segments", ": no range for invoices, orders",
			"The store has given their counters no further range: no answer in time.", "uidringsegmentsourcefails"}},
		{"a low window", func(s *situation) { s.stats.WindowLasts = 8 * time.Second },
			verdict{warn, "Issuing, lease window low", ": 8 s left", "The store of worker IDs answers, but grants less than IDs are used. Expected for a moment in a burst; if it lasts, set a larger window.", "uidringleasewindowlow"}},
		{"a window at the limit", func(s *situation) { s.stats.WindowLasts = 10 * time.Second }, fine},
		{"far ahead", func(s *situation) { s.stats.Ahead = 10 * time.Minute }, verdict{warn, "Issuing, far ahead of the clock", " by 10 min", ahead, "uidringahead"}},
		{"almost far ahead", func(s *situation) { s.stats.Ahead = 10*time.Minute - 1 }, fine},
		{"far behind", func(s *situation) { s.stats.Ahead = -4 * time.Minute }, verdict{warn, "Issuing, far behind the clock", " by 4 min", behind, "uidringbehind"}},
		{"the layout ends", func(s *situation) { s.stats.Expires = time.Unix(1e9, 0) },
			verdict{warn, "Issuing, layout ends soon", " on 2001-09-09", "Less than a year is left: after that no server with this layout and epoch issues IDs.", "a-layout-is-about-to-end"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := situation{
				stats:  cached.Stats{LastGranted: 100, Window: time.Minute, WindowLasts: 58 * time.Second, Remaining: 65536, Capacity: 65536, Expires: time.Now().AddDate(2, 0, 0)},
				limits: newLimits(Config{MaxAhead: time.Hour, Window: 30 * time.Second}), issued: 100, store: "mysql://db/ids",
			}
			test.change(&s)
			got := judge(s)
			got.Book = strings.TrimPrefix(got.Book, runBook)
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
			wantSection(t, got.Book)
		})
	}
}

// wantSection wants a heading in OPERATIONS.md.
func wantSection(t *testing.T, section string) {
	t.Helper()
	page, err := os.ReadFile("../../../../docs/OPERATIONS.md")
	testkit.Must(t, err)
	if heading := "\n### " + strings.ReplaceAll(section, "-", " ") + "\n"; section != "" && !strings.Contains(strings.ToLower(string(page)), heading) {
		t.Errorf("OPERATIONS.md has no heading %q", heading)
	}
}

// An outage lasts from the first failed call to the next answer, and has the last error.
func TestStoreCallsKnowAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c StoreCalls
		trace, began := c.Trace(), time.Now()
		first, second := errors.New("first"), errors.New("second")
		for i, step := range []struct {
			event func()
			want  outage
		}{
			{func() { trace.LeaseAssigned(assigner.LeaseInfo{}) }, outage{}},
			{func() { trace.RenewFailed(assigner.LeaseInfo{Err: first}) }, outage{began.Add(time.Second), first}},
			{func() { trace.RenewFailed(assigner.LeaseInfo{Err: second}) }, outage{began.Add(time.Second), second}},
			{func() { trace.LeaseKept(assigner.LeaseInfo{}) }, outage{}},
			{func() { trace.RenewFailed(assigner.LeaseInfo{Err: first}) }, outage{began.Add(4 * time.Second), first}},
			{func() { trace.LeaseAssigned(assigner.LeaseInfo{}) }, outage{}},
			{func() { trace.RenewFailed(assigner.LeaseInfo{Err: first}) }, outage{began.Add(6 * time.Second), first}},
			{func() {
				trace.RenewFailed(assigner.LeaseInfo{Err: fmt.Errorf("%w: for 3 min", assigner.ErrQuarantined)})
			}, outage{}},
		} {
			step.event()
			if got := c.outage(); !got.since.Equal(step.want.since) || got.err != step.want.err {
				t.Errorf("step %d: %v, want %v", i, got, step.want)
			}
			time.Sleep(time.Second)
		}
	})
}
