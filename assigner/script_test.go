package assigner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata. A paragraph is a [scripts.Story] on a store of its own.
// Below a command the script has the pauses of a claim, its error, and all rows and leases that it
// has changed. Times are deltas, random texts are named t1, t2 and so on, and an underscore in a
// text stands for a space. Each case runs twice, since a claim tries rows in random order: with the
// rows in order, and reversed.
//
// These commands prepare a case, and their changes are not shown:
//
//	row 2 fence=500 version=3 token=T owner=a expires=1001 identity=A oldest=7 former=9 extra=x
//	meta next=4 first=2 fence=500 version=3 token=T identity=A horizon=999 quarantine=1350 extra=y layout=28/5/2/13@1s epoch=1
//	rows 1000 1999 fence=500        creates rows
//	delete 2                        deletes a row
//	forget                          deletes all rows and the meta row
//	holder a maxskew=1s             opens the assigner a, see below, and takes a lease
//	at 1020                         sets all clocks
//	store now=1020 seen=1020 identity=A store=memory namespace=orders fault=sync_is_0 lossy overlap creates
//	namespace users 3               another namespace of the store, and its datacenter ID
//	show records                    shows log records from now on
//	host mono=1020 wall=990         sets the clocks of the host, which otherwise follow the store
//	on swap ok / row 0 token=T; lose / refuse / ok
//
// The last line configures the next swaps of a row. The action of a swap is lose (it is made, and
// the answer is lost), drop (it is not made, and there is no answer), hold (the command arrive
// makes it), refuse, or else to make it. The commands before the action run first. The other
// operations are swap-meta, and status, load-meta, load and list, whose action may be fail.
//
// These are the commands under test:
//
//	open a leased window=30s maxlead=1h maxskew=1m owner=me first=2 undurable
//	open b fenced worker=2 owner=me registered maxahead=10 keptfor=20s layout=28/5/2/13@1s epoch=1 datacenter=4
//	source b 3                      changes the source of Fenced; others are unchecked 3, sticky and silent
//	assign a                        takes a lease with the name a
//	renew a 1010 1018 oldest=1005   the holder has used deltas up to 1010, and wants 1018
//	release a 1010                  the holder has issued IDs of deltas up to 1010
//	abandon a, copy a b, revoke 2, recover 1h, horizon
//	cancel                          ends the context of assign
//	limits a                        shows limits of fences that follow from the configuration, in units
//	lists                           shows how often rows have been listed
//	static 3, ipv4suffix 10.0.1.2 16, ipsum 10.0.1.2, name web-01, env "3", unset NAME
//	addresses ipsum 127.0.0.1/8 10.0.1.2/24
//
//	forclaim 900, forrenewal 1250 1248 0 1, released 1120 1050 1001, begin 1000 1000 900, follow 1000 1000 240 1090 1045
//
// The lines before the last one take a worker ID from an assigner without a store, in the default
// layout, and show the first usable address of a host. The last line calls the funcs of fence.go at
// delta 1000: short makes the layout end at 1100, and lossy bounds fences by that.
func TestScripts(t *testing.T) { scripts.Stories(t, len(orders), newScript) }

// A script is the world of a paragraph.
type script struct {
	*scripts.Story
	*memStore
	now       int64    // of the generators
	host      *instant // nil: as the store
	assigners map[string]*leaser
	derived   []Assigner        // of the command env, which read it at each Assign
	domains   map[string]Domain // of the assigners
	leases    map[string]Lease
	names     []string // of random texts, from t1 on
	arrive    func() bool
	reads     map[string]int  // of each operation
	ctx       context.Context // of Assign
	cancel    context.CancelFunc

	shown map[string]string // rows and grants, as last seen
}

func newScript(s *scripts.Story) {
	w := &script{Story: s, memStore: newMemStore(), now: memStart, assigners: make(map[string]*leaser), domains: make(map[string]Domain),
		leases: make(map[string]Lease), reads: make(map[string]int), shown: make(map[string]string)}
	s.Command(testkit.Words{"sleep", time.Until(memTime(1 << 20)).String()}) // for Horizon, which refuses a store whose clock is ahead of the host's
	w.derived = []Assigner{Env(variable), StatefulSet(variable)}
	w.ctx, w.cancel = context.WithCancel(s.T.Context())
	w.onChange = w.change
	w.onRead = func(what string) error {
		w.reads[what]++
		return w.Answer(w.ctx, what, nil)
	}
	s.Do, s.Lines, s.Sentinels, s.Failures = w.do, w.changes, sentinels, map[string]error{"": errStore}
}

