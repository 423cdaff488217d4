// Package sqltest tests package sqlassigner on SQLite and PostgreSQL. It is a module of its own so
// that their drivers stay out of the library's. It exports nothing.
package sqltest
