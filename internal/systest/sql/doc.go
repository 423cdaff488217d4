// Package sql tests package sqlassigner on SQLite and PostgreSQL, whose drivers the root module does
// not require. It contains only tests.
package sql
