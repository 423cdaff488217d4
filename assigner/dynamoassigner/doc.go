// Package dynamoassigner keeps the leases of worker IDs in a table of Amazon DynamoDB, for services
// on ECS, Lambda and EC2 that have no other database. It is a module of its own.
//
//	client := dynamodb.NewFromConfig(cfg)
//	leases := dynamoassigner.LeaseStore(client, "uidring", "orders", dynamoassigner.Config{})
//	generator, err := cached.NewContext(ctx, cached.Config{Assigner: assigner.Leased(leases, assigner.LeaseConfig{})})
//
// A swap is a conditional write, and all reads are strongly consistent. DynamoDB acknowledges a
// write when it is on disk in two of three zones. Grants are therefore
// [assigner.GuaranteeFenced]: wrong clocks, pauses and crashes cannot cause duplicate IDs.
//
// # Limits
//
//   - A table of one region only: the replicas of a global table accept conflicting writes. Each
//     claim and each renewal checks it, and fails with [leasestore.ErrNotDurable]. This covers
//     global tables with strong consistency, too, but not legacy ones of version 2017.11.29, whose
//     replicas DescribeTable does not list: use none.
//   - Tested with dynalite, a server with the API of DynamoDB, and not with DynamoDB itself.
//   - A function of Lambda is frozen between requests, and its leases expire meanwhile. It then
//     takes another worker ID. Use defaultgen there, whose IDs contain the time of the call.
//
// # Restore
//
// The store's identity is the ID of the table. DynamoDB restores a backup or a point in time into a
// new table, which has another ID, also under the old name; claims are then quarantined, see
// [assigner.ErrQuarantined]. It does not change when items are put back into the same table: call
// [leasestore.Recover] then, before any process starts.
//
// # Operation
//
// The servers report their clock in whole seconds, and rows expire by it. A renewal makes four
// requests: DescribeTable twice, a read and a write. A claim queries folders, see package
// kvassigner, each for about 140 read units. A row takes about 550 bytes, one write unit. The rows
// of a namespace share a partition, which takes about 1,000 writes a second.
//
// The role of a process needs these permissions:
//
//	{"Effect": "Allow", "Resource": "arn:aws:dynamodb:*:*:table/uidring",
//	 "Action": ["dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"]}
//
// Experimental: this package may still change. See docs/STABILITY.md.
package dynamoassigner
