package sqlassigner_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A group is a group of Group Replication with a single primary. Its handles connect to the server
// that is the primary at the time, as through a router.
type group struct {
	servers []*testserver.Server
	handles []*sqlx.DB // one for each server
	primary atomic.Int64
}

func newGroup(t *testing.T, n int) *group {
	g := &group{servers: testserver.MySQLGroup(t, n)}
	mysql.RegisterDialContext("primary", func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", g.servers[g.primary.Load()].Addr())
	})
	for _, s := range g.servers {
		g.handles = append(g.handles, openMySQL(t, s.DSN()+"?timeout=1s&readTimeout=1s"))
	}
	g.await(t, n)
	return g
}

// members counts the members of the group that are online, as its primary sees them.
func members(db *sqlx.DB) (n int) {
	_ = db.Get(&n, "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE' AND EXISTS (SELECT 1 FROM "+
		"performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid AND MEMBER_ROLE = 'PRIMARY') AND NOT @@super_read_only")
	return n
}

// await waits until the group has a primary and n members. A server that wakes up may report itself
// as a second primary.
func (g *group) await(t *testing.T, n int) {
	t.Helper()
	testkit.Until(t, fmt.Sprintf("a group of %d", n), func() bool {
		primaries := 0
		for i, db := range g.handles {
			switch members(db) {
			case 0:
				continue
			case n:
				g.primary.Store(int64(i))
				primaries++
			default:
				return false
			}
		}
		return primaries == 1
	})
}

// open returns a handle that connects to the primary, at a level of consistency unless that is "".
func (g *group) open(t *testing.T, user, level string) *sqlx.DB {
	t.Helper()
	dsn := user + "@primary(group)/uidring"
	if level != "" {
		dsn += "?group_replication_consistency=%27" + level + "%27"
	}
	return openMySQL(t, dsn)
}

// turn makes the next server the primary.
func (g *group) turn(t *testing.T) {
	t.Helper()
	next := (g.primary.Load() + 1) % int64(len(g.servers))
	uuid := storetest.Get[string](t, g.handles[next], "SELECT @@server_uuid")
	patient := openMySQL(t, g.servers[g.primary.Load()].DSN())
	storetest.Get[string](t, patient, "SELECT group_replication_set_as_primary('"+uuid+"')")
	g.primary.Store(next)
}

func wantIdentity(t *testing.T, db *sqlx.DB, when, want string) {
	t.Helper()
	if id := storetest.Identity(t, db); id != want {
		t.Errorf("identity %q %s, want %q", id, when, want)
	}
}

func TestGroupReplication(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3)
	db := g.open(t, "root", "")
	storetest.Apply(t, db)
	t.Run("TheGroupIsTheIdentity", func(t *testing.T) { groupIdentity(t, g) })
	t.Run("NoIDIsLostWhileThePrimaryMoves", func(t *testing.T) { primaryMoves(t, g) })
	t.Run("FrozenPrimaryGrantsNothing", func(t *testing.T) { frozenPrimary(t, g) })
	t.Run("NewPrimaryWithABacklog", func(t *testing.T) { backlog(t, g) })
	t.Run("ForcedGroupKeepsItsIdentity", func(t *testing.T) { forced(t, g) })
	t.Run("AGroupThatIsMadeAnewIsQuarantined", func(t *testing.T) { madeAnew(t, g) })
}

