// Package assignertest is the conformance suite for implementations of [assigner.Assigner] and
// [leasestore.Store], in this module and elsewhere:
//
//	func TestConformance(t *testing.T) {
//		assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
//			store := newEmptyStore(t)
//			return assignertest.AssignerFixture{
//				Assigner:  func(holder string) assigner.Assigner { return mine.New(store, holder) },
//				Guarantee: assigner.GuaranteeFresh,
//			}
//		})
//	}
//
// [Run] checks any assigner. [RunKeyed] checks assigners that keep a worker ID for a key.
// [Processes] takes worker IDs in real processes that share a store. All of them wait for the end
// of a quarantine, up to 30 s.
//
// [RunStore] checks an [leasestore.Store], and leases on it, also during an outage of the store and
// after it has lost rows. [RunFaults] cuts the store's connections and kills its server. One
// fixture serves both:
//
//	func fixture(t *testing.T) assignertest.StoreFixture {
//		server := startServer(t)
//		return assignertest.StoreFixture{
//			Handle: func() leasestore.Store { return mine.New(server.Addr, "orders", net.Dial) },
//			Other:  func(name string) leasestore.Store { return mine.New(server.Addr, name, net.Dial) },
//			Delete: func(t *testing.T, workerID int64) { server.Delete(t, "orders", workerID) },
//			Clear:  func(t *testing.T) { server.DeleteAll(t, "orders") },
//			Down: func(t *testing.T) (up func()) {
//				server.Kill(t)
//				return func() { server.Start(t) }
//			},
//			Through: func(w *assignertest.Wire) leasestore.Store {
//				return mine.New(w.Proxy(t, server.Addr), "orders", net.Dial)
//			},
//			Kill: func(t *testing.T) {
//				server.Kill(t)
//				server.Start(t)
//			},
//		}
//	}
//
//	func TestStore(t *testing.T)  { assignertest.RunStore(t, fixture) }
//	func TestFaults(t *testing.T) { assignertest.RunFaults(t, fixture) }
package assignertest
