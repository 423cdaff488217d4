package dynamoassigner_test

import (
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/dynamoassigner"
	"github.com/uidring/uidring/cached"
)

var cfg aws.Config

// A generator that bridges a minute without DynamoDB. Its cfg is the result of
// config.LoadDefaultConfig in github.com/aws/aws-sdk-go-v2/config.
func ExampleLeaseStore() {
	client := dynamodb.NewFromConfig(cfg)
	leases := dynamoassigner.LeaseStore(client, "uidring", "orders", dynamoassigner.Config{})
	numbers := assigner.Leased(leases, assigner.LeaseConfig{Window: time.Minute})
	generator, err := cached.New(cached.Config{Assigner: numbers})
	if err != nil {
		log.Fatal(err)
	}
	defer generator.Close()
	fmt.Println(generator.Next())
}
