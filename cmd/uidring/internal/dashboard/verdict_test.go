package dashboard

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// fine is a situation without trouble: a leased worker ID and a full ring.
func fine() situation {
	return situation{
		stats:  cached.Stats{Limit: 100, Window: time.Minute, WindowLasts: 58 * time.Second, Remaining: 65536, Capacity: 65536},
		limits: newLimits(Config{}),
		issued: 100,
	}
}

func TestVerdicts(t *testing.T) {
	const unreachable = "IDs are issued until the lease ends, then none until the store of worker IDs answers. The log says why it does not."
	const wrong = "IDs are unique all the same. OPERATIONS.md says under UidringAhead and UidringBehind when that is expected."
	noLease := reason{"No worker ID is held", "The store has not renewed the lease."}
	farAhead := reason{"ID time is too far ahead", "More IDs were drawn than the clock allows."}
	for _, test := range []struct {
		name   string
		change func(*situation)
		want   verdict
	}{
		{"all right", func(*situation) {}, verdict{good, "Issuing", "", "IDs are ready, and the store of worker IDs answers."}},
		{"nobody asks", func(s *situation) { s.issued = 0 }, verdict{good, "Issuing", "", "IDs are ready, and the store of worker IDs answers."}},
		{"no fence", func(s *situation) { s.stats.Limit, s.stats.WindowLasts = assigner.Unlimited, 0 }, verdict{good, "Issuing", "", "IDs are ready."}},
		{"an empty ring alone", func(s *situation) { s.stats.Remaining = 0 }, verdict{good, "Issuing", "", "IDs are ready, and the store of worker IDs answers."}},
		{"no lease", func(s *situation) { s.stats.Remaining, s.unready, s.failing = 0, noLease, true },
			verdict{bad, "Not issuing", ": no worker ID is held", "The store has not renewed the lease."}},
		{"shutting down", func(s *situation) { s.unready = reason{"Shutting down", "Use another server."} },
			verdict{bad, "Not ready", ": shutting down", "Use another server."}},
		{"all are rejected", func(s *situation) { s.issued, s.rejected, s.refusal = 0, 7, farAhead },
			verdict{bad, "Not issuing", ": ID time is too far ahead", "More IDs were drawn than the clock allows."}},
		{"all are rejected for no known reason", func(s *situation) { s.issued, s.rejected = 0, 1 },
			verdict{bad, "Not issuing", ": requests get no IDs", "The log of the server says why."}},
		{"some are rejected", func(s *situation) { s.rejected, s.refusal = 7, farAhead },
			verdict{warn, "Issuing, not to all", ": ID time is too far ahead", "7 calls in the last 10 s got no ID. More IDs were drawn than the clock allows."}},
		{"one was rejected", func(s *situation) { s.rejected = 1 }, verdict{warn, "Issuing, not to all", "", "1 call in the last 10 s got no ID."}},
		{"the store is lost", func(s *situation) { s.failing, s.stats.WindowLasts = true, 22900*time.Millisecond },
			verdict{warn, "Store unreachable", ", 22 s left", unreachable}},
		{"and not much is left", func(s *situation) { s.failing, s.stats.WindowLasts = true, 9*time.Second },
			verdict{bad, "Store unreachable", ", 9 s left", unreachable}},
		{"and the lease is used up", func(s *situation) { s.failing, s.stats.WindowLasts, s.stats.Remaining = true, 0, 12345 },
			verdict{bad, "Store unreachable", ", 12,345 IDs left",
				"The lease is used up: IDs are issued until the ring is empty, then none until the store of worker IDs answers. The log says why it does not."}},
		{"a long window", func(s *situation) { s.failing, s.stats.WindowLasts = true, 3*time.Hour }, verdict{warn, "Store unreachable", ", 3 h left", unreachable}},
		{"some minutes", func(s *situation) { s.failing, s.stats.WindowLasts = true, 150*time.Second }, verdict{warn, "Store unreachable", ", 2 min left", unreachable}},
		{"5xx", func(s *situation) { s.failed = 3 },
			verdict{warn, "Issuing, with errors", "", "3 requests in the last 10 s got an answer with status 5xx. The metrics and the log say which."}},
		{"a segment without a range", func(s *situation) { s.segments = []string{"invoices", "orders"} },
			verdict{warn, "Issuing, not from all segments", ": no range for invoices, orders", "Their counters have given no further range. The log says why."}},
		{"a segment without a range, which gives 5xx", func(s *situation) { s.segments, s.failed = []string{"orders"}, 1 },
			verdict{warn, "Issuing, not from all segments", ": no range for orders", "Their counters have given no further range. The log says why."}},
		{"a low window", func(s *situation) { s.stats.WindowLasts = 8 * time.Second },
			verdict{warn, "Issuing, lease window low", ": 8 s left", "The store of worker IDs answers, but grants less than IDs are used. Expected for a moment in a burst."}},
		{"a window at the limit", func(s *situation) { s.stats.WindowLasts = 10 * time.Second },
			verdict{good, "Issuing", "", "IDs are ready, and the store of worker IDs answers."}},
		{"far ahead", func(s *situation) { s.stats.Ahead = 10 * time.Minute }, verdict{warn, "Issuing, far ahead of the clock", " by 10 min", wrong}},
		{"almost far ahead", func(s *situation) { s.stats.Ahead = 10*time.Minute - 1 },
			verdict{good, "Issuing", "", "IDs are ready, and the store of worker IDs answers."}},
		{"far behind", func(s *situation) { s.stats.Ahead = -4 * time.Minute }, verdict{warn, "Issuing, far behind the clock", " by 4 min", wrong}},
		{"the layout ends", func(s *situation) { s.stats.Expiring, s.stats.Expires = true, time.Unix(2e9, 0) },
			verdict{warn, "Issuing, layout ends soon", " on 2033-05-18", "Less than a year is left: after that no server with this layout and epoch issues IDs."}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := fine()
			test.change(&s)
			if got := judge(s); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestLimitsFollowTheSettings(t *testing.T) {
	for _, test := range []struct {
		cfg  Config
		want limits
	}{
		{Config{}, limits{10, 600, -180, 0.5}},
		{Config{Window: time.Minute, MaxAhead: time.Hour}, limits{20, 600, -180, 0.5}},
		{Config{MaxAhead: 30 * time.Second}, limits{10, 30, -180, 0.5}},
	} {
		if got := newLimits(test.cfg); got != test.want {
			t.Errorf("window %v, max-ahead %v: %+v, want %+v", test.cfg.Window, test.cfg.MaxAhead, got, test.want)
		}
	}
}
