module github.com/uidring/uidring

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/jmoiron/sqlx v1.4.0
	golang.org/x/sync v0.24.0
)

require filippo.io/edwards25519 v1.2.0 // indirect
