package bitsalloc

import (
	"fmt"
	"strings"
	"time"
)

// presets are the layouts that have a name, in the order of PresetNames.
var presets = [...]func() Layout{Default, Recommended, Baidu, Snowflake, JavaScript}

// PresetNames returns the names that [ParseLayout] reads: default, recommended, baidu, snowflake,
// javascript.
func PresetNames() []string {
	return []string{"default", "recommended", "baidu", "snowflake", "javascript"}
}

// ParseLayout reads the name of a preset, in any letter case, or the widths of delta, datacenter,
// worker and sequence, then the unit: 41/0/10/12@1ms. Without a unit, a delta counts seconds.
// ParseLayout checks the form; [New] checks widths and unit.
func ParseLayout(text string) (Layout, error) {
	for i, name := range PresetNames() {
		if strings.EqualFold(text, name) {
			return presets[i](), nil
		}
	}
	l := Layout{Unit: time.Second}
	widths, unit, given := strings.Cut(text, "@")
	_, err := fmt.Sscanf(widths, "%d/%d/%d/%d", &l.DeltaBits, &l.DatacenterBits, &l.WorkerBits, &l.SequenceBits)
	//mutate:operand after an error the text differs, too
	ok := err == nil && strings.HasPrefix(l.String(), widths+"@") // Sscanf skips spaces and ignores the rest
	if ok && given {
		l.Unit, err = time.ParseDuration(unit)
		ok = err == nil
	}
	if !ok {
		return Layout{}, fmt.Errorf("%w: %q, allowed: %s, or widths and unit such as 28/5/17/13 or 41/0/10/12@1ms",
			ErrInvalidLayout, text, strings.Join(PresetNames(), ", "))
	}
	return l, nil
}

// String returns the widths and the unit in the form that [ParseLayout] reads, as in
// "28/5/17/13@1s".
func (l Layout) String() string {
	return fmt.Sprintf("%d/%d/%d/%d@%v", l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.Unit)
}

// MarshalText returns [Layout.String], for flags, JSON and configuration files.
func (l Layout) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is [ParseLayout]. After an error l is unchanged.
func (l *Layout) UnmarshalText(text []byte) (err error) {
	parsed, err := ParseLayout(string(text))
	if err == nil {
		*l = parsed
	}
	return err
}