// scene has the commands whose changes are not shown.
var scene = []string{"row", "rows", "meta", "delete", "forget", "holder"}

// change makes a swap as its next answer says.
func (w *script) change(operation string, do func() bool) (made bool, err error) {
	action := do
	_ = w.Answer(w.ctx, operation, func(words testkit.Words) bool {
		switch words[0] {
		case "lose":
			action, err = func() bool { return do() && false }, errLostAnswer // an error leaves open whether it took effect
		case "drop":
			action, err = func() bool { return true }, errLostAnswer
		case "hold":
			action, err, w.arrive = func() bool { return true }, errLostAnswer, do
		case "refuse":
			action = func() bool { return false }
		default:
			return false
		}
		return true
	})
	return action(), err
}

// values are the arguments of a command that have a name.
type values map[string]string

// set sets a variable to an argument, if there is one.
func (v values) set(name string, to any) {
	text, ok := v[name]
	delete(v, name)
	if ok {
		switch to := to.(type) {
		case *string:
			*to = strings.ReplaceAll(text, "_", " ")
		case *[]string:
			*to = append(*to, strings.ReplaceAll(text, "_", " "))
		case *time.Time:
			*to = memTime(testkit.Words{text}.Number(0)).In(time.FixedZone("", 3600)) // a store answers in any zone
		case *bitsalloc.Layout: // ParseLayout refuses some
			var unit string
			_, _ = fmt.Sscanf(text, "%d/%d/%d/%d@%s", &to.DeltaBits, &to.DatacenterBits, &to.WorkerBits, &to.SequenceBits, &unit)
			to.Unit, _ = time.ParseDuration(unit)
		default:
			testkit.Words{name + "=" + text}.Set(name, to)
		}
	}
}

// fill sets the fields of a struct. The name of an argument is the beginning of a field's.
func (v values) fill(to any) {
	fields := reflect.ValueOf(to).Elem()
	for i := range fields.NumField() {
		field := strings.ToLower(fields.Type().Field(i).Name)
		for name := range v {
			if strings.HasPrefix(field, name) {
				v.set(name, fields.Field(i).Addr().Interface())
			}
		}
	}
}

// A command is a line of a script.
type command struct {
	*script
	testkit.Words
	args values
}

func (c command) flag(name string) bool { return slices.Contains(c.Words, name) }

// do makes a command.
func (w *script) do(words testkit.Words) (result string, err error) {
	c := command{w, words, make(values)}
	for _, word := range words[1:] {
		if name, value, ok := strings.Cut(word, "="); ok {
			c.args[name] = value
			if text, err := strconv.Unquote(value); err == nil {
				c.args[name] = text
			}
		}
	}
	if !c.prepare() && !c.test() && !c.derive() && !c.reckon() {
		w.T.Fatalf("unknown command %q", words)
	}
	if len(c.args) > 0 {
		w.T.Fatalf("unknown arguments in %q", words)
	}
	return "", nil
}

// prepare makes a command that prepares a case. It returns false for another one.
func (c command) prepare() bool {
	switch c.Words[0] {
	case "at":
		c.now, c.status.Now, c.host = c.Number(1), memTime(c.Number(1)), nil
	case "store":
		c.setStore()
	case "namespace":
		if c.others == nil {
			c.others = make(map[string]leasestore.Meta)
		}
		c.others[c.Arg(1)] = leasestore.Meta{Layout: memDomain().Layout, Epoch: memDomain().Epoch, DatacenterID: c.Number(2)}
	case "host":
		c.host = &instant{c.status.Now, c.status.Now}
		c.args.set("mono", &c.host.mono)
		c.args.set("wall", &c.host.wall)
	case "row":
		c.setRow(c.Number(1), c.args)
	case "rows":
		for worker := c.Number(1); worker <= c.Number(2); worker++ {
			c.setRow(worker, maps.Clone(c.args))
		}
		clear(c.args)
	case "meta":
		c.setMeta(c.args)
	case "delete":
		delete(c.rows, c.Number(1))
	case "forget":
		c.meta, c.rows = leasestore.Meta{}, make(map[int64]leasestore.Row)
	case "holder":
		c.open("leased")
		c.assign(c.Arg(1))
	default:
		return false
	}
	return true
}

