package dynamoassigner_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/dynamoassigner"
	"github.com/uidring/uidring/internal/testkit/stores"
)

func TestConformance(t *testing.T) {
	open := fixture(serve(t))
	assignertest.RunStore(t, open)
	assignertest.RunFaults(t, open)
}

func TestArgumentsThatDoNotFitAreRefused(t *testing.T) {
	server := serve(t)
	client := connect(server.DSN())
	for _, tt := range []struct {
		client           *dynamodb.Client
		table, namespace string
		want             []string
	}{
		{nil, "", "a/b", []string{"client is nil", `table ""`, `namespace "a/b"`}},
		{client, "", "orders", []string{`table ""`}},
		{client, "missing", "orders", []string{"ResourceNotFoundException", "; create the table", "DynamoDB table missing at " + server.DSN()}},
	} {
		_, err := dynamoassigner.LeaseStore(tt.client, tt.table, tt.namespace).Status(t.Context())
		for _, part := range tt.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("table %q, namespace %q: %v; want %q", tt.table, tt.namespace, err, part)
			}
		}
	}
}

// A page has 1 MB.
func TestListReturnsTheRowsOfAllFoldersAndPages(t *testing.T) {
	client := connect(serve(t).DSN())
	stores.Create(t, dynamoassigner.LeaseStore(client, table, "orders0"), assigner.Row{WorkerID: 7, Version: 1}, time.Hour)
	s := dynamoassigner.LeaseStore(client, table, "orders")
	owner := strings.Repeat("x", 12_000)
	want := map[int64]bool{0: true, 999: true, 1000: true, 123_456_789: true}
	for workerID := int64(2000); len(want) < 150; workerID++ {
		want[workerID] = true
	}
	for workerID := range want {
		stores.Create(t, s, assigner.Row{WorkerID: workerID, Version: 1, Owner: fmt.Sprint(workerID, owner)}, time.Hour)
	}
	rows, err := s.List(t.Context())
	if err != nil || len(rows) != len(want) {
		t.Fatalf("List: %d rows, %v; want %d", len(rows), err, len(want))
	}
	for _, row := range rows {
		if !want[row.WorkerID] || row.Owner != fmt.Sprint(row.WorkerID, owner) {
			t.Errorf("List: row %d of %.10s", row.WorkerID, row.Owner)
		}
	}
}

func TestForeignItemsAreRefused(t *testing.T) {
	client := connect(serve(t).DSN())
	item := key("worker/orders", "0000000000000000/007")
	item["value"] = &types.AttributeValueMemberN{Value: "7"}
	if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
		t.Fatal(err)
	}
	s := dynamoassigner.LeaseStore(client, table, "orders")
	_, errLoad := s.Load(t.Context(), 7)
	_, errList := s.List(t.Context())
	for _, err := range []error{errLoad, errList} {
		if err == nil || !strings.Contains(err.Error(), "was not written by this package") || !strings.Contains(err.Error(), "0000000000000000/007") {
			t.Errorf("%v, want an error that names the item", err)
		}
	}
}
