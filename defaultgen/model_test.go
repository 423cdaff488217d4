package defaultgen_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
)

// A model predicts the results of a generator from its documentation, for one caller.
type model struct {
	cfg             defaultgen.Config
	maxDelta        int64
	maxSequence     int64
	delta, sequence int64 // of the last ID
	start           int64 // of its unit

	highest time.Time // the highest reading, carried on to the time at
	at      time.Time
}

// read says where the generator's clock is when it reads its user's as t.
func (m *model) read(t time.Time) time.Time {
	if m.cfg.OnClockBack != defaultgen.GoOn {
		return t
	}
	now := time.Now()
	m.highest = m.highest.Add(now.Sub(m.at))
	if m.at = now; t.After(m.highest) {
		m.highest = t
	}
	return m.highest
}

// next predicts the next ID or error at now.
func (m *model) next(now time.Time) (delta, sequence int64, err error) {
	since, unit := now.Sub(m.cfg.Epoch), m.cfg.Layout.Unit
	current := int64(since / unit)
	if since%unit < 0 {
		current--
	}
	behind := time.Duration(m.delta)*unit - since
	switch {
	case current < m.delta: // never with GoOn
		return 0, 0, generator.Passing{Err: defaultgen.ErrClockBack, After: behind}
	case current == m.delta && m.sequence < m.maxSequence:
		return m.delta, m.sequence + 1, nil
	case current == m.delta:
		return 0, 0, defaultgen.ErrSequenceExhausted
	case current > m.maxDelta:
		return 0, 0, defaultgen.ErrTimeExhausted
	}
	if m.sequence-m.start+1 > (m.maxSequence+1)/2 {
		return current, 0, nil
	}
	return current, generator.Scatter((current<<10|1)<<m.cfg.Layout.SequenceBits, m.cfg.Layout.SequenceBits), nil // of worker ID 1
}

// checkID compares an ID with the prediction of the model, and checks the properties of every ID.
func (m *model) checkID(t *testing.T, g *defaultgen.Generator, id int64, now time.Time) {
	t.Helper()
	delta, sequence, err := m.next(now)
	f := gentest.ParseID(t, g, id)
	if err != nil || f.Delta != delta || f.Sequence != sequence || f.WorkerID != 1 || f.DatacenterID != 0 {
		t.Fatalf("ID %v, want unit %d, sequence %d, error %v", f, delta, sequence, err)
	}
	if id <= 0 || f.Delta < m.delta || f.Delta == m.delta && f.Sequence <= m.sequence {
		t.Fatalf("ID %v after unit %d, sequence %d", f, m.delta, m.sequence)
	}
	if ahead := f.Time.Sub(now); ahead > 0 || ahead <= -m.cfg.Layout.Unit {
		t.Fatalf("ID %v at %v", f, now)
	}
	if f.Delta > m.delta {
		m.start = f.Sequence
	}
	m.delta, m.sequence = f.Delta, f.Sequence
}

// checkError compares an error with the prediction of the model, and asks that no ID comes with it;
// waited is whether it may come from waiting.
func (m *model) checkError(t *testing.T, id int64, err error, now time.Time, waited bool) {
	t.Helper()
	if id != 0 {
		t.Fatalf("ID %d with error %v", id, err)
	}
	_, _, want := m.next(now)
	back, ok := errors.AsType[generator.Passing](want)
	if ok {
		want = back.Err
	}
	if want == nil || !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
	if after, passes := uidring.RetryAfter(err); ok && (!passes || after != back.After || !strings.HasSuffix(err.Error(), fmt.Sprint(": by ", after))) {
		t.Fatalf("error %v, again after %v, want %v", err, after, back.After)
	}
	passes := want == defaultgen.ErrSequenceExhausted || ok
	if errors.Is(err, context.Canceled) != (waited && passes) {
		t.Fatalf("error %v, want one from waiting: %v", err, waited && passes)
	}
}

// checkWait calls NextContext while the user's clock stands still at reading, which only the clock
// that GoOn carries on does not mind.
func (m *model) checkWait(t *testing.T, g *defaultgen.Generator, reading time.Time) {
	t.Helper()
	now := m.read(reading)
	wait := time.Duration(0)
	if _, _, err := m.next(now); err == defaultgen.ErrSequenceExhausted {
		wait = m.cfg.Epoch.Add(time.Duration(m.delta+1) * m.cfg.Layout.Unit).Sub(now)
	}
	began := time.Now()
	id, err := g.NextContext(t.Context())
	if took := time.Since(began); took != wait {
		t.Fatalf("NextContext took %v, want %v: %v", took, wait, err)
	}
	now = m.read(reading)
	if err != nil {
		m.checkError(t, id, err, now, false)
		return
	}
	m.checkID(t, g, id, now)
}

