package main

import (
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/bitsalloc"
)

// parse reads the command line. The error is flag.ErrHelp or a *usageError that names all mistakes.
func parse(args []string) (settings, error) {
	p := newSettingsParser()
	err := p.parse(args, p.checkTogether)
	p.s.command = p.commandLine()
	return p.s, err
}

// A settingsParser reads the flags of the program without a subcommand.
type settingsParser struct {
	*parser
	s settings
}

func newSettingsParser() *settingsParser {
	p := &settingsParser{
		parser: newParser("bench"),
		s: settings{
			worker:        -1,
			layout:        bitsalloc.Default(),
			boostPower:    3,
			paddingFactor: 50,
			onEmpty:       "pad",
			goroutines:    runtime.GOMAXPROCS(0),
			duration:      3 * time.Second,
			check:         100_000_000,
		},
	}
	p.value("dsn", p.setDSN)
	p.toggle("create", &p.s.create)
	integer(p.parser, "worker", &p.s.worker, 0, math.MaxInt64)
	integer(p.parser, "datacenter", &p.s.datacenter, 0, math.MaxInt64)
	p.layout("layout", &p.s.layout)
	integer(p.parser, "boost-power", &p.s.boostPower, 1, 20)
	integer(p.parser, "padding-factor", &p.s.paddingFactor, 1, 99)
	p.duration("schedule", &p.s.schedule, 0)
	p.choice("on-empty", &p.s.onEmpty, "pad", "reject")
	integer(p.parser, "goroutines", &p.s.goroutines, 1, 1<<16)
	integer(p.parser, "batch", &p.s.batch, 0, 1<<20)
	p.value("rate", p.setRate)
	p.duration("duration", &p.s.duration, time.Millisecond)
	integer(p.parser, "check", &p.s.check, 0, math.MaxInt64)
	p.toggle("json", &p.s.json)
	return p
}

func (p *settingsParser) setRate(text string) {
	r, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(r) || r < 0 || r > 1e12 {
		p.mistake("-rate %q, allowed: 0 (flat out) to 1e12 IDs per second", text)
		return
	}
	p.s.rate = r
}

// setDSN takes care that nothing of the DSN but user, host and database is ever printed: where a password
// ends is not certain in one that is wrong.
func (p *settingsParser) setDSN(text string) {
	cfg, err := mysql.ParseDSN(text)
	if err != nil || cfg.DBName == "" {
		p.mistake("-dsn is not understood, allowed: user:password@tcp(host:port)/database")
		return
	}
	p.s.dsn, p.s.database = text, cfg.Addr+"/"+cfg.DBName
	if cfg.User != "" {
		p.s.database = cfg.User + "@" + p.s.database
	}
	p.given["dsn"] = p.s.database
}

// checkTogether checks what depends on more than one flag.
func (p *settingsParser) checkTogether() {
	_, static := p.given["worker"]
	_, mySQL := p.given["dsn"]
	if static && mySQL {
		p.mistake("-worker and -dsn: a worker ID comes from one place, leave one out")
	}
	if p.s.create && !mySQL {
		p.mistake("-create without -dsn: there is no database to create tables in")
	}
	if most := int64(1)<<p.s.layout.WorkerBits - 1; p.s.worker > most {
		p.mistake("-worker %d, allowed with layout %v: 0 to %d", p.s.worker, p.s.layout, most)
	}
	if most := int64(1)<<p.s.layout.DatacenterBits - 1; p.s.datacenter > most {
		p.mistake("-datacenter %d, allowed with layout %v: 0 to %d", p.s.datacenter, p.s.layout, most)
	}
}
