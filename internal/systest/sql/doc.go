// Package sql tests package sqlassigner on SQLite and PostgreSQL. The root module does not require
// their drivers. The package contains only tests.
package sql