// groupIdentity turns the primary at each level of consistency. Under EVENTUAL, and without the
// rights to see the group, each server has an identity of its own.
func groupIdentity(t *testing.T, g *group) {
	admin := g.open(t, "root", "")
	storetest.Exec(t, admin, "CREATE USER ids@'127.0.0.1' IDENTIFIED BY 'hunter2'", "GRANT ALL ON uidring.* TO ids@'127.0.0.1'",
		"GRANT SELECT ON performance_schema.replication_applier_status TO ids@'127.0.0.1'",
		"GRANT SELECT ON performance_schema.replication_group_members TO ids@'127.0.0.1'")
	const ids = "ids:hunter2"
	uuid := func() string { return storetest.Get[string](t, g.handles[g.primary.Load()], "SELECT @@server_uuid") }
	id, texts := firstLooks(t, g.open(t, ids, ""))
	if id != uuid() || !strings.Contains(strings.Join(texts, ""), "GRANT SELECT ON performance_schema.replication_group_members") {
		t.Errorf("identity %q without the rights to see the group, log %q; want the server_uuid and the rights", id, texts)
	}
	storetest.Exec(t, admin, "GRANT SELECT ON performance_schema.replication_group_member_stats TO ids@'127.0.0.1'")

	want := storetest.Identity(t, g.open(t, ids, ""))
	name, _, _ := strings.Cut(strings.TrimPrefix(want, "group "), " of view ")
	if name != storetest.Get[string](t, admin, "SELECT @@group_replication_group_name") {
		t.Errorf("identity %q, want the name of the group in it", want)
	}
	for _, level := range []string{"BEFORE_ON_PRIMARY_FAILOVER", "BEFORE", "AFTER", "BEFORE_AND_AFTER"} {
		db := g.open(t, ids, level)
		l := storetest.Assign(t, storetest.Leased(db))
		g.turn(t)
		storetest.Renew(t, l)
		storetest.Assign(t, storetest.Leased(db))
		wantIdentity(t, db, "under "+level, want)
	}
	eventual := g.open(t, ids, "EVENTUAL")
	wantIdentity(t, eventual, "under EVENTUAL", uuid())
	storetest.Assign(t, sqlassigner.Leased(g.open(t, "root", "EVENTUAL"), "orders"))
	g.turn(t)
	_, err := storetest.TryAssign(t, sqlassigner.Leased(eventual, "orders"), time.Minute)
	stores.WantError(t, err, assigner.ErrQuarantined)
}

// A usedRange is a range of deltas that a holder of a worker ID may have used.
type usedRange struct{ worker, first, last int64 }

// primaryMoves has processes start, renew and stop, or crash, while the primary moves.
func primaryMoves(t *testing.T, g *group) {
	const processes, moves = 8, 10
	var mu sync.Mutex
	var used []usedRange
	var starts, renewals, failures atomic.Int64
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range processes {
		db := g.open(t, "root", "")
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				l, err := storetest.TryAssign(t, storetest.Leased(db), 5*time.Second)
				if err != nil {
					failures.Add(1)
					if errors.Is(err, assigner.ErrQuarantined) {
						t.Errorf("Assign: %v", err)
					}
					continue
				}
				starts.Add(1)
				last := l.Grant().First
				for range rand.IntN(6) {
					last = min(last+1, l.Grant().Last)
					if err := stores.Extend(t.Context(), l, last, last+1); err == nil {
						renewals.Add(1)
					} else {
						failures.Add(1)
					}
				}
				if released := rand.IntN(3) > 0; !released || l.End(t.Context(), assigner.Ending{Released: true, Used: last}) != nil {
					last = l.Grant().Last
				}
				mu.Lock()
				used = append(used, usedRange{l.Grant().WorkerID, l.Grant().First, last})
				mu.Unlock()
			}
		})
	}
	for range moves {
		g.turn(t)
		before := starts.Load()
		testkit.Until(t, "starts on the next primary", func() bool { return starts.Load() > before+2 })
	}
	close(done)
	wg.Wait()
	slices.SortFunc(used, func(a, b usedRange) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.first, b.first))
	})
	for i := range used[1:] {
		if a, b := used[i], used[i+1]; a.worker == b.worker && b.first <= a.last {
			t.Errorf("worker %d has granted the deltas %d to %d and %d to %d", a.worker, a.first, a.last, b.first, b.last)
		}
	}
	t.Logf("%d starts, %d renewals, %d failures", starts.Load(), renewals.Load(), failures.Load())
	if starts.Load() < processes || renewals.Load() < processes {
		t.Errorf("%d starts and %d renewals, want more", starts.Load(), renewals.Load())
	}
}

