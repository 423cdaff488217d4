package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
	"github.com/uidring/uidring/segment"
)

// A command is a line of a script.
type command struct {
	*script
	db *sqlx.DB
	testkit.Words
	text string // behind the first word
	want string
}

func (c command) flag(name string) bool { return slices.Contains(c.Words, name) }

// value returns the value of a word such as first=7, or "".
func (c command) value(name string) (text string) {
	c.Set(name, &text)
	return text
}

// do runs a command, and returns its answer.
func (c command) do() (lines []string, err error) {
	switch c.Words[0] {
	case "server", "empty":
	case "serve", "kill", "restart", "lead", "cut":
		c.serve(c.Arg(1), c.Words[2:])
	case "files":
		return nil, c.files()
	case "let":
		name, query, _ := strings.Cut(c.text, " ")
		c.values[name] = Get[string](c.T, c.db, query)
	case "env":
		name, value, _ := strings.Cut(c.text, "=")
		c.Setenv(name, value)
	case "open":
		c.open()
	case "folder":
		c.Chdir(testserver.DiskFolder(c.T))
	case "host":
		return nil, exec.CommandContext(c.Context(), c.Arg(1), c.Words[2:]...).Run()
	case "inside":
		c.handles[c.Arg(1)] = c.b.Inside(c.T, c.dsn)
	case "down":
		c.undo = c.b.Down(c.T, c.dsn)
	case "up":
		c.undo()
	case "start":
		go func() { c.started <- c.rest() }()
	case "done":
		done := <-c.started
		return done.lines, done.err
	case "until":
		testkit.Until(c.T, c.text, func() bool { return Get[int](c.T, c.db, c.text) > 0 })
	case "retried":
		testkit.Until(c.T, "a call is tried again", func() bool { return c.retries.Swap(0) > 0 })
	default:
		return c.test()
	}
	return nil, nil
}

// An answer is the answer of a command that has run beside others.
type answer struct {
	lines []string
	err   error
}

// rest runs the command behind the first word.
func (c command) rest() answer {
	c.Words = c.Words[1:]
	_, c.text, _ = strings.Cut(c.text, " ")
	lines, err := c.do()
	return answer{lines, err}
}

// serve runs a command about a server that is not the one of the databases.
func (c command) serve(name string, args []string) {
	switch c.Words[0] {
	case "serve":
		server := c.b.Start(c.T, args...).Server
		c.servers[name], c.handles[name] = server, c.b.Open(c.T, server.DSN())
	case "kill":
		c.servers[name].Kill9()
	case "restart":
		c.servers[name].Restart(args...)
	case "cut":
		marker, err := strconv.Unquote(args[0])
		testkit.Must(c.T, err)
		c.addresses[name].CutAfter(marker, nil)
	case "lead":
		to := c.servers[args[0]]
		if p := c.addresses[name]; p != nil {
			p.Lead(to.Addr())
			return
		}
		p := faultconn.Start(c.T, to.Addr())
		c.addresses[name], c.handles[name] = p, c.b.Open(c.T, strings.Replace(to.DSN(), to.Addr(), p.Addr(), 1))
	}
}

// test runs a command under test, and returns its answer.
func (c command) test() (lines []string, err error) {
	ctx, cancel := c.context()
	defer cancel()
	store := c.store()
	switch name := c.Arg(1); c.Words[0] {
	case "sql":
		return nil, execute(ctx, c.db, strings.Split(c.text, "; ")...)
	case "java":
		if name == "tables" {
			return nil, execute(ctx, c.db, JavaTables...)
		}
		return nil, execute(ctx, c.db, javaRow(name))
	case "get":
		return c.get()
	case "apply":
		return c.apply(ctx)
	case "assign":
		return c.assign(ctx)
	case "renew":
		return nil, c.renew(ctx, c.held(name))
	case "end":
		h := c.held(name)
		return nil, h.lease.End(ctx, assigner.Ending{Released: true, Used: h.used})
	case "swap":
		return c.swap(ctx, store)
	case "advance":
		r, err := c.source().Advance(ctx, c.Arg(2), c.Number(3))
		return []string{fmt.Sprintf("%d to %d in steps of %d", r.First, r.Last, max(r.Increment, 1))}, err
	case "recover":
		return nil, leasestore.Recover(ctx, store, leasestore.Recovery{Lead: c.Duration(1)})
	case "pin":
		d := c.domain()
		return nil, sqlassigner.Pin(ctx, c.db, c.config(), d.Layout, d.Epoch)
	}
	return c.show(ctx, store)
}

