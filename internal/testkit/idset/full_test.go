package idset

import "testing"

func TestAFullPageTakesNoMemory(t *testing.T) {
	var s Set
	for id := range int64(1<<pageBits + 1) {
		s.Add(id)
		if p := s.pages[0]; (p.words.Load() == nil) != (id >= 1<<pageBits-1) {
			t.Fatalf("after ID %d the bits of the page are %v, want them gone with the last ID", id, p.words.Load() != nil)
		}
	}
}