// frozenPrimary has the group replace a frozen primary. When that wakes up, it believes for a
// moment that it is the primary.
func frozenPrimary(t *testing.T, g *group) {
	old := g.servers[g.primary.Load()]
	direct := openMySQL(t, old.DSN())
	direct.SetMaxOpenConns(1)
	before := storetest.Identity(t, direct)
	l := storetest.Assign(t, storetest.Leased(direct))
	old.Freeze()
	g.await(t, 2)
	db := g.open(t, "root", "")
	other := storetest.Assign(t, storetest.Leased(db))
	wantIdentity(t, db, "of the next primary", before)
	old.Wake()
	limit, tries := l.Grant().Last, 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); tries++ {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if err := stores.Extend(ctx, l, 1, l.Grant().Last+1); err == nil || l.Grant().Last != limit {
			t.Fatalf("a renewal on a primary that was replaced: %v, limit %d, was %d", err, l.Grant().Last, limit)
		}
		if l, err := storetest.Leased(direct).Assign(ctx, assignertest.Domain()); err == nil {
			t.Fatalf("a start on a primary that was replaced: %+v", l.Grant())
		}
		cancel()
	}
	t.Logf("%d tries", tries)
	storetest.Renew(t, other)
	g.await(t, 3) // it joins again
}

// backlog kills the primary while the other servers have yet to apply its last change. One of them
// becomes the primary. Its reads wait for the change, except under EVENTUAL.
func backlog(t *testing.T, g *group) {
	db, old := g.open(t, "root", ""), g.primary.Load()
	l := storetest.Assign(t, storetest.Leased(db))
	var locks []*sqlx.DB
	for i, s := range g.servers {
		if int64(i) != old {
			locks = append(locks, storetest.Session(t, openMySQL(t, s.DSN()), "LOCK TABLES WORKER_LEASE_META READ"))
		}
	}
	store := storetest.LeaseStore(db)
	_, err := leasestore.Horizon(t.Context(), store)
	testkit.Must(t, err)
	meta, err := store.LoadMeta(t.Context())
	testkit.Must(t, err)
	g.servers[old].Kill9()
	testkit.Until(t, "another primary", func() bool {
		next := slices.IndexFunc(g.handles, func(db *sqlx.DB) (is bool) {
			_ = db.Get(&is, "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid AND MEMBER_ROLE = 'PRIMARY'")
			return is
		})
		g.primary.Store(int64(max(next, 0)))
		return next >= 0
	})
	for level, waits := range map[string]bool{"EVENTUAL": false, "BEFORE_ON_PRIMARY_FAILOVER": true, "BEFORE": true, "AFTER": true, "BEFORE_AND_AFTER": true} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		m, err := storetest.LeaseStore(g.open(t, "root", level)).LoadMeta(ctx)
		cancel()
		if (err != nil) != waits {
			t.Errorf("under %s a new primary with a backlog returns the horizon %d, %v; it was %d", level, m.Horizon, err, meta.Horizon)
		}
	}
	for _, l := range locks {
		_ = l.Close() // the new primary may have ended the session
	}
	if m, err := store.LoadMeta(t.Context()); m != meta || err != nil {
		t.Errorf("%+v, %v; want %+v", m, err, meta)
	}
	storetest.Renew(t, l)
	storetest.Assign(t, storetest.Leased(db))
}

