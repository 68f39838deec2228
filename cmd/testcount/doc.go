// Command testcount runs "go test" once for each of its arguments. At the end it counts
// the passed, failed and skipped tests, skips by reason, so that a skip is never silent.
//
//	testcount './...' '-tags purego ./atomics'
//
// A "+" among the arguments separates lanes: lanes run at the same time, the runs of each
// one after the other. So tests that wait and tests that compute share the processors.
//
//	testcount ./redislock ./zklock + ./reports '-tags purego ./atomics'
//
// A "then" separates stages: a stage begins when all lanes of the previous one have ended.
//
// An argument that begins with "nice" is a command for the shell, which prints its output only
// if it fails. At low priority it uses the time that the tests of other lanes leave.
//
//	testcount ./redislock + 'nice go vet ./...' 'nice go list -export -test -f= ./...'
//
// With -again N, up to N failed tests are run twice more at the end. A test that passes both
// times does not count as failed, and the summary names it. A data race and a panic are never
// run again, nor a failure if -final matches the name of the test or its output.
//
//	testcount -again 3 -final '/exclusion$' -- './...'
//
// The exit status is 1 if a test or a build failed.
package main
