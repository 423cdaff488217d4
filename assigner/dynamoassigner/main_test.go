package dynamoassigner_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/dynamoassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testserver"
)

const table = "uidring"

// unchecked has the credentials for a server without accounts.
var unchecked = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
})

// connect returns a client of a server without accounts.
func connect(url string, change ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       "eu-central-1",
		BaseEndpoint: &url,
		Credentials:  unchecked,
		Retryer:      retry.AddWithMaxBackoffDelay(retry.NewStandard(), 20*time.Millisecond),
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

// namespaces returns a func that opens empty namespaces on a server.
func namespaces(server *testserver.Server) func(t *testing.T) assignertest.StoreFixture {
	b := stores.Backend{
		Servers: []*testserver.Server{server},
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			transport := &http.Transport{DialContext: dial}
			t.Cleanup(transport.CloseIdleConnections)
			over := func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport} }
			return dynamoassigner.LeaseStore(connect(s.DSN(), over), table, namespace, dynamoassigner.Config{})
		},
	}
	return b.Namespaces()
}
