// Package assignertest is the conformance suite for implementations of [assigner.Assigner] and
// [leasestore.Store], in this module and elsewhere.
//
// [Run] checks any assigner. [RunStore] checks an [leasestore.Store], and leases on it, also during
// an outage of the store. [RunFaults] cuts the store's connections and kills its server. One
// fixture serves both:
//
//	func fixture(t *testing.T) assignertest.StoreFixture {
//		server := startServer(t)
//		return assignertest.StoreFixture{
//			Handle: func() leasestore.Store { return mine.New(server.Addr, "orders", net.Dial) },
//			Other:  func(name string) leasestore.Store { return mine.New(server.Addr, name, net.Dial) },
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
