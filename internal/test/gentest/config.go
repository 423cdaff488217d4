package gentest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// eachMistake makes one mistake in each field that the packages share, and four at once: none hides
// another one.
func (s *suite) eachMistake(t *testing.T) {
	now := Start.AddDate(1, 0, 0).In(time.FixedZone("", 3600))
	others := []string{"Assigner nil", "AssignTimeout -1ns", "DatacenterID -1"}
	for name, row := range map[string]struct {
		spoil func(*Config)
		is    error
		want  []string // the field and the value given, the values allowed
	}{
		"no assigner":       {func(c *Config) { c.Assigner = nil }, uidring.ErrInvalidConfig, []string{"Assigner nil", "such as sqlassigner.Leased", "no worker ID is safe by default"}},
		"timeout":           {func(c *Config) { c.AssignTimeout = -time.Second }, uidring.ErrInvalidConfig, []string{"AssignTimeout -1s", "at least 1ms"}},
		"datacenter above":  {func(c *Config) { c.DatacenterID = 32 }, uidring.ErrInvalidConfig, []string{"DatacenterID 32", "28/5/17/4@1s", "0 to 31"}},
		"datacenter below":  {func(c *Config) { c.DatacenterID = -1 }, uidring.ErrInvalidConfig, []string{"DatacenterID -1", "0 to 31"}},
		"epoch to come":     {func(c *Config) { c.Epoch = now.Add(time.Millisecond) }, uidring.ErrInvalidConfig, []string{"Epoch 2001-01-01 00:00:00.001 +0000 UTC", "not in the future; it is 2001-01-01 00:00:00 +0000 UTC"}},
		"clock of 1970":     {func(c *Config) { c.Epoch, c.Now = time.Time{}, func() time.Time { return time.Unix(0, 0) } }, uidring.ErrInvalidConfig, []string{"Epoch 2026-", "it is 1970-01-01"}},
		"200 bits":          {func(c *Config) { c.Layout.DatacenterBits = 200 }, bitsalloc.ErrInvalidLayout, []string{"allowed: at most 63"}},
		"layout":            {func(c *Config) { c.Layout.Unit = 7 * time.Second }, bitsalloc.ErrInvalidLayout, []string{"Unit 7s", "divide one minute"}},
		"epoch with µs":     {func(c *Config) { c.Epoch = c.Epoch.Add(time.Microsecond).In(now.Location()) }, bitsalloc.ErrInvalidLayout, []string{"epoch", "whole milliseconds"}},
		"layout at its end": {func(c *Config) { c.Layout.DeltaBits = 10 }, uidring.ErrTimeExhausted, []string{"10/5/17/4@1s", "ends at ", "choose more DeltaBits or a later epoch"}},
		"layout and epoch of Baidu": {func(c *Config) {
			c.Layout, c.Epoch, c.Now = bitsalloc.Baidu(), time.Unix(1463673600, 0), time.Now
		}, uidring.ErrTimeExhausted, []string{"28/0/22/13@1s", "ends at 2024-11-20T13:24:16Z"}},
		"four with the epoch": {func(c *Config) {
			c.Settings = keeper.Settings{Epoch: Start.AddDate(100, 0, 0), DatacenterID: -1, AssignTimeout: -1}
		}, uidring.ErrInvalidConfig, append(others, "Epoch 2100")},
		"four with the lease": {func(c *Config) {
			c.Settings = keeper.Settings{Assigner: assigner.Leased(nil, assigner.LeaseConfig{Window: -1}), DatacenterID: -1, AssignTimeout: -1}
		}, uidring.ErrInvalidConfig, []string{"store nil", "Window -1ns", others[1], others[2]}},
		"four with the layout": {func(c *Config) {
			c.Settings = keeper.Settings{Layout: bitsalloc.Layout{DeltaBits: 60, SequenceBits: 4, Unit: time.Second}, DatacenterID: -1, AssignTimeout: -1}
		}, bitsalloc.ErrInvalidLayout, append(others, "= 64, allowed: at most 63")},
		"four with the end": {func(c *Config) {
			c.Settings = keeper.Settings{Epoch: Start.AddDate(-20, 0, 0), DatacenterID: -1, AssignTimeout: -1}
		}, uidring.ErrTimeExhausted, append(others, "ends at")},
	} {
		t.Run(name, func(t *testing.T) {
			store := &fakeassigner.Assigner{}
			c := s.config(keeper.Settings{Assigner: store, Now: func() time.Time { return now }})
			row.spoil(&c)
			_, err := s.make(t, c)
			if !errors.Is(err, row.is) {
				t.Fatalf("New = %v, want %v", err, row.is)
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
			n, four := strings.Count(err.Error(), "\n")+1, strings.HasPrefix(name, "four")
			if four && n != 4 || !four && n != 1 || store.Assigns.Load() != 0 {
				t.Errorf("%d mistakes are reported, after %d calls of Assign:\n%v", n, store.Assigns.Load(), err)
			}
			if !four {
				s.checkField(t, c, err)
			}
		})
	}
}

// checkField asks that Validate reports the mistake of New, as a FieldError.
func (s *suite) checkField(t *testing.T, c Config, err error) {
	t.Helper()
	if again := s.Validate(c); again == nil || again.Error() != err.Error() {
		t.Errorf("Validate = %v, want the error of New, %v", again, err)
	}
	mistake, ok := errors.AsType[*uidring.FieldError](err)
	switch {
	case !ok:
		t.Errorf("no FieldError in %v", err)
	case errors.Is(err, bitsalloc.ErrInvalidLayout) && strings.Contains(err.Error(), "epoch ") != (mistake.Field == "Epoch"):
		t.Errorf("FieldError of %s for %v", mistake.Field, err)
	case mistake.Field == "Epoch" && !strings.HasSuffix(mistake.Given, "UTC"), mistake.Field == "Layout" && !isLayout(mistake.Given):
		t.Errorf("%s is given as %s", mistake.Field, mistake.Given)
	case mistake.Allowed == "" && (mistake.Field == "Layout" || mistake.Field == "Epoch") && mistake.Given != "":
	case !errors.Is(mistake, uidring.ErrInvalidConfig) ||
		err.Error() != fmt.Sprintf("%v: %s %s, allowed: %s", uidring.ErrInvalidConfig, mistake.Field, mistake.Given, mistake.Allowed):
		t.Errorf("FieldError %+v, want the parts of %v", mistake, err)
	}
}

func isLayout(text string) bool {
	_, err := bitsalloc.ParseLayout(text)
	return err == nil
}

func (s *suite) defaults(t *testing.T) {
	time.Sleep(time.Until(bitsalloc.DefaultEpoch().Add(time.Hour)))
	var timeout time.Duration
	store := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		deadline, _ := ctx.Deadline()
		timeout = time.Until(deadline)
		if d.Layout != bitsalloc.Default() || !d.Epoch.Equal(bitsalloc.DefaultEpoch()) || d.DatacenterID != 0 || !d.Registered {
			t.Errorf("Domain = %+v", d)
		}
		return fakeassigner.Fenced(60)(ctx, nth, d) // the process remembers a worker ID without a fence
	}}
	c := Config{Settings: keeper.Settings{Assigner: store}, Policy: s.policy}
	if err := s.Validate(c); err != nil {
		t.Error(err)
	}
	var log testkit.Recorder
	before := slog.Default()
	slog.SetDefault(log.TextLogger())
	g := s.openWith(t, c)
	slog.SetDefault(before)
	want := `level=WARN msg="the Layout was left out, and cannot change later" layout=28/5/17/13@1s ids_per_second=8192 ends=2034-07-04 worker_ids=131072 remedy=`
	if lines := log.Read(); len(lines) < 2 || !strings.HasPrefix(lines[len(lines)-1], want) {
		t.Errorf("logged by default: %q, want the worker ID, and %s", lines, want)
	}
	if timeout != 25*time.Second {
		t.Errorf("AssignTimeout: %v, want 25s for a claim", timeout)
	}
	expires := time.Date(2034, time.July, 4, 21, 24, 16, 0, time.UTC)
	if f, at := Wait(t, g), s.Stats(g).Expires; time.Until(f.Time).Abs() > s.Off || !at.Equal(expires) {
		t.Errorf("the first ID is of %v at %v, and the layout ends at %v", f.Time, time.Now(), at)
	}
}
