package dynamoassigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
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

// The attributes of an item.
const (
	partition = "pk"
	sort      = "sk"
	valueOf   = "value"
)

// items is a table as a [kvassigner.KV].
type items struct {
	client *dynamodb.Client
	table  string
}

// String names the store in errors and log records.
func (t *items) String() string {
	options := t.client.Options()
	return "DynamoDB table " + t.table + " at " + cmp.Or(aws.ToString(options.BaseEndpoint), options.Region)
}

// Passes reports errors after which the SDK tries again, such as throttling, if it has given up.
func (t *items) Passes(err error) bool {
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}

// advise adds the remedy to an error of the service.
func advise(err error) error {
	failure, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	if !ok {
		return err
	}
	remedy := ""
	switch failure.ErrorCode() {
	case "ResourceNotFoundException":
		remedy = "create the table with Table, or correct its name, the region or the account"
	case "AccessDeniedException":
		remedy = "allow the role dynamodb:DescribeTable, GetItem, PutItem and Query on the table"
	case "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "MissingAuthenticationTokenException":
		remedy = "correct the credentials of the client, and the clock of this host"
	case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		remedy = "raise the capacity of the table, or bill it by request"
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}

type item = map[string]types.AttributeValue

// split returns the partition key and the sort key of a key or a prefix. All rows of a namespace
// share a partition, and so do all meta rows.
func split(key string) (pk, sk string) {
	folder, name, _ := strings.Cut(key, "/")
	if space, row, ok := strings.Cut(name, "/"); ok {
		return folder + "/" + space, row
	}
	return folder, name
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// read returns an attribute, or "" if the item has no such text.
func read(i item, attribute string) string {
	if s, ok := i[attribute].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// Get returns the value as its revision: each record has a random text of its own.
func (t *items) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	pk, sk := split(key)
	answer, err := t.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.table, Key: item{partition: text(pk), sort: text(sk)}, ConsistentRead: aws.Bool(true)})
	if err != nil || answer.Item == nil {
		return nil, "", advise(err)
	}
	if revision = read(answer.Item, valueOf); revision == "" {
		return nil, "", fmt.Errorf("item %s was not written by this package", key)
	}
	return []byte(revision), revision, nil
}

func (t *items) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	pk, sk := split(key)
	in := &dynamodb.PutItemInput{
		TableName:                &t.table,
		Item:                     item{partition: text(pk), sort: text(sk), valueOf: text(string(value))},
		ConditionExpression:      aws.String("attribute_not_exists(#value)"),
		ExpressionAttributeNames: map[string]string{"#value": valueOf},
	}
	if revision != "" {
		in.ConditionExpression = aws.String("#value = :revision")
		in.ExpressionAttributeValues = item{":revision": text(revision)}
	}
	_, err := t.client.PutItem(ctx, in)
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return false, nil
	}
	return err == nil, advise(err)
}

// List implements [kvassigner.KV]. An answer has up to 1 MB.
func (t *items) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	pk, sk := split(prefix)
	in := &dynamodb.QueryInput{
		TableName:                 &t.table,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk"),
		ExpressionAttributeValues: item{":pk": text(pk)},
	}
	if sk != "" {
		in.KeyConditionExpression = aws.String("pk = :pk AND begins_with(sk, :sk)")
		in.ExpressionAttributeValues[":sk"] = text(sk)
	}
	for pages := dynamodb.NewQueryPaginator(t.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, advise(err)
		}
		for _, i := range page.Items {
			entries = append(entries, kvassigner.Entry{Key: pk + "/" + read(i, sort), Value: []byte(read(i, valueOf))})
		}
	}
	return entries, nil
}

// Status implements [kvassigner.KV]. The clock of the servers counts whole seconds.
func (t *items) Status(ctx context.Context) (leasestore.Status, error) {
	answer, err := t.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.table})
	if err != nil {
		return leasestore.Status{}, advise(err)
	}
	now, ok := middleware.GetServerTime(answer.ResultMetadata)
	if !ok {
		return leasestore.Status{}, errors.New("the answer has no Date")
	}
	status := leasestore.Status{Now: now, Identity: "table " + aws.ToString(answer.Table.TableId)}
	if n := len(answer.Table.Replicas); n > 0 {
		status.Faults = append(status.Faults, fmt.Sprintf("table %s is a global table with %d replicas, which accept conflicting writes: "+
			"use a table of one region", t.table, n))
	}
	return status, nil
}
