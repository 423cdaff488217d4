// Package vmclock notices that a virtual machine runs on from a snapshot, so that generators of two
// copies do not issue the same IDs.
//
// A generator that is resumed from a snapshot goes on from the state of the snapshot, and so does
// each copy. The method Invalidate of the generators takes another worker ID, but the process has
// to learn of the resumption. From Linux 7.0 on, /dev/vmclock0 has a counter for that if the
// hypervisor provides it, as Firecracker does: vm_generation_counter in
// include/uapi/linux/vmclock-abi.h. The tests have a file in place of the device.
//
// IDs that two copies issue before the call of Invalidate, within about 10 ms, may be equal. To
// exclude that, take the snapshot while the process issues no IDs, and issue the first ones after
// Invalidate. Without the counter, call Invalidate from the hook that the orchestrator of the
// virtual machines provides. Worker IDs without a store, such as assigner.Static, are the same
// after Invalidate.
//
// Experimental: this package may still change. See docs/STABILITY.md.
package vmclock
