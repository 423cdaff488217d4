package assigner

// reckon makes a command on the arithmetic of fences with the limits by default, in seconds. It
// returns false for another one.
func (c command) reckon() bool {
	f, n := fences{window: 120, step: 1, lead: 300, reserve: 60, skew: 60, end: 1<<31 - 1, last: 1<<31 - 1}, c.Number
	if c.flag("short") {
		f.end, f.last = 1100, 1100
	}
	if c.flag("lossy") {
		f.last = 1100
	}
	switch c.Words[0] {
	case "forclaim":
		c.Print("  %d", f.forClaim(1000, n(1)))
	case "forrenewal":
		c.Print("  %d", f.forRenewal(1000, n(1), n(2), n(3), pace{need: n(4)}))
	case "released":
		c.Print("  %d", released(n(1), n(2), n(3)))
	case "begin":
		c.Print("  %v", f.begin(n(1), n(2), n(3)))
	case "follow":
		c.Print("  %v", f.follow(pace{n(1), n(2), n(3)}, n(4), n(5)))
	default:
		return false
	}
	return true
}
