package assignertest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/rpc"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

func TestRemoteMemoryWithstandsFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"", "retries"} {
		t.Run(fault, func(t *testing.T) { runRemote(t, fault, false) })
	}
}

func TestLossyRemoteMemoryWithstandsFaults(t *testing.T) {
	t.Parallel()
	runRemote(t, "", true)
}

// For each fault that a store may have, the named case must fail.
func TestFaultSuiteCatchesEveryFault(t *testing.T) {
	catches(t, casesOf("TestBrokenRemote"), map[string][]string{
		"retries blindly":  {"CutSwapIsNeverFalse", "CutCallsCostNoLease"},
		"retries by force": {"OvertakenSwapIsNotMadeAgain"},
		"swallows errors":  {"CutSwapIsNeverFalse", "CutReadIsAnError", "KilledStoreForgetsNoSwap"},
		"claims success":   {"CutSwapIsNeverFalse", "SwapGivenUpIsAnError", "KilledStoreForgetsNoSwap"},
		"ignores context":  {"SwapGivenUpIsAnError"},
		"forgets":          {"KilledStoreForgetsNoSwap", "KilledStoreLowersNoFence"},
		"another sentinel": {"CutSwapIsNeverFalse", "KilledStoreLowersNoFence"},
		"counts again":     {"CutCountsWasteNoWorker"},
		"off the wire":     {"CutSwapIsNeverFalse"},
	})
}

func TestBrokenRemote(t *testing.T) {
	fault := os.Getenv(brokenEnv)
	if fault == "" {
		t.Skip("run by TestFaultSuiteCatchesEveryFault")
	}
	runRemote(t, fault, false)
}

func runRemote(t *testing.T, fault string, lossy bool) {
	assignertest.RunFaults(t, func(t *testing.T) assignertest.StoreFixture {
		h := &memories{lossy: lossy, byName: make(map[string]*memory)}
		s := &server{memory: h.open("mine"), fault: fault, marks: make(map[string]string)}
		s.start(t, "127.0.0.1:0")
		t.Cleanup(s.stop)
		return assignertest.StoreFixture{
			Handle: func() assigner.Store { return &remote{addr: s.addr, fault: fault, dial: new(net.Dialer).DialContext} },
			Through: func(w *assignertest.Wire) assigner.Store {
				r := &remote{addr: s.addr, fault: fault, dial: w.Dial}
				switch fault {
				case "off the wire":
					r.dial = new(net.Dialer).DialContext
				case "retries":
					r.addr, r.dial = w.Proxy(t, s.addr), new(net.Dialer).DialContext
				}
				return r
			},
			Kill: func(t *testing.T) {
				s.stop()
				s.start(t, s.addr)
			},
			Unreachable: errUnreachable,
		}
	})
}

// A server serves a memory to other processes.
type server struct {
	*memory
	fault string
	addr  string

	conns    sync.Map
	listener net.Listener
	calls    sync.Mutex
	life     *Service          // the present one
	marks    map[string]string // of the calls that wrote the records, as durable as the records
}

// An Exchange holds the arguments and the results of a call.
type Exchange struct {
	Method  string
	Mark    string // of the call, the same when it is sent again
	Again   bool
	Old     assigner.Row
	Row     assigner.Row
	OldMeta assigner.Meta
	Meta    assigner.Meta
	TTL     time.Duration
	N       int
	OK      bool
	Rows    []assigner.Row
	Status  assigner.Status
}

func (s *server) start(t *testing.T, addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s.listener, s.addr = listener, listener.Addr().String()
	service := rpc.NewServer()
	s.life = &Service{s: s}
	if err := service.RegisterName("Store", s.life); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.conns.Store(conn, true)
			go service.ServeConn(conn)
		}
	}()
}

func (s *server) stop() {
	_ = s.listener.Close()
	s.conns.Range(func(conn, _ any) bool {
		_ = conn.(net.Conn).Close()
		return true
	})
	s.calls.Lock()
	defer s.calls.Unlock()
	s.life.dead = true
	if s.fault == "forgets" {
		s.mu.Lock()
		defer s.mu.Unlock()
		rows := maps.Clone(s.rows)
		for id, row := range rows {
			row.Fence -= min(row.Fence, 3)
			s.rows[id] = row
		}
	}
}

// Service is the form that package rpc requires.
type Service struct {
	s    *server
	dead bool
}

