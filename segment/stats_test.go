package segment_test

import (
	"testing"

	"github.com/uidring/uidring/segment"
)

// No ID was issued: a snapshot during Close must not count the dropped IDs as issued.
func TestStatsDuringCloseCountNoDroppedIDAsIssued(t *testing.T) {
	for range 50 {
		g, err := segment.New(segment.Config{Name: "a", Source: new(scripted), Step: 1, MaxStep: 1, Ahead: 64})
		if err != nil {
			t.Fatal(err)
		}
		for g.Stats().Remaining < 65 {
		}
		go g.Close()
		for s := g.Stats(); s.Dropped < 65; s = g.Stats() {
			if s.Issued != 0 {
				t.Fatalf("Stats %+v: no ID was issued", s)
			}
		}
	}
}
