// Package fileassigner keeps leases on worker IDs in a folder, for the processes of one host, or
// for a pod of a StatefulSet with a volume of its own.
//
// Two folders do not know each other: each hands out the same worker IDs, and so does a copy of a
// folder. Processes that are to have different worker IDs share one folder, and use
// [assigner.Leased] or [assigner.Auto]. Where each has a folder to itself, use [assigner.Fenced],
// with a number that no other has, such as the ordinal of the pod.
//
// The folder exists and is private to the store; an
// empty one is a new namespace. It must be on a disk that is local and keeps what fsync has
// acknowledged: then leases are [assigner.GuaranteeFenced], through SIGKILL and loss of power.
//
// Any number of processes of a host may share a folder: a lock file is held, with flock, during
// each operation. An operation waits for it until its context ends. The state is one file in JSON,
// with a checksum; each change writes it anew beside the old one and renames it. Where that fails,
// as on a full disk, the old state stays. A state that is torn, another store's or gone is never
// made anew: all operations return [assigner.ErrStoreDamaged]. They return it, too, when the folder
// is no longer the folder that the store has used first: it was moved, replaced or deleted under a
// running process.
//
// On Linux, file systems that are not local (NFS, SMB, 9P, AFS, Ceph, Lustre, GPFS, OCFS2, GFS2,
// and FUSE, which is also GlusterFS and sshfs) or do not outlast a reboot (tmpfs, ramfs) are faults
// of the store, and refused by leases as [assigner.ErrStoreNotDurable]. Other systems skip this
// check. The writable layer of a container, which ends with it, is not recognised: mount a volume.
// Deleting the folder, or going back to a copy of it, loses fences.
//
// The identity of the store tells a copy from the original by the device, the inode and, on Linux,
// the time of birth of the lock file, so that worker IDs of a copy are quarantined. It does not
// tell a clone of the whole disk, nor a backup that is written into the files of the original. It
// changes, and costs one quarantine, when a disk gets another device number; a reboot alone does
// not change it.
//
// The store has no clock: [assigner.Status].Now is the clock of this host, and Seen the host's time
// of the last write to the folder.
//
// On systems without flock, such as Windows, all operations return [errors.ErrUnsupported].
package fileassigner
