module github.com/uidring/uidring

go 1.26.0
