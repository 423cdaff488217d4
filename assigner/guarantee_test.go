package assigner_test

import (
	"slices"
	"testing"

	"github.com/uidring/uidring/assigner"
)

func TestGuaranteeStringAndOrder(t *testing.T) {
	var names []string
	for g := assigner.GuaranteeDerived - 1; g <= assigner.GuaranteeFenced+1; g++ {
		names = append(names, g.String())
	}
	if want := []string{"guarantee(-1)", "derived", "sticky", "lossy", "fresh", "fenced", "guarantee(5)"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	var zero assigner.Guarantee
	if zero != assigner.GuaranteeDerived {
		t.Errorf("the zero Guarantee is %v, want the weakest", zero)
	}
}
