package dynamoassigner

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// Config configures a [LeaseStore]. It has no options yet: use its zero value.
type Config struct{}

// LeaseStore returns the store of a namespace in a table, see [kvassigner.LeaseStore]. The table
// exists: create it with [Table]. It holds any number of namespaces. It may hold items of other
// programs, whose partition keys do not begin with meta or worker. The keys of the items are
//
//   - pk meta, sk orders: the meta row; the name is in lower case here;
//   - pk worker/orders, sk 0000000000000004/007: the row of worker 4,007.
//
// The items are never deleted. Their attributes are strings, which a time to live cannot expire.
// The store returns an error when a write may have taken effect.
func LeaseStore(client *dynamodb.Client, table, namespace string, _ Config) leasestore.Store {
	return kvassigner.LeaseStore(&items{client, table}, namespace, kvassigner.Config{})
}

func (t *items) Check(string) error {
	var errs []error
	if t.client == nil {
		errs = append(errs, errors.New("dynamoassigner: client is required"))
	}
	if t.table == "" {
		errs = append(errs, fmt.Errorf("dynamoassigner: table %q, allowed: the name or the ARN of a table", t.table))
	}
	return errors.Join(errs...)
}

// Table returns the request that creates a table, billed by request:
//
//	_, err := client.CreateTable(ctx, dynamoassigner.Table("uidring"))
//
// The table is ready a few seconds later.
func Table(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(partition), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(partition), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(sort), AttributeType: types.ScalarAttributeTypeS},
		},
	}
}