// Do makes one call on the memory.
func (v *Service) Do(in Exchange, out *Exchange) (err error) {
	ctx, s := context.Background(), v.s
	s.calls.Lock()
	defer s.calls.Unlock()
	if v.dead {
		return errors.New("killed")
	}
	record := fmt.Sprint(in.Method, in.Row.WorkerID)
	if in.Again && s.fault == "retries" && s.marks[record] == in.Mark {
		out.OK = true // the lost answer
		return nil
	}
	switch in.Method {
	case "Status":
		out.Status, err = s.Status(ctx)
	case "LoadMeta":
		out.Meta, err = s.LoadMeta(ctx)
	case "SwapMeta":
		out.OK, err = s.SwapMeta(ctx, in.OldMeta, in.Meta)
	case "Load":
		out.Row, err = s.Load(ctx, in.Row.WorkerID)
	case "List":
		out.Rows, err = s.List(ctx)
	case "Expired":
		out.Rows, err = s.Expired(ctx, in.N)
	case "Swap":
		if in.Again && s.fault == "retries by force" {
			in.Old, _ = s.Load(ctx, in.Row.WorkerID)
		}
		out.OK, err = s.Swap(ctx, in.Old, in.Row, in.TTL)
	}
	if out.OK {
		s.marks[record] = in.Mark
	}
	return err
}

var errUnreachable = errors.New("the server is unreachable")

// A remote is the client of a server.
type remote struct {
	addr, fault string
	dial        func(ctx context.Context, network, addr string) (net.Conn, error)

	mu     sync.Mutex
	client *rpc.Client // nil: not connected
}

// do makes a call, and again when there is no answer if the fault says so.
func (r *remote) do(ctx context.Context, in Exchange) (Exchange, error) {
	in.Mark = rand.Text()
	out, err := r.once(ctx, in)
	if err != nil && strings.HasPrefix(r.fault, "retries") {
		in.Again = true
		out, err = r.once(ctx, in)
	}
	switch {
	case err == nil:
	case r.fault == "swallows errors":
		return Exchange{}, nil
	case r.fault == "claims success":
		out.OK, err = true, nil
	case r.fault == "counts again" && in.Method == "SwapMeta":
		in.OldMeta = in.Meta
		in.Meta.Version, in.Meta.NextWorkerID = in.Meta.Version+1, in.Meta.NextWorkerID+1
		return r.once(ctx, in)
	case r.fault == "another sentinel":
		err = errors.New("the connection is gone")
	}
	return out, err
}

func (r *remote) once(ctx context.Context, in Exchange) (out Exchange, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	client, err := r.connect(ctx)
	if err != nil {
		return out, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	call := client.Go("Store.Do", in, &out, make(chan *rpc.Call, 1))
	ended := ctx.Done()
	if r.fault == "ignores context" {
		ended = nil
	}
	select {
	case <-ended:
		err = ctx.Err()
	case <-call.Done:
		err = call.Error
	}
	if err == nil {
		return out, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == client {
		r.client = nil
	}
	_ = client.Close()
	return Exchange{}, fmt.Errorf("%w: %w", errUnreachable, err)
}

func (r *remote) connect(ctx context.Context) (*rpc.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	conn, err := r.dial(ctx, "tcp", r.addr)
	if err == nil {
		r.client = rpc.NewClient(conn)
	}
	return r.client, err
}

func (r *remote) Status(ctx context.Context) (assigner.Status, error) {
	out, err := r.do(ctx, Exchange{Method: "Status"})
	return out.Status, err
}

func (r *remote) LoadMeta(ctx context.Context) (assigner.Meta, error) {
	out, err := r.do(ctx, Exchange{Method: "LoadMeta"})
	return out.Meta, err
}

func (r *remote) SwapMeta(ctx context.Context, old, next assigner.Meta) (bool, error) {
	out, err := r.do(ctx, Exchange{Method: "SwapMeta", OldMeta: old, Meta: next})
	return out.OK, err
}

func (r *remote) Load(ctx context.Context, workerID int64) (assigner.Row, error) {
	out, err := r.do(ctx, Exchange{Method: "Load", Row: assigner.Row{WorkerID: workerID}})
	return out.Row, err
}

func (r *remote) List(ctx context.Context) ([]assigner.Row, error) {
	out, err := r.do(ctx, Exchange{Method: "List"})
	return out.Rows, err
}

func (r *remote) Expired(ctx context.Context, n int) ([]assigner.Row, error) {
	out, err := r.do(ctx, Exchange{Method: "Expired", N: n})
	return out.Rows, err
}

func (r *remote) Swap(ctx context.Context, old, next assigner.Row, ttl time.Duration) (bool, error) {
	out, err := r.do(ctx, Exchange{Method: "Swap", Old: old, Row: next, TTL: ttl})
	return out.OK, err
}
