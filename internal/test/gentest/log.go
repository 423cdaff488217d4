package gentest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/bubble"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/recorder"
)

// An occasion makes a generator log.
type occasion struct {
	answer     func(*fakeassigner.Assigner)
	config     func(*keeper.Settings)
	invalidate bool   // in the middle
	stuck      bool   // the worker ID cannot be released
	want       string // between the first worker ID, 1, and the release of the last one
	worker     int    // the last worker ID
}

const assigned = `
level=INFO msg="worker ID assigned" worker=%d datacenter=3 guarantee=fresh`

// text returns the whole log.
func (o occasion) text() string {
	text := fmt.Sprintf(assigned, 1) + o.want
	if o.worker == 2 {
		text += fmt.Sprintf(assigned, 2)
	}
	if !o.stuck {
		text += fmt.Sprintf("\nlevel=INFO msg=\"worker ID released\" worker=%d", max(o.worker, 1))
	}
	return text
}

// passing is an error of Assign that says when to retry.
type passing struct {
	error
	after time.Duration
}

func (e passing) RetryAfter() time.Duration { return e.after }

// onRenewals returns an answer whose nth renewal fails as fail says.
func onRenewals(fail func(nth int64) error) func(*fakeassigner.Assigner) {
	return func(s *fakeassigner.Assigner) {
		s.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error { return fail(s.Renewals.Load()) }
	}
}

// occasions has one for each record of a generator.
func occasions() map[string]occasion {
	refused := errors.New("connection refused")
	return map[string]occasion{
		"lost": {worker: 2, answer: onRenewals(func(nth int64) error {
			if nth == 1 {
				return fmt.Errorf("%w: taken over by \"b\"", assigner.ErrWorkerRowLost)
			}
			return nil
		}), want: `
level=ERROR msg="worker ID lost" worker=1 error="assigner: worker row lost: taken over by \"b\""`},
		"outage": {answer: onRenewals(func(nth int64) error {
			if nth < 10 {
				return refused
			}
			return nil
		}), want: `
level=WARN msg="worker ID: call to the store failed" worker=1 error="connection refused"
level=INFO msg="worker ID: the store answers again" worker=1`},
		"quarantine": {worker: 2, answer: func(s *fakeassigner.Assigner) {
			s.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error { return assigner.ErrWorkerRowLost }
			s.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
				if nth == 2 {
					s.OnRenew = nil
					return assigner.Grant{}, passing{assigner.ErrQuarantined, 40 * time.Second}
				}
				return fakeassigner.Fresh(ctx, min(nth, 2), d)
			}
		}, want: `
level=ERROR msg="worker ID lost" worker=1 error="assigner: worker row lost"
level=WARN msg="waiting for a worker ID" retry=40s error="assigner: worker ID in quarantine"`},
		"end of the layout": {config: func(c *keeper.Settings) { c.Layout.DeltaBits, c.Epoch = 24, Start.Add(-24*time.Hour) }, want: `
level=WARN msg="the delta field is used up within a year" expires=2000-07-12T04:20:16.000Z layout=24/5/17/4@1s`},
		"invalidated": {worker: 2, invalidate: true, want: `
level=INFO msg="worker ID invalidated" worker=1`},
		"not released": {stuck: true, answer: func(s *fakeassigner.Assigner) {
			s.OnRelease = func(context.Context, assigner.Grant, int64) error { return refused }
		}, want: `
level=WARN msg="worker ID not released" worker=1 error="connection refused"`},
	}
}

// logRecords pins levels, messages and keys down, since operators search and alert for them.
func (s *suite) logRecords(t *testing.T) {
	for name, row := range occasions() {
		bubble.Run(t, name, func(t *testing.T) {
			var log recorder.Recorder
			store := &fakeassigner.Assigner{}
			if row.answer != nil {
				row.answer(store)
			}
			c := s.config(keeper.Settings{DatacenterID: 3, Assigner: store, Logger: log.TextLogger()})
			if row.config != nil {
				row.config(&c.Settings)
			}
			g, err := s.make(t, c)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if row.invalidate {
				invalidate(g)
			}
			time.Sleep(2 * time.Minute)
			if err := g.Close(); (err != nil) != row.stuck {
				t.Fatal(err)
			}
			if got := "\n" + strings.Join(log.Read(), "\n"); got != row.text() {
				t.Errorf("log:%s\nwant:%s", got, row.text())
			}
		})
	}
}
