// Command mutate breaks the packages that keep IDs unique, one small change at a time, and runs
// their tests: each mutant must fail a test, or survivors.txt must say why it may live. Run it from
// the top of the repository.
//
//	go run ./internal/systest/mutate                        # every mutant
//	go run ./internal/systest/mutate -sample 20             # 20 mutants of each package, other ones at each commit
//	go run ./internal/systest/mutate -match '^cached Lane'  # mutants whose name matches
//	go run ./internal/systest/mutate -matrix -match ^bitsalloc  # each mutant against each test func
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
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	sample, parallel, least int
	seed                    uint64
	match                   string
	within                  time.Duration
	matrix                  bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.IntVar(&o.sample, "sample", 0, "number of mutants to try of each package; 0: all")
	flags.Uint64Var(&o.seed, "seed", 0, "chooses the sample; 0: by the commit")
	flags.StringVar(&o.match, "match", "", "regular expression for the names of mutants to try")
	flags.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "mutants to try at once")
	flags.IntVar(&o.least, "least", 100, "percentage of the mutants of all packages that must be killed or explained")
	flags.DurationVar(&o.within, "within", 0, "time for a package once its mutants are built: later only its first begins; 0: no limit")
	flags.BoolVar(&o.matrix, "matrix", false, "run each test func of the package alone, and print which ones kill a mutant")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(o.match)
	if err != nil {
		return fmt.Errorf("-match: %w", err)
	}
	explained, err := readSurvivors(survivors)
	if err != nil {
		return err
	}
	if o.seed == 0 {
		head, _ := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
		o.seed, _ = strconv.ParseUint(string(head[:min(15, len(head))]), 16, 64)
	}
	fmt.Fprintf(out, "-seed=%d\n", o.seed)
	r := &report{out: out, explained: explained, kills: make(map[string][]string)}
	for _, t := range targets {
		if err := r.tryAll(ctx, t, match, o); err != nil {
			return err
		}
	}
	for kind, n := range explained {
		if n > 0 && o.sample == 0 && o.match == "" {
			fmt.Fprintf(out, "%s has %d × %s too many\n", survivors, n, kind)
		}
	}
	return r.finish(o.least)
}

// A report counts outcomes. Its methods may be called by several goroutines at once.
type report struct {
	out       io.Writer
	explained map[string]int

	mu                   sync.Mutex
	tried, killed, lived int
	kills                map[string][]string // for each test func the mutants that no other one kills
}

// tryAll tries the mutants of a package that match, or a sample.
func (r *report) tryAll(ctx context.Context, t target, match *regexp.Regexp, o options) error {
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	s, err := t.read(ctx, tmp)
	if err != nil {
		return err
	}
	chosen := make(map[*mutant]bool)
	for _, bodies := range s.files {
		for _, b := range bodies {
			for _, m := range b.mutants {
				if match.MatchString(m.String()) {
					chosen[m] = true
				}
			}
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	if err := s.compile(ctx, chosen); err != nil {
		return err
	}
	compiled := len(s.mutants)
	if o.sample > 0 && o.sample < compiled {
		for _, i := range rand.New(rand.NewPCG(o.seed, 0)).Perm(compiled)[o.sample:] {
			delete(chosen, s.mutants[i])
		}
		if err := s.compile(ctx, chosen); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.out, "%s: %d of %d mutants\n", t.dir, len(s.mutants), compiled)
	tried, killed, lived := r.tried, r.killed, r.lived
	err = r.try(ctx, s, o)
	fmt.Fprintf(r.out, "%s: %d tried, %d killed, %d explained\n", t.dir, r.tried-tried, r.killed-killed, r.lived-lived)
	return err
}

// try runs the tests with each mutant of a source.
func (r *report) try(ctx context.Context, s *source, o options) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.parallel)
	begun := time.Now()
	for i, m := range s.mutants {
		if i > 0 && o.within > 0 && time.Since(begun) > o.within {
			break
		}
		group.Go(func() error {
			var lives bool
			var names []string
			var err error
			if o.matrix {
				names, err = s.killers(ctx, i+1)
				lives = len(names) == 0
			} else {
				lives, err = s.survives(ctx, i+1)
			}
			if err != nil {
				return fmt.Errorf("%v: %w", m, err)
			}
			r.add(m, lives, names)
			return nil
		})
	}
	err := group.Wait()
	if o.matrix && err == nil {
		r.alone(s)
	}
	return err
}

// add counts the outcome of a mutant, and in a matrix the test funcs that kill it.
func (r *report) add(m *mutant, lives bool, names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	word := "killed"
	switch {
	case !lives:
		r.killed++
	case r.explained[m.kind] > 0:
		word = "explained"
		r.explained[m.kind]--
		r.lived++
	default:
		word = "SURVIVED"
	}
	r.tried++
	fmt.Fprintf(r.out, "%4d %-9s %v%s\n", r.tried, word, m, strings.Join(append([]string{""}, names...), "\n\t"))
	if len(names) == 1 {
		r.kills[names[0]] = append(r.kills[names[0]], m.String())
	}
}

// alone prints for each test func of a package the mutants that it alone kills.
func (r *report) alone(s *source) {
	fast, slow := s.suites[s.dir+" false"].split()
	for _, name := range slices.Concat(fast, slow) {
		fmt.Fprintf(r.out, "%s alone kills %d\n", name, len(r.kills[name]))
		for _, m := range r.kills[name] {
			fmt.Fprintln(r.out, "\t", m)
		}
	}
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
var survivors = filepath.FromSlash("internal/systest/mutate/survivors.txt")

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
