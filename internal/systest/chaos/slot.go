package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// A slot has one process after another, at times two at once. It belongs to one goroutine.
type slot struct {
	run    *chaosRun
	number int
	random *rand.Rand
	child  *child
}

// start puts a new process into the slot.
func (s *slot) start() error {
	number := int(s.run.figures.count(started))
	p := newProfile(s.run.options, s.random, s.number).through(s.run.server.DSN(), s.run.server.Addr(), s.run.links[s.number].Addr())
	p.Number = number
	var err error
	if s.child, err = startChild(s.run, p); err != nil {
		return fmt.Errorf("start process %d: %w", number, err)
	}
	return nil
}

// faults does one thing after another to the processes of the slot until ctx ends, and leaves one
// that runs and has the right clock.
func (s *slot) faults(ctx context.Context) error {
	for wait := between(s.random, 0, 8*time.Second); pause(ctx, wait); wait = between(s.random, 2*time.Second, 12*time.Second) {
		var err error
		switch n := s.random.IntN(14); {
		case n < 4:
			err = s.kill()
		case n < 9:
			s.freeze(ctx)
		case n < 11:
			err = s.replace(ctx)
		default:
			s.wrongClock(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *slot) kill() error {
	s.run.figures.count(killed)
	s.child.kill()
	return s.start()
}

// beyond is a time after which the lease of a process that is stopped has expired.
func (s *slot) beyond() time.Duration {
	return s.child.profile.expiry() + between(s.random, 500*time.Millisecond, 4*time.Second)
}

// freeze stops the process for longer than its lease lasts. It goes on as if nothing had
// happened.
func (s *slot) freeze(ctx context.Context) {
	s.run.figures.count(frozen)
	s.child.pause()
	pause(ctx, s.beyond())
	s.child.resume()
}

// replace starts a successor while the process is stopped, as a supervisor does that takes it for
// dead. Then both run.
func (s *slot) replace(ctx context.Context) error {
	s.run.figures.count(replaced)
	old := s.child
	old.pause()
	pause(ctx, between(s.random, 0, 2*time.Second))
	err := s.start()
	pause(ctx, between(s.random, time.Second, 10*time.Second))
	old.resume()
	pause(ctx, between(s.random, time.Second, 3*time.Second))
	old.kill()
	return err
}

// wrongClock makes the process take its next lease with a clock error up to maxSkew, or above.
func (s *slot) wrongClock(ctx context.Context) {
	s.run.figures.count(wrongClock)
	off := between(s.random, -maxSkew+10*time.Second, maxSkew-10*time.Second)
	if s.random.IntN(3) == 0 {
		off = maxSkew + between(s.random, 10*time.Second, time.Minute)
		if s.random.IntN(2) == 0 {
			off = -off
		}
	}
	s.child.command(commandClock + " " + off.String())
	s.child.command(commandAgain)
	pause(ctx, between(s.random, time.Second, 8*time.Second))
	s.child.command(commandClock + " 0s")
	if s.random.IntN(2) == 0 {
		s.child.command(commandAgain)
	}
}