// show runs a command that prints facts about a store.
func (c command) show(ctx context.Context, store leasestore.Store) (lines []string, err error) {
	switch c.Words[0] {
	case "status":
		status, err := store.Status(ctx)
		return status.Faults, err
	case "faults":
		status, err := store.Status(ctx)
		CheckUndurable(c.T, c.db, status.Faults...)
		return status.Faults, err
	case "identity":
		status, err := store.Status(ctx)
		return []string{cmp.Or(status.Identity, "none")}, err
	case "list":
		rows, err := store.List(ctx)
		return []string{fmt.Sprint(len(rows), " rows")}, err
	case "load":
		row, err := store.Load(ctx, c.Number(1))
		return []string{fmt.Sprint("fence ", row.Fence)}, err
	case "meta":
		m, err := store.LoadMeta(ctx) // the row comes beside ErrOverlap, for tools
		return []string{fmt.Sprintf("version %d, first worker ID %d", m.Version, m.FirstWorkerID)}, err
	case "namespaces":
		all, err := store.Namespaces(ctx)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			lines = append(lines, fmt.Sprintf("%s from %d", name, all[name].FirstWorkerID))
		}
		return lines, err
	case "tries":
		return []string{fmt.Sprint(c.retries.Swap(0))}, nil
	case "log":
		lines = slices.DeleteFunc(c.log.Read(), func(line string) bool { return !strings.HasPrefix(line, "level=WARN") })
		return []string{cmp.Or(strings.Join(lines, "\n"), "none")}, nil
	}
	c.Errorf("unknown command %q", c.Words)
	return nil, nil
}

// sentinels are the errors that an answer names if, and only if, the error wraps them.
var sentinels = []error{context.Canceled, assigner.ErrWorkerRowLost, assigner.ErrWorkersExhausted, assigner.ErrQuarantined,
	assigner.ErrLayoutMismatch, assigner.ErrUnfencedReuse, leasestore.ErrOverlap, leasestore.ErrNotDurable, leasestore.ErrDamaged,
	sqlassigner.ErrUnreachable, sqlassigner.ErrAccessDenied, sqlassigner.ErrTableMissing, sqlassigner.ErrTableTwin,
	sqlassigner.ErrKeyNotReturned, sqlassigner.ErrNoCounter, segment.ErrInvalidRange}

// texts returns the lines of an answer, or its error as text. For meta it returns both.
func (c command) texts(lines []string, err error) []string {
	if err == nil {
		return lines
	}
	for _, sentinel := range sentinels {
		named := strings.Contains(strings.ToLower(c.want), strings.ToLower(sentinel.Error()))
		if c.want != "" && errors.Is(err, sentinel) != named {
			c.Errorf("> %s: errors.Is(%v, %v) = %v", strings.Join(c.Words, " "), err, sentinel, !named)
		}
	}
	if c.Words[0] != "meta" {
		lines = nil
	}
	return append(lines, "error: "+strings.ReplaceAll(err.Error(), "\n", "; "))
}

// endsAtRetry is the key of a context's value that ends it.
type endsAtRetry struct{}

// context returns the context of a call.
func (c command) context() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(c.Context(), time.Minute)
	if strings.Contains(c.want, context.Canceled.Error()) {
		ctx = context.WithValue(ctx, endsAtRetry{}, cancel)
	}
	return ctx, cancel
}

// A counter counts the calls that are about to be retried, and ends their contexts.
type counter struct {
	slog.Handler
	retries *atomic.Int64
}

func (h counter) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelDebug {
		h.retries.Add(1)
		if end, ok := ctx.Value(endsAtRetry{}).(context.CancelFunc); ok {
			end()
		}
	}
	return h.Handler.Handle(ctx, r)
}

func (c command) config() sqlassigner.Config {
	logger := slog.New(counter{c.log.TextLogger().Handler(), &c.retries})
	return sqlassigner.Config{AllowUndurable: c.flag("undurable"), LowerCase: c.flag("lower"), Logger: logger}
}

func (c command) store() leasestore.Store {
	cfg := c.config()
	cfg.AllowUndurable = false
	return sqlassigner.LeaseStore(c.db, cmp.Or(c.value("namespace"), namespace), cfg)
}

// assigner returns the assigner of a command such as assign a leased namespace=orders first=2. It
// is one of Kinds, auto, create, which creates its tables, or leased; worker=9 makes that fenced.
// of=b is the assigner that gave the lease b.
func (c command) assigner() assigner.Assigner {
	kind, of, key := c.Arg(2), c.value("of"), c.value("key")
	switch {
	case of != "":
		return c.held(of).assigner
	case key != "":
		return sqlassigner.Sticky(c.db, key, c.config())
	case kind == "create":
		return sqlassigner.Leased(c.db, namespace)
	case kind == "auto":
		return assigner.Auto(c.store(), assigner.LeaseConfig{})
	case kind != "leased":
		return Kind(c.db, kind, c.config())
	}
	cfg := assigner.LeaseConfig{AllowUndurable: c.flag("undurable")}
	c.Set("first", &cfg.FirstWorkerID)
	worker := int64(-1)
	if c.Set("worker", &worker); worker >= 0 {
		cfg.Owner = "owner"
		return assigner.Fenced(c.store(), assigner.Static(worker), cfg)
	}
	return assigner.Leased(c.store(), cfg)
}