// test makes a command under test. It returns false for another one.
func (c command) test() bool {
	switch c.Words[0] {
	case "open":
		c.open(c.Arg(2))
	case "source":
		c.assigners[c.Arg(1)].source = c.source()
	case "assign":
		c.assign(c.Arg(1))
	case "cancel":
		c.cancel()
	case "arrive":
		c.arrive()
	case "renew":
		u := Use{Used: c.Number(2), Want: c.Number(3), Oldest: c.Number(2)}
		c.args.fill(&u)
		_, err := c.leases[c.Arg(1)].Renew(c.T.Context(), u)
		c.answer(err)
	case "release":
		c.answer(c.leases[c.Arg(1)].End(c.T.Context(), Ending{Released: true, Used: c.Number(2)}))
	case "abandon":
		c.answer(c.leases[c.Arg(1)].End(c.T.Context(), Ending{}))
	case "copy":
		copied := *c.leases[c.Arg(1)].(*lease)
		c.leases[c.Arg(2)] = &copied
	case "revoke":
		row, err := leasestore.Revoke(c.T.Context(), c.memStore, leasestore.Revocation{WorkerID: c.Number(1)})
		if c.answer(err); err == nil && row != c.rows[c.Number(1)] {
			c.Print("  Revoke returns %s", c.row(row))
		}
	case "recover":
		lead, err := time.ParseDuration(c.Arg(1))
		c.answer(errors.Join(err, leasestore.Recover(c.T.Context(), c.memStore, leasestore.Recovery{Lead: lead})))
	case "horizon":
		c.horizon()
	case "limits":
		d := c.domains[c.Arg(1)]
		alloc, err := bitsalloc.New(d.Layout, d.Epoch)
		testkit.Must(c.T, err)
		f := terms{c.assigners[c.Arg(1)].cfg, d, alloc}.fences(c.status)
		c.Print("  step %d, lead %d, ceiling %d, quarantine %d", f.step, f.lead, f.ceiling(), f.quarantine)
	case "lists":
		c.Print("  %d", c.reads["list"])
	default:
		return false
	}
	return true
}

// source returns the source of the command source.
func (c command) source() Assigner {
	switch c.Arg(2) {
	case "unchecked":
		return given{&derivedLease{grant: Grant{WorkerID: c.Number(3)}}, c}
	case "sticky":
		return given{&derivedLease{grant: Grant{Guarantee: GuaranteeSticky}}, c}
	case "silent":
		return nothing{}
	}
	return Static(c.Number(2))
}

// given is a source that does not check its worker ID, and whose lease cannot be released yet.
type given struct {
	*derivedLease
	c command
}

func (g given) Assign(context.Context, Domain) (Lease, error) { return g, nil }

func (g given) End(_ context.Context, e Ending) error {
	g.c.Print("  end of the lease of the source, released %v", e.Released)
	return generator.Passing{Err: errStore, After: time.Second}
}

// nothing is an assigner with a mistake.
type nothing struct{}

func (nothing) Assign(context.Context, Domain) (Lease, error) { return nil, nil }

func (c command) setStore() {
	c.args.fill(&c.status)
	c.status.Lossy, c.creates = c.status.Lossy || c.flag("lossy"), c.creates || c.flag("creates")
	if c.errMeta = nil; c.flag("overlap") {
		c.errMeta = leasestore.ErrOverlap
	}
}

// setRow changes a row. It creates a missing row as an expired one.
func (w *script) setRow(worker int64, args values) {
	row, ok := w.rows[worker]
	if !ok {
		row = leasestore.Row{WorkerID: worker, Version: 1, Owner: "gone"}
	}
	args.fill(&row)
	w.rows[worker] = row
	w.setMeta(values{"next": fmt.Sprint(max(w.meta.NextWorkerID, worker+1))})
}

// setMeta changes the meta row, and creates it if it is missing.
func (w *script) setMeta(args values) {
	if w.meta.Version == 0 {
		w.pin(0)
		w.meta.Namespace = rand.Text()
	}
	args.fill(&w.meta)
}

// open opens an assigner of a kind, with the name of the first argument.
func (c command) open(kind string) {
	name := c.Arg(1)
	d := memDomain()
	d.Now, d.Registered = func() int64 { return c.now }, c.flag("registered")
	c.args.fill(&d)
	c.domains[name] = d
	cfg := shortWindow
	cfg.Owner, cfg.AllowUndurable, cfg.Logger = name, c.flag("undurable"), c.Logger()
	c.args.fill(&cfg)
	var worker int64
	c.args.set("worker", &worker)
	a := map[string]Assigner{"leased": Leased(c.memStore, cfg), "auto": Auto(c.memStore, cfg),
		"fenced": Fenced(c.memStore, Static(worker), cfg), "empty": Fenced(nil, nil, cfg)}[kind].(*leaser)
	a.shuffle, a.holder = orders[c.Policy], "process "+name
	a.clock = func() instant {
		if c.host != nil {
			return *c.host
		}
		return instant{c.status.Now, c.status.Now}
	}
	a.pause = func(context.Context, int) { c.Print("  pause") }
	c.assigners[name] = a
}

