package sqlassigner

import "testing"

// 284 is 28 bits, as in the default layout, if a byte is taken of it.
func TestWidthThatIsNoneIsOfNoLayout(t *testing.T) {
	for _, stored := range []int64{284, 256, -228, -1} {
		if l, _ := (pin{stored, stored, stored, stored, 1000, 0}).layout(); l.DeltaBits != 255 || l.DatacenterBits != 255 || l.WorkerBits != 255 || l.SequenceBits != 255 {
			t.Errorf("widths of %d bits are read as %v", stored, l)
		}
	}
	if l, _ := (pin{28, 5, 17, 13, 1000, 0}).layout(); l.String() != "28/5/17/13@1s" {
		t.Errorf("the default layout is read as %v", l)
	}
}