// domain returns the domain of the cases, with changes such as workers=16. epoch moves the epoch by
// milliseconds, and unit is the unit in milliseconds.
func (c command) domain() assigner.Domain {
	d := assignertest.Domain()
	var later, unit int64
	for name, to := range map[string]any{
		"deltas": &d.Layout.DeltaBits, "datacenters": &d.Layout.DatacenterBits, "workers": &d.Layout.WorkerBits,
		"sequences": &d.Layout.SequenceBits, "datacenter": &d.DatacenterID, "epoch": &later, "unit": &unit,
	} {
		c.Set(name, to)
	}
	d.Layout.Unit = cmp.Or(time.Duration(unit)*time.Millisecond, d.Layout.Unit)
	d.Epoch = d.Epoch.Add(time.Duration(later) * time.Millisecond)
	if c.flag("fresh") {
		d.ReuseError = assigner.ErrUnfencedReuse
	}
	return d
}

// A holding is a lease of a script.
type holding struct {
	assigner assigner.Assigner
	lease    assigner.Lease
	used     int64 // the delta up to which the holder has used it
}

// assign takes a lease.
func (c command) assign(ctx context.Context) (lines []string, err error) {
	a := c.assigner()
	l, err := a.Assign(ctx, c.domain())
	if err != nil {
		return nil, err
	}
	c.holdings.Store(c.Arg(1), &holding{a, l, l.Grant().First})
	return []string{fmt.Sprint("worker ", l.Grant().WorkerID)}, nil
}

// held returns the holding with a name.
func (c command) held(name string) *holding {
	h, ok := c.holdings.Load(name)
	if !ok {
		panic("no lease " + name)
	}
	return h.(*holding)
}

// renew renews a lease.
func (c command) renew(ctx context.Context, h *holding) error {
	if c.flag("more") {
		h.used = h.lease.Grant().Last
		return stores.Extend(ctx, h.lease, h.used, h.used+100)
	}
	return stores.Extend(ctx, h.lease, h.used, h.used+1)
}

// swap swaps row 7, or the meta row, between two tokens.
func (c command) swap(ctx context.Context, s leasestore.Store) (lines []string, err error) {
	var rows [2]leasestore.Row
	var metas [2]leasestore.Meta
	for i := range rows {
		if token := c.Arg(2 + i); token != "none" {
			rows[i] = leasestore.Row{WorkerID: 7, Version: 1, Fence: 1, Token: token}
			metas[i] = leasestore.Meta{Version: 1, Token: token}
		}
	}
	var ok bool
	if c.Arg(1) == "meta" {
		ok, err = s.SwapMeta(ctx, metas[0], metas[1])
	} else {
		ok, err = s.Swap(ctx, rows[0], rows[1], time.Minute)
	}
	return []string{fmt.Sprint(ok)}, err
}

// apply prints the names of the tables that it creates.
func (c command) apply(ctx context.Context) (lines []string, err error) {
	var groups []schema.Group
	for _, g := range schema.Groups() {
		if c.flag(string(g)) {
			groups = append(groups, g)
		}
	}
	made, err := sqlassigner.Apply(ctx, c.db, c.config(), groups...)
	return []string{cmp.Or(strings.Join(made, " "), "none")}, err
}

// source returns the source of a command such as advance segment orders 10 part=1/2.
func (c command) source() segment.Source {
	switch c.Arg(1) {
	case "leaf":
		return sqlassigner.LeafSource(c.db, c.config())
	case "tinyid":
		return sqlassigner.TinyIDSource(c.db, c.config())
	}
	part, parts := 0, 1
	_, _ = fmt.Sscanf(c.value("part"), "%d/%d", &part, &parts)
	return sqlassigner.SegmentPart(c.db, part, parts, c.config())
}

// open opens a handle.
func (c command) open() {
	dsn := c.Words[len(c.Words)-1]
	if user := c.value("user"); user != "" {
		dsn = c.b.As(dsn, user)
	}
	db := c.b.Open(c.T, dsn)
	if c.flag("one") {
		db.SetMaxOpenConns(1)
	}
	if c.flag("brief") {
		db.SetMaxIdleConns(-1)
	}
	c.handles[c.Arg(1)] = db
}

// files runs the files of MySQL, each as a whole, as its client does.
func (c command) files() (err error) {
	for _, f := range schema.MySQL(schema.Groups()...) {
		err = errors.Join(err, execute(c.Context(), c.db, f.SQL))
	}
	return err
}

// javaRow returns the statement of the original's mapper, which knows nothing of the tables beside
// WORKER_NODE. The ID is the database's choice unless there is one.
func javaRow(id string) string {
	row := "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES " +
		"('10.0.0.1', '1767225600000-4711', 2, '2026-01-01', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)"
	if id == "" {
		return row
	}
	return strings.NewReplacer("(HOST_NAME", "(ID, HOST_NAME", "('10", "("+id+", '10").Replace(row)
}

// get prints the rows that a query finds.
func (c command) get() (lines []string, err error) {
	rows, err := c.db.QueryxContext(c.Context(), c.text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.SliceScan()
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			if text, ok := value.([]byte); ok {
				values[i] = string(text)
			}
		}
		lines = append(lines, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}
	return lines, rows.Err()
}
