package assignertest_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

// brokenEnv is set in the process that runs TestBroken.
const brokenEnv = "UIDRING_ASSIGNERTEST_BROKEN"

func TestMain(m *testing.M) {
	assignertest.Child(func(arg string) (assigner.Assigner, error) {
		n, err := strconv.ParseInt(arg, 10, 64)
		return assigner.Static(n), err
	})
	os.Exit(m.Run())
}

func TestRunStoreOnAMemory(t *testing.T) {
	for _, fault := range []string{"none", "none, but lossy"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture { return storeFixture(fault) })
		})
	}
}

func TestRunFaultsOnARemoteMemory(t *testing.T) {
	t.Parallel()
	assignertest.RunFaults(t, func(t *testing.T) assignertest.StoreFixture { return remoteFixture(t, "") })
}

func TestRunOnAModel(t *testing.T) { runModel(t, "") }

func TestRunOnStatic(t *testing.T) {
	assignertest.Run(t, func(*testing.T) assignertest.AssignerFixture {
		return assignertest.AssignerFixture{
			Assigner: func(holder string) assigner.Assigner {
				n, _ := strconv.ParseInt(holder[strings.LastIndex(holder, "-")+1:], 10, 64)
				return assigner.Static(n)
			},
			Guarantee: assigner.GuaranteeDerived,
			Reusable:  true,
		}
	})
}

func TestProcessesReturnsTheirWorkerIDs(t *testing.T) {
	got := assignertest.Processes(t, 5, func(i int) string { return strconv.Itoa(10 * i) })
	if fmt.Sprint(got) != "[0 10 20 30 40]" {
		t.Errorf("workers %v, want 0, 10, 20, 30, 40", got)
	}
}

// faults names for each fault a case that must fail.
var faults = map[string]map[string]string{
	"RunStore": {
		"not shared":        "FirstStartsAtOnceSucceed",
		"clock off":         "StatusIsStable",
		"swap creates":      "NothingIsThereAtFirst",
		"compares floats":   "SwapIsRefusedUnlessAllMatches",
		"loses fields":      "RowsComeBackAsWritten",
		"counts changes":    "RowsComeBackAsWritten",
		"wrong expiry":      "StoresClockSetsTheExpiry",
		"lists a part":      "ListReturnsAllRowsAndExpiredSome",
		"seen once":         "SeenIsTheTimeOfTheLastWrite",
		"checks, then acts": "OneOfManySwapsWins",
		"refuses conflicts": "EqualSwapsAtOnceAllCount",
		"row vanishes":      "ListDuringSwapsLacksNoRow",
		"ignores context":   "EndedContextChangesNothing",
		"checks no names":   "NamespacesThatLookAlikeAreRefused",
		"one namespace":     "NamespacesAreApart",
		"deletes free rows": "NextHolderOfARowIsAboveItsFence",
		"never down":        "OutageIsAnErrorAndEndsNoLease",
	},
	"RunFaults": {
		"retries blindly":  "CutSwapIsNeverFalse",
		"retries by force": "OvertakenSwapIsNotMadeAgain",
		"claims success":   "SwapGivenUpIsAnError",
		"swallows errors":  "CutReadIsAnError",
		"forgets":          "KilledStoreForgetsNoSwap",
	},
	"Run": {
		"constant":        "HoldersAtOnceGetDifferentWorkers",
		"ignores context": "EndedContextIsAnError",
		"wrong guarantee": "GrantSaysWhatIsPromised",
		"renew fails":     "RenewKeepsALiveLease",
		"never looks":     "DeletedRowIsNoticed",
		"pins nothing":    "AnotherDomainIsRefused",
		"release once":    "ReleaseMayBeRepeated",
		"always new":      "KeyKeepsItsWorker",
		"folds case":      "KeysThatLookAlikeGetDifferentWorkers",
	},
	"Processes": {"same worker ID": ""},
}

func TestBroken(t *testing.T) {
	if os.Getenv(brokenEnv) == "" {
		t.Skip("run by TestFaultsAreCaught")
	}
	for suite, run := range map[string]func(*testing.T, string){
		"RunStore": func(t *testing.T, fault string) {
			assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture { return storeFixture(fault) })
		},
		"RunFaults": func(t *testing.T, fault string) {
			assignertest.RunFaults(t, func(t *testing.T) assignertest.StoreFixture { return remoteFixture(t, fault) })
		},
		"Run": runModel,
		"Processes": func(t *testing.T, _ string) {
			assignertest.Processes(t, 3, func(i int) string { return strconv.Itoa(i / 2) })
		},
	} {
		for fault := range faults[suite] {
			t.Run(suite+"/"+fault, func(t *testing.T) {
				t.Parallel()
				run(t, fault)
			})
		}
	}
}

// Each case of the suites must fail with a fault.
func TestFaultsAreCaught(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$", "-test.v", "-test.parallel=50")
	cmd.Env = append(os.Environ(), brokenEnv+"=yes")
	out, err := cmd.CombinedOutput()
	failed := make(map[string]bool)
	for _, m := range regexp.MustCompile(`--- (\w+): TestBroken/(\w+)/([^/ ]+)(?:/(\w+))? \(`).FindAllSubmatch(out, -1) {
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
