package main

import (
	"io"
	"time"
)

// A report is what a run prints: as JSON, whose keys stay as they are, or as tables. Names end in their
// unit; ns per ID are nanoseconds of wall time.
type report struct {
	Command    string     `json:"command"`
	Date       time.Time  `json:"date"`
	Machine    machine    `json:"machine"`
	Generator  generator  `json:"generator"`
	Load       loadFlags  `json:"load"`
	Throughput throughput `json:"throughput"`
	Baselines  []baseline `json:"baselines"` // none when paced
	Latency    latency    `json:"latency"`
	Ring       ring       `json:"ring"`
	IDTime     idTime     `json:"id_time"`
	Memory     memory     `json:"memory"`
	Check      *checks    `json:"check"` // null when it was left out
}

type generator struct {
	Layout        string `json:"layout"`
	WorkerID      int64  `json:"worker_id"`
	MaxWorkerID   int64  `json:"max_worker_id"`
	DatacenterID  int64  `json:"datacenter_id"`
	WorkerSource  string `json:"worker_source"`
	Guarantee     string `json:"guarantee"`
	BoostPower    int    `json:"boost_power"`
	CapacityIDs   int    `json:"capacity_ids"`
	PaddingFactor int    `json:"padding_factor_percent"`
	ScheduleNs    int64  `json:"schedule_ns"` // 0: off
	OnEmpty       string `json:"on_empty"`
}

type loadFlags struct {
	Goroutines int     `json:"goroutines"`
	Batch      int     `json:"batch"`           // 0: Next
	Rate       float64 `json:"rate_per_second"` // 0: flat out
}

type throughput struct {
	IDs              int64    `json:"ids"`
	Seconds          float64  `json:"seconds"`
	IDsPerSecond     float64  `json:"ids_per_second"`
	WallNsPerID      float64  `json:"wall_ns_per_id"`      // all goroutines together
	GoroutineNsPerID float64  `json:"goroutine_ns_per_id"` // as each of them sees it
	AllocsPerID      *float64 `json:"allocs_per_id"`       // null when paced: waiting allocates
}

// A baseline compares, over all goroutines together.
type baseline struct {
	Goroutines    int     `json:"goroutines"`
	AtomicAddNs   float64 `json:"atomic_add_ns"`
	MutexCountNs  float64 `json:"mutex_count_ns"`
	NsPerID       float64 `json:"ns_per_id"`
	RatioToAtomic float64 `json:"ratio_to_atomic_add"`
}

// A latency is of one call, Next or Fill, without the clock's share.
type latency struct {
	Calls   int64 `json:"calls_timed"`
	OneOf   int   `json:"one_of"`
	ClockNs int64 `json:"clock_ns_subtracted"`
	P50Ns   int64 `json:"p50_ns"`
	P99Ns   int64 `json:"p99_ns"`
	P999Ns  int64 `json:"p99_9_ns"`
	P9999Ns int64 `json:"p99_99_ns"`
	MaxNs   int64 `json:"max_ns"`
}

type ring struct {
	RejectedTakes int64 `json:"rejected_takes"`
	InlinePads    int64 `json:"inline_pads"`
	PaddingPasses int64 `json:"padding_passes"`
}

type idTime struct {
	PerSecond    float64 `json:"seconds_per_second"`
	AheadSeconds float64 `json:"ahead_seconds"` // of the clock; negative when behind
	ShareSeconds float64 `json:"share_seconds"` // what the delta field is good for at this rate
}

type memory struct {
	GeneratorBytes int64 `json:"generator_bytes"`
	HeapBytes      int64 `json:"heap_bytes"`
	FromOSBytes    int64 `json:"from_os_bytes"`
}

type checks struct {
	IDs         int64   `json:"ids"`
	Different   int64   `json:"different"` // of them, counted in the bitmap
	Duplicates  int64   `json:"duplicates"`
	Seconds     float64 `json:"seconds"`
	BitmapBytes int64   `json:"bitmap_peak_bytes"`
}

func (r report) write(w io.Writer, asJSON bool) error {
	if !asJSON {
		return r.writeTables(w)
	}
	return writeJSON(w, r)
}
