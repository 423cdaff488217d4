// Package zkassigner keeps the leases of worker IDs in ZooKeeper 3.4 or later. The package is a
// module of its own.
//
//	conn, events, err := zk.Connect([]string{"zk-0:2181", "zk-1:2181", "zk-2:2181"}, 10*time.Second,
//		zk.WithHostProvider(zkassigner.HostProvider())) // follows names that lead to new addresses
//	…
//	leases := zkassigner.LeaseStore(conn, "orders", zkassigner.Config{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Leased(leases, assigner.LeaseConfig{})})
//
// A majority of the servers has an acknowledged write on disk. A swap states the version of its
// znode. The server of a session may lag behind the leader: each read therefore follows a write in
// the same session, which the server has applied before it answers. Grants are
// [assigner.GuaranteeFenced]: wrong clocks, pauses and crashes cannot cause duplicate IDs.
//
// No znode is ephemeral. Many libraries take a worker ID with an ephemeral znode, which ZooKeeper
// deletes when the session of its holder ends. A holder that is paused, or cut off, does not notice
// that at once, and issues the same IDs as its successor. Here a fence keeps them apart.
//
// # Limits
//
// ZooKeeper does not report whether it was started with forceSync=no. Do not use that setting: a
// crash then loses acknowledged writes.
//
// # Restore
//
// ZooKeeper has no identity of its own. The store's identity is the birth of the znode clock. It
// changes when the znodes are copied to another place or ensemble; claims are then quarantined, see
// [assigner.ErrQuarantined]. It does not change when a snapshot or an older data folder is used:
// claims cannot detect these losses. After a restore, before any process starts, call
// [leasestore.Recover], or delete the znode clock, which has all claims quarantined.
//
// Servers reject sessions that have seen a later transaction than they have. Processes that ran
// before a restore therefore may not connect again until they are restarted.
//
// # Operation
//
// The leader reports its clock, and rows expire by it. A renewal makes five requests: three writes
// of the znode clock, a read, and a write of the row. A claim lists znodes and reads them in
// parallel, see package kvassigner. A row takes about 500 bytes of the servers' memory.
//
// Experimental: this package may still change. See docs/STABILITY.md.
package zkassigner
