// Package bitsalloc packs four numbers into a positive 64-bit ID and takes IDs apart again.
//
//	sign  delta                          datacenter  worker            sequence
//	0     0000000000000000000000000000   00000       00000000000000000 0000000000000
//	1     28                             5           17                13            default, unit 1 s
//
// The layout is that of Baidu's UidGenerator with a datacenter field added; [Layout] sets the
// widths and the unit of time. Because delta, the number of units since the epoch, comes first, IDs
// sort by time.
//
// The package reads no clock and keeps no state. [Allocator.Allocate] and [Allocator.Parse]
// allocate no memory unless they return an error.
package bitsalloc
