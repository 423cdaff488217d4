module github.com/uidring/uidring/assigner/k8sassigner

go 1.26.0

require github.com/uidring/uidring v0.1.0

require golang.org/x/sync v0.24.0 // indirect
