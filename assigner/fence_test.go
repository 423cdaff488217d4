package assigner

import "testing"

// limits are the limits of fences by default, in seconds.
var limits = fences{window: 120, step: 1, lead: 300, reserve: 60, skew: 60, end: 1<<31 - 1, last: 1<<31 - 1}

func TestFences(t *testing.T) {
	short, lossy := limits, limits
	short.end, short.last = 1100, 1100
	lossy.last = 1100
	calm := pace{need: 1}
	for name, tt := range map[string]struct{ got, want int64 }{
		"claim of a fence in the past":          {limits.forClaim(1000, 900), 1120},
		"claim of a fence ahead":                {limits.forClaim(1000, 1110), 1120},
		"claim of a fence a window ahead":       {limits.forClaim(1000, 1120), 1121},
		"claim at the end of the layout":        {short.forClaim(1000, 900), 1100},
		"claim after the end of the layout":     {short.forClaim(1000, 1100), 1100},
		"claim on a lossy store":                {lossy.forClaim(1000, 900), 1100},
		"claim of a fence above a lossy store":  {lossy.forClaim(1000, 1150), 1150},
		"renewal of an idle holder":             {limits.forRenewal(1000, 1120, 1000, 0, calm), 1240},
		"renewal ahead of the clock":            {limits.forRenewal(1000, 1250, 1248, 0, calm), 1251},
		"renewal ahead, for its pace":           {limits.forRenewal(1000, 1250, 1248, 0, pace{need: 20}), 1268},
		"renewal ahead, as wanted":              {limits.forRenewal(1000, 1250, 1248, 1260, calm), 1260},
		"renewal with an absurd wish":           {limits.forRenewal(1000, 1250, 1302, 1<<40, calm), 1422},
		"renewal with a wish as large as pace":  {limits.forRenewal(1000, 1250, 1302, 1<<40, pace{need: 100}), 1502},
		"renewal up to the cap":                 {limits.forRenewal(1000, 1350, 1301, 5000, pace{need: 500}), 1360},
		"renewal at the cap":                    {limits.forRenewal(1000, 1360, 1300, 5000, calm), 1360},
		"renewal above the cap":                 {limits.forRenewal(1000, 1400, 1300, 5000, calm), 1400},
		"renewal of a holder beyond the lead":   {limits.forRenewal(1000, 1360, 1302, 0, pace{need: 500}), 1802},
		"renewal above a lossy store":           {lossy.forRenewal(1000, 1150, 1000, 0, calm), 1150},
		"release":                               {released(1120, 1050, 1001), 1050},
		"release of nothing":                    {released(1120, 0, 1001), 1000},
		"release of more than the fence":        {released(1120, 2000, 1001), 1120},
		"cap with a short lead":                 {fences{window: 120, lead: 1, reserve: 60}.ceiling(), 300},
		"farthest fence at the end of a layout": {short.farthest(1000), 1100},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", name, tt.got, tt.want)
		}
	}
}

func TestPaces(t *testing.T) {
	for name, tt := range map[string]struct{ got, want pace }{
		"at first":                      {limits.begin(1000, 1000, 900), pace{1001, 1000, 240}},
		"at first, ahead of the clock":  {limits.begin(1000, 1000, 1100), pace{1101, 1000, 140}},
		"at first, two windows ahead":   {limits.begin(1000, 1000, 1300), pace{1301, 1000, 1}},
		"in a recovered namespace":      {limits.begin(9000, 1000, 9000), pace{9001, 1000, 240}},
		"nothing used":                  {limits.follow(pace{1000, 1000, 240}, 1000, 1045), pace{1000, 1045, 120}},
		"as before":                     {limits.follow(pace{1000, 1000, 240}, 1045, 1045), pace{1045, 1045, 240}},
		"twice as much":                 {limits.follow(pace{1000, 1000, 240}, 1090, 1045), pace{1090, 1045, 480}},
		"more than twice as much":       {limits.follow(pace{1000, 1000, 240}, 9000, 1045), pace{9000, 1045, 480}},
		"a little":                      {limits.follow(pace{1000, 1000, 1}, 1001, 1080), pace{1001, 1080, 2}},
		"no time, a delta":              {limits.follow(pace{1000, 1000, 200}, 1001, 1000), pace{1001, 1000, 240}},
		"an earlier delta":              {limits.follow(pace{1000, 1000, 240}, 10, 1045), pace{10, 1045, 120}},
		"a step at least":               {limits.follow(pace{1000, 1000, 1}, 1000, 1045), pace{1000, 1045, 1}},
		"more than an int64 holds":      {limits.follow(pace{0, 1000, 240}, 1<<62, 1001), pace{1 << 62, 1001, 480}},
		"half of the layout at the end": {limits.follow(pace{1000, 1000, limits.end - 1}, 1<<62, 1045), pace{1 << 62, 1045, limits.end / 2}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, tt.got, tt.want)
		}
	}
}
