// Package kvassigner turns a store of keys and values into an [leasestore.Store], and so into a
// source of worker IDs, or into a source of counters for package segment. The store needs four
// operations: get, put if the revision matches, list by prefix, and status. A [KV] for object
// storage with conditional writes, or for a configuration service, takes about 80 lines:
//
//	numbers := assigner.Leased(kvassigner.LeaseStore(bucket{client}, "orders", kvassigner.Config{}), assigner.LeaseConfig{})
//
// Check it with RunStore and RunFaults of package assignertest.
//
// # Keys
//
// Keys have the characters a-z A-Z 0-9 . _ - and slashes, which separate folders:
//
//   - meta/orders is the meta row of namespace orders; the name is in lower case here;
//   - worker/orders/0000000000000004/007 is the row of worker 4,007;
//   - seen/orders is the time of the last write, on a store without a clock only;
//   - segment/orders is the counter orders of [SegmentSource].
//
// Each folder of rows has at most [BlockSize] of them. A KV may map a key to any name that no other
// key has. Values are JSON of at most [MaxValue] bytes. No key is ever deleted. A value has the
// lowest format that its readers must know. A reader ignores fields that it does not know, and its
// next write drops them.
//
// # Object storage
//
// The revision is the ETag in Amazon S3 and Azure Blob Storage, and the generation in Google Cloud
// Storage. A put with If-None-Match: * or ifGenerationMatch=0 creates a key; a put with If-Match or
// ifGenerationMatch replaces it. Status 412, with Azure also 409 BlobAlreadyExists, means that the
// condition is not met; every other failure is an error. Switch off the retries of the client, put
// a random text into each object, since an ETag may be a hash of the content, and use no cache, no
// secondary endpoint, no replicated bucket and no rule that deletes objects. The creation time of
// an object can be the identity. This follows the vendors' documentation and was not tested.
//
// # Cost
//
// A renewal takes four requests: Status, Get, Put, and Status again. On a store without a clock
// each Status takes one more, and the write two.
//
// A claim lists folders, beginning with a random one, until it has found 256 expired rows. It lists
// all folders of a namespace with up to 32,000 rows. In a larger one it gives up after about that
// many rows and takes a new worker ID; the next claim of the process goes on with other folders.
// When all worker IDs have been given out and few are free, [assigner.ErrWorkersExhausted] may
// therefore come too early. Generators try again after a second.
//
// Experimental: the contract with authors of stores may still change. See docs/STABILITY.md.
package kvassigner