func (w *script) assign(name string) {
	l, err := w.assigners[name].Assign(w.ctx, w.domains[name])
	if w.answer(err); l != nil {
		w.leases[name] = l
		delete(w.shown, "lease "+name)
	}
}

// horizon prints the delta of the horizon, which is the smallest ID of that delta.
func (w *script) horizon() {
	id, err := leasestore.Horizon(w.T.Context(), w.memStore)
	if w.answer(err); err != nil {
		return
	}
	alloc, err := bitsalloc.New(w.meta.Layout, w.meta.Epoch)
	fields, errParse := alloc.Parse(id)
	if err := errors.Join(err, errParse); err != nil || id != alloc.MinAt(alloc.Time(fields.Delta)) {
		w.T.Errorf("horizon %+v, %v, want the smallest ID of its delta", fields, err)
	}
	w.Print("  horizon %d", fields.Delta)
}

// sentinels are the errors whose texts and errors.Is must agree.
var sentinels = []error{context.Canceled, ErrWorkerInUse, ErrWorkersExhausted, ErrWorkerRowLost, ErrWorkerAheadOfClock,
	ErrWorkerOutOfRange, ErrWorkerUnknown, ErrQuarantined, ErrLayoutMismatch, leasestore.ErrOverlap, leasestore.ErrClockSkew,
	leasestore.ErrNotDurable, leasestore.ErrRowMissing, leasestore.ErrFenceRegressed, errStore, errLostAnswer}

// answer prints an error, and the time after which it passes.
func (w *script) answer(err error) {
	if err != nil {
		w.Print("  error: %s", w.ErrorText(err))
	}
}

// changes adds the rows and leases that differ from shown.
func (w *script) changes(command testkit.Words, lines []string) []string {
	now := w.state()
	if slices.Contains(scene, command[0]) {
		w.shown = now
	}
	for _, name := range slices.Sorted(maps.Keys(w.shown)) {
		if _, ok := now[name]; !ok {
			lines = append(lines, name+": gone")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if now[name] != w.shown[name] {
			lines = append(lines, name+": "+now[name])
		}
	}
	w.shown = now
	return lines
}

// state describes the rows and the leases.
func (w *script) state() map[string]string {
	now := make(map[string]string)
	for name, l := range w.leases {
		g := l.Grant()
		now["lease "+name] = fmt.Sprintf("worker %d from %d to %d, %v", g.WorkerID, g.First, g.Last, g.Guarantee)
	}
	for _, worker := range slices.Sorted(maps.Keys(w.rows)) { // in order, for the names of their texts
		now[fmt.Sprint("row ", worker)] = w.row(w.rows[worker])
	}
	if m := w.meta; m.Version > 0 {
		now["meta"] = fmt.Sprintf("version %d, next worker %d", m.Version, m.NextWorkerID) + w.rest(m.Fence, m.Token, "", m.Identity, m.Extra)
		if m.Horizon != 0 || m.Quarantine != 0 {
			now["meta"] += fmt.Sprintf(", horizon %d, quarantine %d", m.Horizon, m.Quarantine)
		}
	}
	return now
}

func (w *script) row(r leasestore.Row) string {
	text := fmt.Sprintf("version %d until %d", r.Version, int64(r.Expires.Sub(memTime(0))/time.Second)) + w.rest(r.Fence, r.Token, r.Owner, r.Identity, r.Extra)
	if r.Former != 0 {
		text += fmt.Sprintf(", oldest %d, former %d", r.Oldest, r.Former)
	}
	return text
}

func (w *script) rest(fence int64, token, owner, identity, extra string) (text string) {
	if fence != 0 {
		text = fmt.Sprint(", fence ", fence)
	}
	if i := strings.LastIndex(token, "-") + 1; len(token) > i+20 {
		if !slices.Contains(w.names, token[i:]) {
			w.names = append(w.names, token[i:])
		}
		token = token[:i] + fmt.Sprint("t", slices.Index(w.names, token[i:])+1)
	}
	for _, part := range [][2]string{{"token ", token}, {"owner ", owner}, {"identity ", identity}, {"extra ", extra}} {
		if part[1] != "" {
			text += ", " + part[0] + part[1]
		}
	}
	return text
}
