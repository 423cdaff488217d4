package dynamoassigner_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/dynamoassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestConformance(t *testing.T) {
	open := namespaces(serve(t))
	assignertest.RunStore(t, open)
	assignertest.RunFaults(t, open)
}

func TestExample(t *testing.T) {
	url := serve(t).DSN()
	cfg = aws.Config{Region: "eu-central-1", BaseEndpoint: &url, Credentials: unchecked}
	testkit.Example(t, ExampleLeaseStore)
}

func TestLeaseStoreRefusesArgumentsThatDoNotFit(t *testing.T) {
	server := serve(t)
	client := connect(server.DSN())
	stores.Fail(t, dynamoassigner.LeaseStore(nil, "", "a/b", dynamoassigner.Config{}), "client is required", `table ""`, `namespace "a/b"`)
	stores.Fail(t, dynamoassigner.LeaseStore(client, "", "orders", dynamoassigner.Config{}), `table ""`)
	stores.Fail(t, dynamoassigner.LeaseStore(client, "missing", "orders", dynamoassigner.Config{}), "ResourceNotFoundException", "; create the table", "DynamoDB table missing at "+server.DSN())
}

// A page has 1 MB.
func TestListReturnsTheRowsOfAllFoldersAndPages(t *testing.T) {
	client := connect(serve(t).DSN())
	stores.ListHasAllFolders(t, dynamoassigner.LeaseStore(client, table, "orders", dynamoassigner.Config{}), 150, strings.Repeat("x", 12_000), dynamoassigner.LeaseStore(client, table, "orders0", dynamoassigner.Config{}))
}

func TestListRefusesForeignItems(t *testing.T) {
	client := connect(serve(t).DSN())
	item := key("worker/orders", "0000000000000000/007")
	item["value"] = &types.AttributeValueMemberN{Value: "7"}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
		t.Fatal(err)
	}
	s := dynamoassigner.LeaseStore(client, table, "orders", dynamoassigner.Config{})
	_, errLoad := s.Load(t.Context(), 7)
	_, errList := s.List(t.Context())
	for _, err := range []error{errLoad, errList} {
		if err == nil || !strings.Contains(err.Error(), "was not written by this package") || !strings.Contains(err.Error(), "0000000000000000/007") {
			t.Errorf("%v, want an error that names the item", err)
		}
	}
}
