package dynamoassigner_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/dynamoassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

const table = "uidring"

// connect returns a client of a server without accounts.
func connect(url string, change ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "eu-central-1",
		BaseEndpoint: &url,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
		Retryer: retry.AddWithMaxBackoffDelay(retry.NewStandard(), 20*time.Millisecond),
	}, change...)
}

// serve starts a server with an empty table.
func serve(t *testing.T) *testserver.Server {
	t.Helper()
	server := testserver.Dynalite(t, "testdata/dynalite/serve.js")
	makeTable(t, server)
	return server
}

func makeTable(t *testing.T, server *testserver.Server) {
	t.Helper()
	client := connect(server.DSN())
	_, err := client.CreateTable(t.Context(), dynamoassigner.Table(table))
	if err == nil { // the table takes no items before it is active
		wait := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 10 * time.Millisecond })
		err = wait.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: new(table)}, time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// key returns the primary key of an item.
func key(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
}

// fixture returns a function that opens empty namespaces on a server.
func fixture(server *testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	admin := connect(server.DSN())
	remove := func(t *testing.T, key map[string]types.AttributeValue) {
		t.Helper()
		gone, err := admin.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(table), Key: key, ReturnValues: types.ReturnValueAllOld})
		if err != nil || gone.Attributes == nil {
			t.Fatalf("delete %v: %v, %v", key, gone, err)
		}
	}
	var names atomic.Int64
	return func(t *testing.T) assignertest.StoreFixture {
		name := fmt.Sprint("namespace.", names.Add(1))
		rows := "worker/" + name
		open := func(name string, change ...func(*dynamodb.Options)) assigner.Store {
			return dynamoassigner.LeaseStore(connect(server.DSN(), change...), table, name)
		}
		return assignertest.StoreFixture{
			Handle: func() assigner.Store { return open(name) },
			Other:  func(name string) assigner.Store { return open(name) },
			Delete: func(t *testing.T, workerID int64) {
				remove(t, key(rows, fmt.Sprintf("%016d/%03d", workerID/1000, workerID%1000)))
			},
			Clear: func(t *testing.T) {
				found, err := admin.Query(t.Context(), &dynamodb.QueryInput{TableName: aws.String(table), KeyConditionExpression: aws.String("pk = :pk"),
					ExpressionAttributeValues: map[string]types.AttributeValue{":pk": key(rows, "")["pk"]}})
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range found.Items {
					remove(t, map[string]types.AttributeValue{"pk": item["pk"], "sk": item["sk"]})
				}
				remove(t, key("meta", name))
			},
			Down: func(*testing.T) (up func()) {
				server.Kill9()
				return func() { server.Restart() }
			},
			Through: func(w *assignertest.Wire) assigner.Store {
				transport := &http.Transport{DialContext: w.Dial}
				t.Cleanup(transport.CloseIdleConnections)
				return open(name, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport} })
			},
			Kill: func(*testing.T) {
				server.Kill9()
				server.Restart()
			},
		}
	}
}
