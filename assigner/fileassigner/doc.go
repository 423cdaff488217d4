// Package fileassigner keeps leases on worker IDs in a folder, for the processes of one host, or
// for a pod of a StatefulSet with a volume of its own.
// [SegmentSource] keeps counters of package segment there.
//
// Two folders give out the same worker IDs, and so does a copy of a folder. Processes that must
// have different worker IDs share one folder and use [assigner.Leased] or [assigner.Auto]. If each
// process has a folder of its own, use [assigner.Fenced] with a worker ID that differs between
// processes, such as the ordinal of the pod.
//
// The operator creates the folder, which must contain no other files; an empty folder is a new
// namespace. A generator that starts waits for a missing folder, which may be mounted later. The
// folder must be on a local disk that keeps data after fsync has returned. Leases are then
// [assigner.GuaranteeFenced], and survive SIGKILL and power loss.
//
// The package supports Linux and macOS; the tests run on Linux. Systems without flock, such as
// Windows, return [errors.ErrUnsupported].
//
// Any number of processes of a host may share a folder: each operation locks a lock file by flock,
// and waits for the lock until its context ends. The state is a single JSON file with a checksum;
// each change writes a new file and renames it. If that fails, as on a full disk, the old state
// stays. If the state is incomplete, missing or from another store, it is never created again: all
// operations return [leasestore.ErrDamaged]. They also return it after the folder was moved,
// replaced or deleted under a running process.
//
// On Linux, Status reports file systems as faults if they are not local (NFS, SMB, 9P, AFS, Ceph,
// Lustre, GPFS, OCFS2, GFS2, and FUSE, which includes GlusterFS and sshfs) or do not survive a
// reboot (tmpfs, ramfs); leases reject them with [leasestore.ErrNotDurable]. Other systems skip
// this check. The check does not recognise the writable layer of a container, which is deleted with
// the container: mount a volume. Deleting the folder, or restoring a copy of it, loses fences.
//
// A lock file with a second path is a fault, too, since the other folder has another state: a hard
// link or, on Linux, a mount of the file alone. Mount the folder, not its files.
//
// The identity of the store consists of the device, the inode and, on Linux, the time of birth of
// the lock file, so that worker IDs of a copy are quarantined. It does not detect a clone of the
// whole disk, nor a backup that is written into the files of the original. A new device number
// changes the identity and costs one quarantine: when a volume moves to another host, or when disks
// are found, or subvolumes of btrfs are mounted, in another order, as after a reboot.
//
// The store has no clock of its own: [leasestore.Status].Now is the clock of this host, and Seen
// the time of the last write to the folder by the host's clock.
package fileassigner
