// Package assignertest is the conformance suite for implementations of [assigner.Assigner] and
// [assigner.Store], in this module and elsewhere:
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
// [Processes] takes worker IDs in real processes that share a store. [RunStore] checks an
// [assigner.Store], and leases on it, also during an outage of the store and after it has lost
// rows. All of them wait for the end of a quarantine, up to 30 s.
package assignertest
