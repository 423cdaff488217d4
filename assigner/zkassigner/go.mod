module github.com/uidring/uidring/assigner/zkassigner

go 1.26.0

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/uidring/uidring v0.1.0
)

require golang.org/x/sync v0.24.0 // indirect
