// Package causal counts the network use of a distributed lock: the number of sequential
// trips of messages, each caused by the one before.
//
// [Count] plays the lock through with real servers: a client alone, then three that take
// the lock in turn. Each client has its own proxies to the servers, which delay nothing
// and read every message. Between two steps it waits until all are silent, so that a step
// causes its messages. Their order determines the number of trips behind a grant. A
// request is one trip after the last message that its client received, and an answer one
// trip after its request. That is the logical clock of L. Lamport, "Time, Clocks, and the
// Ordering of Events in a Distributed System", CACM 21(7), 1978. As a measure of a
// protocol it is the time of H. Attiya, J. Welch, Distributed Computing, 2nd edition,
// 2004, chapter 2: a message takes one unit of time and everything else none.
//
// Nothing is timed. The counts are the same on a slow machine, and the method works for
// locks by others and in other languages. Package predict predicts times at a distance.
//
// Rank 2. It imports harness, harness/stat and internal/faultproxy, and must not import a
// lock.
package causal
