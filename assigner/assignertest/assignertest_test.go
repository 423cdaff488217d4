package assignertest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

// brokenEnv is set in the process that runs TestBroken.
const brokenEnv = "UIDRING_ASSIGNERTEST_BROKEN"

// suites run on implementations in memory, with a fault.
var suites = map[string]func(t *testing.T, fault string){
	"RunStore": func(t *testing.T, fault string) {
		assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture { return storeFixture(fault) })
	},
	"RunFaults": func(t *testing.T, fault string) {
		assignertest.RunFaults(t, func(t *testing.T) assignertest.StoreFixture { return remoteFixture(t, fault) })
	},
	"Run": func(t *testing.T, fault string) {
		assignertest.Run(t, func(*testing.T) assignertest.AssignerFixture {
			shared := brokenAssigner(fault)
			return assignertest.AssignerFixture{
				Assigner:  func(string) assigner.Assigner { return shared },
				Guarantee: assigner.GuaranteeFresh,
			}
		})
	},
}

func TestSuitesPassWithoutAFault(t *testing.T) {
	for name, suite := range suites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite(t, "none")
		})
	}
	t.Run("lossy", func(t *testing.T) {
		if testing.Short() {
			t.Skip("waits for quarantines")
		}
		t.Parallel()
		suites["RunStore"](t, "none, but lossy")
	})
	t.Run("RunStore over HTTP", func(t *testing.T) {
		t.Parallel()
		assignertest.RunStore(t, func(t *testing.T) assignertest.StoreFixture { return remoteFixture(t, "none") })
	})
}

func TestLeasesConform(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, func(*testing.T) assignertest.AssignerFixture {
		store := storeFixture("none").Handle()
		return assignertest.AssignerFixture{
			Assigner:  func(string) assigner.Assigner { return assigner.Leased(store, assigner.LeaseConfig{}) },
			Guarantee: assigner.GuaranteeFenced, Reusable: true,
		}
	})
}

// faults names for each fault a case that must fail.
var faults = map[string]map[string]string{
	"RunStore": {
		"not shared":        "FirstStartsAtOnceSucceed",
		"clock off":         "StatusIsStable",
		"swap creates":      "NothingIsThereAtFirst",
		"compares floats":   "SwapIsRefusedUnlessAllMatches",
		"loses fields":      "RowsComeBackAsWritten",
		"wrong expiry":      "StoresClockSetsTheExpiry",
		"seen once":         "SeenIsTheTimeOfTheLastWrite",
		"checks, then acts": "OneOfManySwapsWins",
		"refuses conflicts": "EqualSwapsAtOnceAllCount",
		"ignores context":   "EndedContextChangesNothing",
		"checks no names":   "OneOfTheNamespacesThatLookAlikeWins",
		"one namespace":     "NamespacesAreApart",
		"never down":        "OutageEndsNoLeaseAndNoStart",
	},
	"RunFaults": {
		"retries blindly":  "CutSwapIsNeverFalse",
		"retries by force": "OvertakenSwapIsNotMadeAgain",
		"claims success":   "SwapGivenUpIsAnError",
		"swallows errors":  "CutReadIsAnError",
		"forgets":          "KilledStoreForgetsNoSwap",
	},
	"Run": {
		"no limit":        "HoldersAtOnceGetDifferentWorkers",
		"constant":        "HoldersAtOnceGetDifferentWorkers",
		"ignores context": "EndedContextIsAnError",
		"wrong guarantee": "GrantSaysWhatIsPromised",
		"release fails":   "ReleaseMayBeRepeated",
		"lives on":        "ReleaseMayBeRepeated",
	},
}

func TestBroken(t *testing.T) {
	if os.Getenv(brokenEnv) == "" {
		t.Skip("run by TestFaultsAreCaught")
	}
	for name, suite := range suites {
		for fault := range faults[name] {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				suite(t, fault)
			})
		}
	}
}

// Each case of the suites must fail with a fault, except for the cases that a counter skips.
func TestFaultsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for outages")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$", "-test.v", "-test.parallel=50")
	cmd.Env = append(os.Environ(), brokenEnv+"=yes")
	out, err := cmd.CombinedOutput()
	failed := make(map[string]bool)
	for _, m := range regexp.MustCompile(`--- (PASS|FAIL): TestBroken/(\w+)/([^/ ]+)(?:/(\w+))? \(`).FindAllSubmatch(out, -1) {
		suite, fault, name := string(m[2]), string(m[3]), string(m[4])
		failed[suite+" "+name] = failed[suite+" "+name] || string(m[1]) == "FAIL"
		failed[suite+" "+fault+" "+name] = string(m[1]) == "FAIL"
	}
	for suite, named := range faults {
		for fault, name := range named {
			if !failed[suite+" "+strings.ReplaceAll(fault, " ", "_")+" "+name] {
				t.Errorf("%s: case %s did not fail with the fault %q", suite, name, fault)
			}
		}
	}
	for name, ok := range failed {
		if !ok && strings.Count(name, " ") == 1 {
			t.Errorf("%s fails with none of the faults", name)
		}
	}
	if t.Failed() {
		t.Logf("%v\n%s", err, out)
	}
}

// brokenAssigner gives new worker IDs, with at most one fault.
func brokenAssigner(fault string) assigner.Assigner {
	a := &fakeassigner.Assigner{OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		g, err := fakeassigner.Fresh(ctx, nth, d)
		switch {
		case ctx.Err() != nil && fault != "ignores context":
			return g, ctx.Err()
		case g.WorkerID > d.MaxWorkerID():
			return g, assigner.ErrWorkersExhausted
		case fault == "constant":
			g.WorkerID = 1
		case fault == "no limit":
			g.First, g.Last = 0, 0
		case fault == "wrong guarantee":
			g.Guarantee = assigner.GuaranteeSticky
		}
		return g, err
	}}
	a.Undead = fault == "lives on"
	if fault == "release fails" {
		a.OnRelease = func(context.Context, assigner.Grant, int64) error { return errors.New("released already") }
	}
	return a
}
