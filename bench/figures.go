package main

// report turns what was found out into figures.
func (o *outcome) report(m machine) report {
	return report{
		Command:    o.settings.command,
		Date:       o.date.UTC().Truncate(1e9),
		Machine:    m,
		Generator:  o.generator(),
		Load:       loadFlags{o.settings.goroutines, o.settings.batch, o.settings.rate},
		Throughput: o.throughput(),
		Baselines:  o.baselines(),
		Latency:    o.latencies(),
		Ring:       ring{o.measured.rejectedTakes, o.measured.inlinePads, o.measured.paddingPasses},
		IDTime:     o.idTime(),
		Memory:     memory{o.generatorHeap, o.heap, o.fromOS},
		Check:      o.checks(),
	}
}

func (o *outcome) generator() generator {
	s, stats := o.settings, o.measured.after
	return generator{
		Layout:        o.alloc.Layout().String(),
		WorkerID:      stats.WorkerID,
		MaxWorkerID:   o.alloc.MaxWorkerID(),
		DatacenterID:  stats.DatacenterID,
		WorkerSource:  o.source,
		Guarantee:     stats.Guarantee.String(),
		BoostPower:    s.boostPower,
		CapacityIDs:   stats.Capacity,
		PaddingFactor: s.paddingFactor,
		ScheduleNs:    s.schedule.Nanoseconds(),
		OnEmpty:       s.onEmpty,
	}
}

func (o *outcome) throughput() throughput {
	m := o.measured
	t := throughput{
		IDs:              m.ids,
		Seconds:          m.wall.Seconds(),
		IDsPerSecond:     float64(m.ids) / m.wall.Seconds(),
		WallNsPerID:      m.nsPerID(),
		GoroutineNsPerID: m.nsPerID() * float64(o.settings.goroutines),
	}
	if o.settings.rate == 0 {
		t.AllocsPerID = new(float64(m.mallocs) / float64(m.ids))
	}
	return t
}

func (o *outcome) baselines() []baseline {
	list := []baseline{}
	for _, c := range o.measured.columns {
		list = append(list, baseline{c.goroutines, median(c.adds), median(c.mutexes), median(c.takes), c.ratio()})
	}
	return list
}

func (o *outcome) latencies() latency {
	l := o.latency
	return latency{
		Calls:   l.histogram.TotalCount(),
		OneOf:   l.every,
		ClockNs: l.clock.Nanoseconds(),
		P50Ns:   l.at(50).Nanoseconds(),
		P99Ns:   l.at(99).Nanoseconds(),
		P999Ns:  l.at(99.9).Nanoseconds(),
		P9999Ns: l.at(99.99).Nanoseconds(),
		MaxNs:   l.longest().Nanoseconds(),
	}
}

func (o *outcome) idTime() idTime {
	m := o.measured
	share, _ := o.alloc.Lifetime(float64(m.ids) / m.wall.Seconds())
	return idTime{
		PerSecond:    float64(m.deltas) * o.alloc.Layout().Unit.Seconds() / m.wall.Seconds(),
		AheadSeconds: m.after.Ahead.Seconds(),
		ShareSeconds: share.Seconds(),
	}
}

func (o *outcome) checks() *checks {
	if o.settings.check == 0 {
		return nil
	}
	c := o.checked
	return &checks{
		IDs:         c.taken,
		Different:   c.ids,
		Duplicates:  c.taken - c.ids,
		Seconds:     c.wall.Seconds(),
		BitmapBytes: c.bitmapBytes,
	}
}
