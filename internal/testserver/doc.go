// Package testserver starts private database servers for tests: MariaDB, PostgreSQL, Redis and
// etcd.
//
// Every server keeps its data in a temporary folder of its own, listens on a free loopback port, is
// stopped when the test that started it ends, and does not outlive the test process on Linux. No
// system service is started or touched, and no setting of the machine is read.
//
// Where a server's program is not installed the test is skipped, with a line that begins with
// [Missing], so that a run can list what it left out. With CI=true in the environment the
// test fails instead: there, a skip would pass for a success.
package testserver
