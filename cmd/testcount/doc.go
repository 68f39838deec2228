// Command testcount runs "go test" once for each of its arguments and ends by
// naming the longest tests and counting what passed, what failed and what was
// skipped, by reason, so that a skip is never silent.
//
//	testcount './...' '-tags purego ./atomics'
//
// A "+" among the arguments separates lanes: they go on beside each other, the
// runs of each one after the other. So tests that wait and tests that compute
// share the processors.
//
//	testcount ./redislock ./zklock + ./reports '-tags purego ./atomics'
//
// A "then" separates stages: one begins when all lanes of that before have ended.
//
// An argument that begins with "vet" or "compile" tests nothing. It runs "go vet", or
// compiles packages and their tests for a later run, at the lowest priority: it takes
// what time the tests of other lanes leave. Settings of the environment may stand
// before the packages.
//
//	testcount ./redislock + 'vet ./...' 'compile -race ./...' 'compile GOARCH=arm64 ./spinlock'
//
// With -again N, up to N tests that failed are run twice more when all has ended. What
// passes both times does not count as failed, and the summary names it. A data race and a
// panic are never run again, nor a failure where -final matches the name of the test or
// what it said.
//
//	testcount -again 3 -final '/exclusion$' -- './...'
//
// The exit status is 1 if a test or a build failed.
//
// Rank 0. It imports the standard library only.
package main
