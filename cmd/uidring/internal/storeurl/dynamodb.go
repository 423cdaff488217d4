package storeurl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/uidring/uidring/assigner/dynamoassigner"
)

// openDynamoDB takes credentials, and a region that is not in the URL, from where all tools of AWS
// take them: the environment, the files in ~/.aws, and the role of the container, function or host.
func openDynamoDB(s *Store, u *url.URL, namespace string, _ *tls.Config) error {
	table, err := pathName(u, "a table")
	if err != nil {
		return err
	}
	if u.User != nil {
		return errors.New("a user, allowed: none; credentials come from the environment, ~/.aws or the role of the process")
	}
	if strings.ContainsAny(u.Host, ".:") {
		return fmt.Errorf("region %q, allowed: such as eu-central-1; the parameter endpoint has the address of a server", u.Host)
	}
	options := []func(*config.LoadOptions) error{config.WithRegion(u.Host)}
	if endpoint := u.Query().Get("endpoint"); endpoint != "" {
		options = append(options, config.WithBaseEndpoint(endpoint))
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		return errors.New("no region, allowed: dynamodb://region/table, or a region in AWS_REGION or ~/.aws/config")
	}
	client := dynamodb.NewFromConfig(cfg)
	s.Store = dynamoassigner.LeaseStore(client, table, namespace)
	s.create = func(ctx context.Context) error { return createTable(ctx, client, table) }
	return nil
}

// createTable creates a missing table, and waits until it takes items. It needs no right to create
// tables if the table exists.
func createTable(ctx context.Context, client *dynamodb.Client, table string) error {
	_, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return err
	}
	_, err = client.CreateTable(ctx, dynamoassigner.Table(table))
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return err
	}
	wait := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay, o.MaxDelay = time.Second, time.Second })
	return wait.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, time.Minute)
}