// forced kills all servers except a secondary, which grants nothing until it is forced to go on
// without a majority. The identity stays, though claims may be lost. Recover raises all fences,
// while offline_mode keeps the user of groupIdentity out. A killed server joins again, and becomes
// the primary.
func forced(t *testing.T, g *group) {
	db, old := g.open(t, "root", ""), g.primary.Load()
	store := sqlassigner.LeaseStore(db, "forced", sqlassigner.Config{})
	leased := assigner.Leased(store, assigner.LeaseConfig{})
	before, l := storetest.Identity(t, db), storetest.Assign(t, leased)
	at := slices.IndexFunc(g.handles, func(db *sqlx.DB) bool { return db != g.handles[old] && db.Ping() == nil })
	for i, s := range g.servers {
		if i != at {
			s.Kill9()
		}
	}
	g.primary.Store(int64(at))
	admin := openMySQL(t, g.servers[at].DSN())
	storetest.Exec(t, admin, "SET GLOBAL offline_mode = ON")
	force := "SET GLOBAL group_replication_force_members = '" + storetest.Get[string](t, admin, "SELECT @@group_replication_local_address") + "'"
	testkit.Succeeds(t, "a forced group", func() error { // once the other servers are unreachable
		if l, err := storetest.TryAssign(t, leased, 200*time.Millisecond); err == nil {
			t.Fatalf("a start without a majority: %+v", l.Grant())
		}
		_, err := admin.Exec(force)
		return err
	})
	g.await(t, 1)
	g.servers[(at+1)%len(g.servers)].Restart()
	storetest.Renew(t, l)
	if err := openMySQL(t, as("ids:hunter2", g.servers[at].DSN())).Ping(); err == nil {
		t.Error("a user without CONNECTION_ADMIN reaches a server in offline_mode")
	}
	testkit.Must(t, leasestore.Recover(t.Context(), store, leasestore.Recovery{Lead: 150 * time.Second}))
	storetest.Exec(t, admin, "SET GLOBAL offline_mode = OFF")
	claim := storetest.Assign(t, leased)
	if claim.Grant().First <= l.Grant().Last {
		t.Errorf("a claim from %d after Recover, and a lost one could have deltas up to %d", claim.Grant().First, l.Grant().Last)
	}
	g.await(t, 2)
	g.turn(t)
	storetest.Renew(t, claim)
	storetest.Assign(t, leased)
	wantIdentity(t, db, "with a server that joined again", before)
}

// madeAnew has all servers crash. The group that one of them makes may lack commits. When that
// server leaves it, it keeps the name of the group.
func madeAnew(t *testing.T, g *group) {
	before := storetest.Identity(t, g.open(t, "root", ""))
	for _, s := range g.servers {
		s.Kill9()
	}
	g.servers[0].Bootstrap()
	g.await(t, 1)
	db := g.open(t, "root", "")
	after := storetest.Identity(t, db)
	_, err := storetest.Leased(db).Assign(t.Context(), assignertest.Domain())
	stores.WantError(t, err, assigner.ErrQuarantined, fmt.Sprintf("now %q", after))
	if name, _, _ := strings.Cut(before, " of view "); after == before || !strings.HasPrefix(after, name+" of view ") {
		t.Errorf("identity %q after %q, want the same name and another view", after, before)
	}
	storetest.Exec(t, openMySQL(t, g.servers[0].DSN()), "STOP GROUP_REPLICATION", "SET GLOBAL read_only = OFF")
	wantIdentity(t, db, "outside the group", storetest.Get[string](t, db, "SELECT @@server_uuid"))
}

// With several primaries, of a claim and Horizon at once each may miss the change of the other: a
// claim was granted deltas below the horizon.
func TestGroupOfSeveralPrimariesIsRefused(t *testing.T) {
	s := testserver.MySQLGroup(t, 1, "--group-replication-single-primary-mode=OFF")[0]
	db := openMySQL(t, s.DSN())
	testkit.Until(t, "the group", func() bool { return members(db) == 1 })
	storetest.Apply(t, db)
	storetest.CheckUndurable(t, db, "group_replication_single_primary_mode=OFF (allowed: ON)")
}
