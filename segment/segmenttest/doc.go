// Package segmenttest is the conformance suite for implementations of [segment.Source], in this
// module and elsewhere:
//
//	func TestConformance(t *testing.T) {
//		segmenttest.Run(t, segmenttest.Fixture{
//			Open: func(t *testing.T) segment.Source { return mine.Source(connect(t)) },
//		})
//	}
//
// [Run] checks a source. [Kills] kills its store and processes that use it, and counts every ID.
package segmenttest
