package dynamoassigner_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/dynamoassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
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
	testkit.Must(t, err)
}

// key returns the primary key of an item.
func key(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
}

func TestConformance(t *testing.T) {
	b := stores.Backend{
		Servers: []*testserver.Server{serve(t)},
		Open: func(t *testing.T, s *testserver.Server, dial stores.Dial, namespace string) leasestore.Store {
			transport := &http.Transport{DialContext: dial}
			t.Cleanup(transport.CloseIdleConnections)
			over := func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport} }
			return dynamoassigner.LeaseStore(connect(s.DSN(), over), table, namespace, dynamoassigner.Config{})
		},
	}
	assignertest.RunStore(t, b.Namespace)
	assignertest.RunFaults(t, b.Namespace)
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
func TestListReturnsTheRowsOfAllPages(t *testing.T) {
	client := connect(serve(t).DSN())
	stores.ListHasAllPages(t, dynamoassigner.LeaseStore(client, table, "orders", dynamoassigner.Config{}), 150, strings.Repeat("x", 12_000))
}

func TestListRefusesForeignItems(t *testing.T) {
	client := connect(serve(t).DSN())
	item := key("worker/orders", "0000000000000000/007")
	item["value"] = &types.AttributeValueMemberN{Value: "7"}
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item})
	testkit.Must(t, err)
	s := dynamoassigner.LeaseStore(client, table, "orders", dynamoassigner.Config{})
	_, errLoad := s.Load(t.Context(), 7)
	_, errList := s.List(t.Context())
	for _, err := range []error{errLoad, errList} {
		stores.WantError(t, err, nil, "was not written by this package", "0000000000000000/007")
	}
}

func TestStatusKnowsTheTableByItsID(t *testing.T) {
	server := serve(t)
	client := connect(server.DSN())
	s := dynamoassigner.LeaseStore(client, table, "orders", dynamoassigner.Config{})
	stores.ItsIdentityStays(t, s, server, "^table [0-9a-f-]{32,36}$")

	// A backup is restored as a new table, under the old name.
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		backup, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
		if err != nil || len(backup.Items) != 2 {
			t.Fatalf("%d items, want the meta row and a row: %v", len(backup.Items), err)
		}
		_, err = client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(table)})
		testkit.Must(t, err)
		gone := dynamodb.NewTableNotExistsWaiter(client, func(o *dynamodb.TableNotExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
		testkit.Must(t, gone.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(table)}, time.Minute))
		makeTable(t, server)
		for _, item := range backup.Items {
			_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item})
			testkit.Must(t, err)
		}
		return s
	})
}

// A rewriter changes the answers to DescribeTable, since dynalite has no global tables and always
// sends a Date.
type rewriter func(*http.Response, []byte) []byte

func (r rewriter) Do(request *http.Request) (*http.Response, error) {
	answer, err := http.DefaultClient.Do(request)
	if err != nil || !strings.HasSuffix(request.Header.Get("X-Amz-Target"), ".DescribeTable") {
		return answer, err
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	answer.Header.Del("X-Amz-Crc32") // of the answer as it was
	body = r(answer, body)
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return answer, nil
}

// refused returns a store whose server answers the status in other words.
func refused(url string, answer rewriter) leasestore.Store {
	client := connect(url, func(o *dynamodb.Options) { o.RetryMaxAttempts, o.HTTPClient = 1, answer })
	return dynamoassigner.LeaseStore(client, table, "orders", dynamoassigner.Config{})
}

func TestStatusReportsGlobalTables(t *testing.T) {
	s := refused(serve(t).DSN(), func(_ *http.Response, body []byte) []byte {
		return bytes.Replace(body, []byte(`{"Table":{`), []byte(`{"Table":{"Replicas":[{"RegionName":"eu-west-1"}],`), 1)
	})
	_, err := assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	stores.WantError(t, err, leasestore.ErrNotDurable, "global table with 1 replicas")
}

// dynalite checks no rights.
func TestStatusNamesTheRemedyOfARefusal(t *testing.T) {
	url := serve(t).DSN()
	_, err := refused(url, func(answer *http.Response, body []byte) []byte {
		answer.Header.Del("Date")
		return body
	}).Status(t.Context())
	stores.WantError(t, err, nil, "no Date")
	for code, want := range map[string]string{
		"AccessDeniedException":       "; allow the role dynamodb:DescribeTable",
		"UnrecognizedClientException": "; correct the credentials",
		"RequestLimitExceeded":        "; raise the capacity",
		"LimitExceededException":      "table uidring at ",
	} {
		_, err := refused(url, func(answer *http.Response, _ []byte) []byte {
			answer.StatusCode = http.StatusBadRequest
			return []byte(`{"__type":"com.amazonaws.dynamodb#` + code + `","message":"no"}`)
		}).Status(t.Context())
		if stores.WantError(t, err, nil, want, code); storecall.Passes(err) != strings.Contains(code, "LimitExceeded") {
			t.Errorf("%v: a start waits: %v", err, storecall.Passes(err))
		}
	}
}