// play drives a generator and its model through a script: pairs of an action and a size. It runs in
// a bubble.
func play(t *testing.T, cfg defaultgen.Config, script []byte) {
	g, clock := onFakeClock(t, cfg)
	cfg.Epoch = g.Stats().Expires.Add(-cfg.Layout.Unit << cfg.Layout.DeltaBits)
	m := &model{
		cfg: cfg, maxDelta: 1<<cfg.Layout.DeltaBits - 1, maxSequence: 1<<cfg.Layout.SequenceBits - 1,
		highest: clock.Now(), at: time.Now(),
	}
	m.sequence, m.start = m.maxSequence, m.maxSequence+1 // unit 0 is used up, and was not busy
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	scales := [...]time.Duration{1, cfg.Layout.Unit / 4, cfg.Layout.Unit, 20 * cfg.Layout.Unit}
	for ; len(script) >= 2; script = script[2:] {
		action, size := script[0], script[1]
		by := time.Duration(size) * scales[action>>3&3]
		switch action & 7 {
		case 0, 1:
			now := m.read(clock.Now())
			id, err := g.Next()
			if err != nil {
				m.checkError(t, id, err, now, false)
				continue
			}
			m.checkID(t, g, id, now)
		case 2:
			if action>>5&1 == 1 && cfg.OnClockBack == defaultgen.GoOn {
				m.checkWait(t, g, clock.Now())
				continue
			}
			now := m.read(clock.Now())
			id, err := g.NextContext(ended)
			if err != nil {
				m.checkError(t, id, err, now, true)
				continue
			}
			m.checkID(t, g, id, now)
		case 3:
			m.checkFill(t, g, int(size), clock.Now())
		case 4:
			clock.Advance(by)
		case 5:
			clock.Advance(-by)
		case 6: // the clock stands still, or goes on
			time.Sleep(by)
		case 7:
			time.Sleep(by)
			clock.Advance(by)
		}
	}
}

// checkFill asks for n IDs while the user's clock stands still at reading.
func (m *model) checkFill(t *testing.T, g *defaultgen.Generator, n int, reading time.Time) {
	t.Helper()
	now := reading
	if n > 0 { // else it does not look at the clock
		now = m.read(reading)
	}
	ids := make([]int64, n)
	got, err := g.Fill(ids)
	for _, id := range ids[:got] {
		m.checkID(t, g, id, now)
	}
	if slices.ContainsFunc(ids[got:], func(id int64) bool { return id != 0 }) {
		t.Fatalf("Fill = %d, and more in dst: %d", got, ids)
	}
	if got < n || err != nil {
		m.checkError(t, 0, err, now, false)
	}
}

// forever grants a worker without a fence, whose renewals do not move an idle generator on.
func forever(worker int64) assigner.Assigner {
	grant := assigner.Grant{WorkerID: worker, First: 1, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeFresh}
	return &fakeassigner.Assigner{OnAssign: gentest.Always(grant)}
}

// scripted is the generator that policy and bits, cut down to size, stand for.
func scripted(policy, bits uint8) defaultgen.Config {
	bits = bits % 5 * 2
	return defaultgen.Config{
		Layout:      bitsalloc.Layout{DeltaBits: 14, WorkerBits: 10, SequenceBits: bits, Unit: 10 * time.Millisecond},
		Assigner:    forever(1),
		OnClockBack: defaultgen.ClockBackPolicy(policy % 2),
	}
}

// Scripts are short: a clock that GoOn carries on soon is at the end of its layout.
func TestAnyClockGivesUniqueIncreasingIDs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	script := make([]byte, 200)
	for policy := range uint8(2) {
		for bits := range uint8(5) {
			for range 40 {
				for i := range script {
					script[i] = byte(random.Uint32())
				}
				cfg := scripted(policy, bits)
				synctest.Test(t, func(t *testing.T) { play(t, cfg, script) })
			}
		}
	}
}

func FuzzAnyClockGivesUniqueIncreasingIDs(f *testing.F) {
	const take, wait, takeMany, forward, back, sleep, goOn = 0, 2 | 1<<5, 3, 4 | 1<<3, 5 | 1<<3, 6 | 1<<3, 7 | 1<<3 // quarters of a unit
	for policy := range uint8(2) {
		f.Add(policy, uint8(2), []byte{take, 0, takeMany, 9, forward, 5, take, 0, back, 9, takeMany, 9, forward, 30, take, 0})
		f.Add(policy, uint8(2), []byte{takeMany, 9, back, 99, wait, 0, takeMany, 9, sleep, 5, takeMany, 9, goOn, 9, take, 0, forward, 120, takeMany, 9, wait, 0})
	}
	f.Fuzz(func(t *testing.T, policy, bits uint8, script []byte) {
		synctest.Test(t, func(t *testing.T) { play(t, scripted(policy, bits), script) })
	})
}
