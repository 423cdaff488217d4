// Command mutate breaks the packages that keep IDs unique, one small change at a time, and runs
// their tests: each mutant must fail a test, or survivors.txt must name it with the reason why it
// may live.
//
//	go run ./internal/systest/mutate                        # every mutant
//	go run ./internal/systest/mutate -sample 20 -seed 7     # 20 mutants of each package, the same for the same seed and code
//	go run ./internal/systest/mutate -match 'cached lane'   # mutants whose name matches
//
// The changes are: a negated condition, an operand of && and || alone, another comparison or
// operator, a number plus one, the other of true and false, a removed statement, and two
// neighboring statements or calls in the other order. Run it from the top of the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type options struct {
	sample   int
	seed     uint64
	match    string
	parallel int
	within   time.Duration
	list     bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.IntVar(&o.sample, "sample", 0, "number of mutants to try of each package; 0: all")
	flags.Uint64Var(&o.seed, "seed", 1, "chooses the sample")
	flags.StringVar(&o.match, "match", "", "regular expression for the names of mutants to try")
	flags.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "mutants to try at once")
	flags.DurationVar(&o.within, "within", 0, "time for a package once its mutants are built: later only its first begins; 0: no limit")
	flags.BoolVar(&o.list, "list", false, "print the names of the mutants and try none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(o.match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	var all []mutant
	sources := make(map[string]map[string][]body)
	for _, t := range targets() {
		files, err := t.read(ctx)
		if err != nil {
			return err
		}
		sources[t.dir] = files
		for _, file := range slices.Sorted(maps.Keys(files)) {
			for _, b := range files[file] {
				all = append(all, b.mutants...)
			}
		}
	}
	explained, err := readSurvivors(survivors, all)
	if err != nil {
		return err
	}
	chosen := o.choose(all, match, explained)
	if o.list {
		for _, m := range chosen {
			fmt.Fprintln(out, m)
		}
		return nil
	}
	r := &report{out: out, explained: explained}
	for _, t := range targets() {
		if err := r.tryAll(ctx, t, sources[t.dir], chosen, o); err != nil {
			return err
		}
	}
	return r.finish()
}

// choose returns the mutants that match, or a sample of them in each package that must all fail a
// test.
func (o options) choose(all []mutant, match *regexp.Regexp, explained map[string]bool) []mutant {
	chosen := slices.DeleteFunc(slices.Clone(all), func(m mutant) bool {
		return !match.MatchString(m.String()) || o.sample > 0 && explained[m.String()]
	})
	if o.sample > 0 {
		random := rand.New(rand.NewPCG(o.seed, 0))
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		of := make(map[string]int) // mutants by package
		chosen = slices.DeleteFunc(chosen, func(m mutant) bool { of[m.pkg]++; return of[m.pkg] > o.sample })
	}
	return chosen
}

// A report counts outcomes. Its methods may be called by several goroutines at once.
type report struct {
	out       io.Writer
	explained map[string]bool

	mu                   sync.Mutex
	tried, killed, lived int
	unexplained          []string
}

// tryAll tries the chosen mutants of a package.
func (r *report) tryAll(ctx context.Context, t target, files map[string][]body, chosen []mutant, o options) error {
	names := make(map[string]bool)
	for _, m := range chosen {
		if m.pkg == t.dir {
			names[m.String()] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := prepare(ctx, dir, t, files, names)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%s: %d mutants, %d of them compile\n", t.dir, len(names), len(s.mutants))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.parallel)
	begun := time.Now()
	for i, m := range s.mutants {
		if i > 0 && o.within > 0 && time.Since(begun) > o.within {
			break
		}
		group.Go(func() error {
			lives, err := s.survives(ctx, i+1)
			if err != nil {
				return fmt.Errorf("%v: %w", m, err)
			}
			r.add(m, lives)
			return nil
		})
	}
	return group.Wait()
}

func (r *report) add(m mutant, lives bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	word := "killed"
	switch {
	case !lives:
		r.killed++
	case r.explained[m.String()]:
		word = "explained"
		r.lived++
	default:
		word = "SURVIVED"
		r.unexplained = append(r.unexplained, m.String())
	}
	r.tried++
	fmt.Fprintf(r.out, "%4d %-9s %v\n", r.tried, word, m)
}

// finish prints the counts, and fails if a mutant lives without an explanation.
func (r *report) finish() error {
	fmt.Fprintf(r.out, "%d of %d mutants killed, %d explained in %s\n", r.killed, r.tried, r.lived, survivors)
	if r.tried == 0 {
		return errors.New("no mutant was tried: none matches, or none that matches compiles")
	}
	if len(r.unexplained) == 0 {
		return nil
	}
	slices.Sort(r.unexplained)
	for _, name := range r.unexplained {
		fmt.Fprintln(r.out, "survived:", name)
	}
	return fmt.Errorf("%d mutants survive: write a test that fails with each, or explain it in %s", len(r.unexplained), survivors)
}
