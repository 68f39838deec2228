// Package causal counts what a lock kept by servers does with the network: how many
// trips of messages follow one another, each caused by the one before.
//
// [Count] plays the lock through with real servers: a client alone, then three that
// take the lock in turn. Each client has proxies of its own before the servers, which
// delay nothing and read every message. Between two steps it waits until all are
// silent, so that the messages of a step are caused by that step. From their order
// follows how many trips lie behind a grant: those of a request are one more than its
// client had seen, those of an answer one more than its request had. That is the
// logical clock of L. Lamport, "Time, Clocks, and the Ordering of Events in a
// Distributed System", CACM 21(7), 1978; as a measure of a protocol it is the time of
// H. Attiya, J. Welch, Distributed Computing, 2nd edition, 2004, chapter 2, where a
// message takes one unit of time and everything else none.
//
// Nothing is timed: the counts are the same on a slow machine, and of locks of others,
// in other languages too. What a lock does at what distance package predict says.
//
// Rank 2. It imports harness, harness/stat and internal/faultproxy, and must not import
// a lock.
package causal
