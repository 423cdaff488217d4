package ringbuffer

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// ErrInvalidSize is returned by [New] when slots and runBits cannot make a ring.
var ErrInvalidSize = errors.New("ringbuffer: invalid size")

// cacheLine keeps words that are written apart from words that others read. 64 bytes is a line on
// amd64 and most arm64; where lines are larger a false share costs time, not correctness.
const cacheLine = 64

// A Ring is filled by one goroutine at a time (Put, Retire) and emptied by any number of them
// (Take, TakeN, TakeRun). Make one with [New].
type Ring struct {
	slots    []slot
	flags    []atomic.Uint64 // run number of each slot; 0, which no run has, before its first Put
	runBits  uint8
	handover func(left int)

	// Read by every take, written once per run.
	_      [cacheLine]byte
	cursor atomic.Uint64 // index of the slot being taken from; counts slots for ever
	tail   atomic.Uint64 // index after the last slot put
	_      [cacheLine]byte

	failed atomic.Uint64 // adds that found their run used up or gone; written by takers, off the path of an ID

	// Written by the producer.
	_        [cacheLine]byte
	lastRun  uint64        // the largest run number ever put
	puts     atomic.Uint64 // runs
	retired  atomic.Uint64 // IDs
	overshot atomic.Uint64 // adds beyond the end of runs that have left the ring
}

// A slot has a cache line of its own: next is written for every ID, and flags, read for every ID,
// must not share its line.
type slot struct {
	next atomic.Uint64 // the ID that the next taker gets; beyond the run when that is used up
	_    [cacheLine - 8]byte
}

// New returns an empty ring of the given number of slots, a power of two from 2 up, each for a run
// of 2^runBits IDs; all of them together must fit an int. After a used-up slot was handed back to the
// producer, handover, unless nil, is called by the taker that did it, with the number of IDs in the runs
// that follow: once per run, not per ID. It must not block.
func New(slots int, runBits uint8, handover func(left int)) (*Ring, error) {
	var errs []error
	if slots < 2 || slots&(slots-1) != 0 {
		errs = append(errs, fmt.Errorf("%w: %d slots, allowed: a power of two, 2 or more", ErrInvalidSize, slots))
	}
	if runBits > 62 || slots > math.MaxInt>>runBits {
		errs = append(errs, fmt.Errorf("%w: %d slots of 2^%d IDs, allowed: %d IDs in all",
			ErrInvalidSize, slots, runBits, math.MaxInt))
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return &Ring{
		slots:    make([]slot, slots),
		flags:    make([]atomic.Uint64, max(slots, cacheLine/8)), // a line of their own even in a small ring
		runBits:  runBits,
		handover: handover,
	}, nil
}

// Cap returns the number of IDs in a full ring.
func (r *Ring) Cap() int { return len(r.slots) << r.runBits }

// place returns where the slot of an index lies.
func (r *Ring) place(index uint64) uint64 { return index & uint64(len(r.slots)-1) }

// end returns the first number after a run. It does not overflow: IDs have 63 bits.
func (r *Ring) end(run uint64) uint64 { return (run + 1) << (r.runBits & 63) }

// runOf returns the number of the run that an ID belongs to. The mask spares the code for shifts of
// 64 and more, which New has ruled out.
func (r *Ring) runOf(id uint64) uint64 { return id >> (r.runBits & 63) }
