package assigner_test

import (
	"math"
	"slices"
	"testing"

	"github.com/uidring/uidring/assigner"
)

func TestGuaranteesAreNamedAndOrderedWeakestFirst(t *testing.T) {
	order := []assigner.Guarantee{
		assigner.GuaranteeDerived, assigner.GuaranteeSticky, assigner.GuaranteeLossy,
		assigner.GuaranteeFresh, assigner.GuaranteeFenced,
	}
	var names []string
	for i, g := range order {
		names = append(names, g.String())
		if i > 0 && order[i-1] >= g {
			t.Errorf("%v is not below %v", order[i-1], g)
		}
	}
	if want := []string{"derived", "sticky", "lossy", "fresh", "fenced"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	var zero assigner.Guarantee
	if zero != assigner.GuaranteeDerived {
		t.Errorf("the zero Guarantee is %v, want the weakest", zero)
	}
	for g, want := range map[assigner.Guarantee]string{
		-1: "guarantee(-1)", 5: "guarantee(5)", math.MaxInt32: "guarantee(2147483647)",
	} {
		if g.String() != want {
			t.Errorf("String = %q, want %q", g, want)
		}
	}
}

func TestOnlyAGrantWithALimitIsFenced(t *testing.T) {
	for limit, want := range map[int64]bool{
		assigner.Unlimited: false, assigner.Unlimited - 1: true, 1: true, 0: true,
	} {
		if got := (assigner.Grant{First: 1, Limit: limit}).Fenced(); got != want {
			t.Errorf("Limit %d: Fenced = %v, want %v", limit, got, want)
		}
	}
}
