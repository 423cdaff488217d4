// Command mutate breaks the packages that keep IDs unique, one small change at a time, and runs
// their tests: each mutant must fail a test, or survivors.txt must say why it may live. Run it from
// the top of the repository.
//
//	go run ./internal/systest/mutate                        # every mutant
//	go run ./internal/systest/mutate -sample 20             # about 20 mutants of each package, other ones each time
//	go run ./internal/systest/mutate -match '^cached Lane'  # mutants whose name matches
//	go run ./internal/systest/mutate -matrix -match ^bitsalloc  # with all test funcs that fail
//
// The operators are: false and true (a condition), operand (one side of && and || alone), operator
// (another comparison or sum), number (plus one, or the other of true and false), argument (in
// place of its call), remove (a statement) and swap (neighboring statements whose order other
// goroutines may see). A mutant that does not compile is dropped.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

var (
	sample = flag.Int("sample", 0, "mutants to try of each package, about; 0: all")
	seed   = flag.Uint64("seed", rand.Uint64(), "chooses the sample")
	match  = flag.String("match", "", "regular expression for the names of mutants to try")
	least  = flag.Int("least", 100, "percentage of the mutants that must be killed or explained")
	matrix = flag.Bool("matrix", false, "run the tests of the package to their end, and print each test func that fails")
)

// A target is a package to mutate, and more packages whose tests may kill its mutants.
type target struct {
	dir  string
	more []string
}

var targets = []target{
	{"bitsalloc", nil},
	{"ringbuffer", []string{"cached"}},
	{"internal/keeper", []string{"cached", "defaultgen"}},
	{"internal/generator", []string{"cached", "segment"}},
	{"cached", nil},
	{"defaultgen", nil},
	{"segment", nil},
	{"assigner", nil},
	{"assigner/leasestore", []string{"assigner"}},
	{"assigner/kvassigner", nil},
}

func main() {
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	names, err := regexp.Compile(*match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	explained, err := readSurvivors(survivors)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "-seed=%d\n", *seed)
	r := &report{out: out, explained: explained}
	for _, t := range targets {
		if err := r.try(ctx, t, names); err != nil {
			return err
		}
	}
	return r.finish(*least)
}

// A report counts outcomes. Its methods may be called by several goroutines at once.
type report struct {
	out       io.Writer
	explained map[string]int // how many more mutants of a kind may live

	mu                   sync.Mutex
	tried, killed, lived int
}

// try tries the mutants of a package that match, or a sample.
func (r *report) try(ctx context.Context, t target, names *regexp.Regexp) error {
	all, err := t.mutants(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m *mutant) bool { return !names.MatchString(m.String()) })
	if len(all) == 0 {
		return nil
	}
	if *sample > 0 {
		rand.New(rand.NewPCG(*seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	fmt.Fprintf(r.out, "%s: %d mutants match\n", t.dir, len(all))
	bench, err := newBench(ctx, t)
	if err != nil {
		return err
	}
	defer bench.close()
	var tried atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	for _, m := range all {
		group.Go(func() error {
			if *sample > 0 && tried.Load() >= int64(*sample) {
				return nil
			}
			compiles, killers, err := bench.try(ctx, m)
			if compiles {
				tried.Add(1)
				r.add(m, killers)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for kind, n := range r.explained {
		if n > 0 && *sample == 0 && strings.HasPrefix(kind, t.dir+" ") && names.MatchString(kind) {
			fmt.Fprintf(r.out, "%s has %d × %s too many\n", survivors, n, kind)
		}
	}
	return nil
}

// add counts the outcome of a mutant, which tests kill.
func (r *report) add(m *mutant, killers []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	word := "killed"
	switch {
	case len(killers) > 0:
		r.killed++
	case r.explained[m.kind] > 0:
		word = "explained"
		r.explained[m.kind]--
		r.lived++
	default:
		word = "SURVIVED"
	}
	r.tried++
	fmt.Fprintf(r.out, "%4d %-9s %v %v\n", r.tried, word, m, killers)
}

// finish prints the counts, and fails if too many mutants live without an explanation.
func (r *report) finish(least int) error {
	fmt.Fprintf(r.out, "%d of %d mutants killed, %d explained in %s\n", r.killed, r.tried, r.lived, survivors)
	if r.tried == 0 {
		return errors.New("no mutant was tried: none matches, or none that matches compiles")
	}
	if 100*(r.killed+r.lived) < least*r.tried {
		return fmt.Errorf("%d mutants survive, allowed: %d %%: write a test that fails with each, or explain it in %s", r.tried-r.killed-r.lived, 100-least, survivors)
	}
	return nil
}

// survivors lists the mutants that may live. A paragraph begins with the reason, in lines that
// begin with #, and goes on with a package, function and operator a line, and the number of mutants
// if it is not 1: "cached lane.begin: swap ×3".
const survivors = "internal/systest/mutate/survivors.txt"

// readSurvivors returns the number of mutants of each kind that the file explains.
func readSurvivors(file string) (map[string]int, error) {
	text, err := os.ReadFile(file)
	explained := make(map[string]int)
	reason := false
	for line := range strings.Lines(string(text)) {
		kind, times, several := strings.Cut(strings.TrimSpace(line), " ×")
		n := 1
		if several {
			n, err = strconv.Atoi(times)
		}
		switch {
		case kind == "" || kind[0] == '#':
			reason = kind != ""
		case !reason || err != nil:
			return nil, fmt.Errorf("%s: %s: no reason above, or no number after ×: %w", file, kind, err)
		default:
			explained[kind] += n
		}
	}
	return explained, err
}
