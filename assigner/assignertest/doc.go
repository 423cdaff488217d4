// Package assignertest checks that an [assigner.Assigner] keeps the promises of its contract. It is
// for those who bring their own as much as for the assigners of this module:
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
// [Run] holds for all assigners, [RunKeyed] for those that keep a number for a key, and [Processes]
// for those whose store is shared by processes: it starts real ones. [RunStore] checks an
// [assigner.Store], and the leases on it, also while the store is away and after it has lost
// something. All of them wait for the end of a quarantine, up to 30 s.
package assignertest
