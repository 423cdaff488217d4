// Command mutate breaks the packages that keep IDs unique, one small change at a time, and runs
// their tests: each mutant must fail a test, or a comment must say why it may live. Run it from the
// top of the repository.
//
//	go run ./internal/test/systest/mutate                        # every mutant
//	go run ./internal/test/systest/mutate -sample 20             # about 20 mutants of each package, other ones each time
//	go run ./internal/test/systest/mutate -match '^cached Lane'  # mutants whose name matches
//	go run ./internal/test/systest/mutate -rules                 # the changes of rules.txt, each of which breaks a rule by name
//
// The operators are: false and true (a condition), operand (one side of && and || alone), operator
// (another comparison or sum), number (plus one, or the other of true and false), argument (in
// place of its call), remove (a statement) and swap (neighboring statements if one uses a variable
// that the other writes, or if other goroutines may see both: see ordered). A mutant that does not
// compile is dropped, and so are the numbers that a func returns beside an error or false.
//
// A comment that begins with mutate: gives the reason why mutants of the operators named may live
// on its line, or on the line below if it has one of its own. A change belongs to the line where it
// begins.
//
//	if now >= last { //mutate:operator,true the sides are equal only for a window of 0
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
	"sync"

	"golang.org/x/sync/errgroup"
)

var (
	sample = flag.Int("sample", 0, "mutants to try of each package, about; 0: all")
	seed   = flag.Uint64("seed", rand.Uint64(), "chooses the sample")
	match  = flag.String("match", "", "regular expression for the names of mutants to try")
	least  = flag.Int("least", 100, "percentage of the mutants that must be killed or explained")
	byRule = flag.Bool("rules", false, "try the changes of rules.txt instead; -match is for their titles")
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
	{"internal/check", []string{"cached"}},
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
	if *byRule {
		return tryRules(ctx, out, names.MatchString)
	}
	fmt.Fprintf(out, "-seed=%d\n", *seed)
	r := &report{out: out}
	for _, t := range targets {
		if err := r.try(ctx, t, names); err != nil {
			return err
		}
	}
	return r.finish(*least)
}

// A report counts outcomes. Its methods may be called by several goroutines at once.
type report struct {
	out io.Writer

	mu                   sync.Mutex
	tried, killed, lived int
}

// try tries the mutants of a package that match, or a sample.
func (r *report) try(ctx context.Context, t target, names *regexp.Regexp) error {
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	p, err := load(ctx, t.dir, "./"+t.dir)
	if err != nil {
		return err
	}
	s := &source{target: t, tmp: tmp, files: p.files}
	compiled, err := s.choose(ctx, names)
	if err != nil || compiled == 0 {
		return err
	}
	fmt.Fprintf(r.out, "%s: %d of %d mutants\n", t.dir, len(s.mutants), compiled)
	tried, killed, lived := r.tried, r.killed, r.lived
	if err := r.tryAll(ctx, s); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s: %d tried, %d killed, %d explained\n", t.dir, r.tried-tried, r.killed-killed, r.lived-lived)
	if len(s.mutants) == compiled {
		r.useless(s, names)
	}
	return nil
}

// tryAll tries the mutants that are compiled.
func (r *report) tryAll(ctx context.Context, s *source) error {
	group, ctx := errgroup.WithContext(ctx)
	suites := s.plan(ctx)
	group.SetLimit(runtime.NumCPU())
	for i, m := range s.mutants {
		group.Go(func() error {
			by, err := killer(ctx, suites, i+1, m)
			if err != nil {
				return fmt.Errorf("%v: %w", m, err)
			}
			r.add(m, by)
			return nil
		})
	}
	return group.Wait()
}

// useless prints the reasons of a package that no mutant needs.
func (r *report) useless(s *source, names *regexp.Regexp) {
	for _, f := range s.files {
		for _, reason := range f.reasons {
			if reason.useless(names.MatchString) {
				fmt.Fprintf(r.out, "%s: no mutant lives: drop %s from the reason\n", reason.place, reason.operator)
			}
		}
	}
}

// add counts the outcome of a mutant, which a test of the package by kills, unless by is empty.
func (r *report) add(m *mutant, by string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.lived = by == ""
	word := "killed"
	switch {
	case !m.lived:
		r.killed++
	case m.reason != nil:
		word = "explained"
		r.lived++
	default:
		word = "SURVIVED"
	}
	r.tried++
	fmt.Fprintf(r.out, "%4d %-9s %v %s\n", r.tried, word, m, by)
}

// finish prints the counts, and fails if too many mutants live without a reason.
func (r *report) finish(least int) error {
	fmt.Fprintf(r.out, "%d of %d mutants killed, %d explained\n", r.killed, r.tried, r.lived)
	if r.tried == 0 {
		return errors.New("no mutant was tried: none matches, or none that matches compiles")
	}
	if 100*(r.killed+r.lived) < least*r.tried {
		return fmt.Errorf("%d mutants survive, allowed: %d %%: write a test that fails with each, or a reason at its line", r.tried-r.killed-r.lived, 100-least)
	}
	return nil
}
