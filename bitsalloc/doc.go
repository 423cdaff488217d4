// Package bitsalloc packs four numbers into a positive 64-bit ID and parses IDs into these numbers.
//
//	sign  delta                          datacenter  worker            sequence
//	0     0000000000000000000000000000   00000       00000000000000000 0000000000000
//	1     28                             5           17                13            default, unit 1 s
//
// The layout follows Baidu's UidGenerator and adds a datacenter field; [Layout] sets the widths and
// the unit of time. delta is the number of units since the epoch; since it comes first, IDs sort by
// time.
//
// The package reads no clock and keeps no state. [Allocator.Allocate] and [Allocator.Parse]
// allocate no memory unless they return an error.
package bitsalloc
