package segment_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/segment"
)

// Each Config is at one end of all that is allowed, or right beyond it.
func TestConfigs(t *testing.T) {
	source, long := new(scripted), strings.Repeat("x", 128)
	many := make([]segment.Source, 64)
	for i := range many {
		many[i] = source
	}
	for name, tt := range map[string]struct {
		cfg  segment.Config
		want []string // the mistakes
	}{
		"defaults": {segment.Config{Name: "a", Source: source}, nil},
		"smallest": {segment.Config{Name: "a", Source: source, Step: 1, MaxStep: 1, RangeLasts: 1, Prefetch: 1, FetchTimeout: 1}, nil},
		"largest": {segment.Config{Name: long, Source: source, Others: many[1:], Step: 1 << 40, MaxStep: 1 << 40, RangeLasts: math.MaxInt64,
			Prefetch: 64, OnEmpty: segment.Reject, FetchTimeout: math.MaxInt64}, nil},
		"a Step above the default MaxStep": {segment.Config{Name: "a", Source: source, Step: 5_000_000}, nil},
		"too small": {segment.Config{Others: []segment.Source{nil}, Step: -1, MaxStep: -2, RangeLasts: -1, Prefetch: -1, OnEmpty: -1, FetchTimeout: -1},
			[]string{`Name "", allowed: 1 to 128 bytes`, "Source nil, allowed: any, such as sqlassigner.SegmentSource",
				"Others[0] nil, allowed: any source", "Step -1, allowed: 1 to 1099511627776", "MaxStep -2, allowed: Step, -1, to 1099511627776",
				"RangeLasts -1ns, allowed: more than 0", "Prefetch -1, allowed: 1 to 64", "OnEmpty -1, allowed: FetchInline, Reject",
				"FetchTimeout -1ns, allowed: more than 0"}},
		"too large": {segment.Config{Name: long + "x", Others: many, Step: 1<<40 + 1, MaxStep: 1<<40 + 1, Prefetch: 65, OnEmpty: 2},
			[]string{`Name "` + long + `x", allowed: 1 to 128 bytes`, "Source nil, allowed: any, such as sqlassigner.SegmentSource", "Others with 64 sources, allowed: up to 63",
				"Step 1099511627777, allowed: 1 to 1099511627776", "MaxStep 1099511627777, allowed: Step, 1099511627777, to 1099511627776",
				"Prefetch 65, allowed: 1 to 64", "OnEmpty 2, allowed: FetchInline, Reject"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.cfg.Validate()
			checkMistakes(t, err, tt.want)
			if tt.want == nil {
				return
			}
			if _, newErr := segment.New(tt.cfg); newErr.Error() != err.Error() {
				t.Errorf("New: %v", newErr)
			}
			if first, ok := errors.AsType[*uidring.FieldError](err); !ok || first.Field != "Name" {
				t.Errorf("the first mistake is %+v, want a FieldError of Name", first)
			}
		})
	}
}

// checkMistakes compares the text of an error with the mistakes in a Config.
func checkMistakes(t *testing.T, err error, want []string) {
	t.Helper()
	var got []string
	if err != nil {
		got = strings.Split(err.Error(), "\n")
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != "uidring: invalid config: "+want[i] {
			t.Fatalf("%v, want the mistakes\n%s", err, strings.Join(want, "\n"))
		}
	}
	if err != nil && !errors.Is(err, segment.ErrInvalidConfig) {
		t.Errorf("%v is not ErrInvalidConfig", err)
	}
}

func TestNumbersConfigs(t *testing.T) {
	good := segment.Config{Name: strings.Repeat("x", 119), Source: new(scripted)}
	long := segment.Config{Name: good.Name + "x", Source: good.Source, Step: -1}
	for _, tt := range []struct {
		cfg  segment.NumbersConfig
		want []string
	}{
		{segment.NumbersConfig{Counter: good}, nil},
		{segment.NumbersConfig{Counter: segment.Config{Name: long.Name, Source: good.Source}, Period: segment.Forever, Width: 19}, nil},
		{segment.NumbersConfig{Counter: good, Period: -1, Width: -1}, []string{"Period -1, allowed: Daily, Monthly, Yearly, Forever", "Width -1, allowed: 0 to 19"}},
		{segment.NumbersConfig{Counter: long, Period: 4, Width: 20},
			[]string{"Step -1, allowed: 1 to 1099511627776", "Period 4, allowed: Daily, Monthly, Yearly, Forever",
				`Name "` + long.Name + `", allowed: up to 119 bytes, unless Period is Forever`, "Width 20, allowed: 0 to 19"}},
	} {
		checkMistakes(t, tt.cfg.Validate(), tt.want)
		n, err := segment.NewNumbers(tt.cfg)
		checkMistakes(t, err, tt.want)
		if n != nil {
			_ = n.Close() // before there is a generator
		}
	}
}
