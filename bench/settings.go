package main

import (
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// settings are what the command line asks for.
type settings struct {
	command string // the flags given, without a password

	dsn        string // MySQL; empty: none
	database   string // the same for people: user@host/database
	create     bool
	worker     int64 // negative: from a database
	datacenter int64

	layout        bitsalloc.Layout
	boostPower    int
	paddingFactor int
	schedule      time.Duration
	onEmpty       string // pad or reject

	goroutines int
	batch      int     // 0: Next
	rate       float64 // IDs per second; 0: flat out
	duration   time.Duration
	check      int64 // IDs; 0: none

	json bool
}

// config is the Config of the generator.
func (s settings) config(a assigner.Assigner) cached.Config {
	cfg := cached.Config{
		Layout:           s.layout,
		DatacenterID:     s.datacenter,
		Assigner:         a,
		AllowReuse:       true, // nobody keeps the IDs
		BoostPower:       s.boostPower,
		PaddingFactor:    s.paddingFactor,
		ScheduleInterval: s.schedule,
		MaxStaleness:     max(time.Minute, 2*s.layout.Unit), // the least that long units allow
	}
	if s.onEmpty == "reject" {
		cfg.OnEmpty = cached.Reject
	}
	return cfg
}
