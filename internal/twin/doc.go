// Package twin runs the same algorithm in C, so that a figure of Go can be set
// beside one of another compiler on the same machine in the same minute.
//
// A [Program] is a C source for one topic; [Programs] lists them. [Start] builds
// it with the compiler of the system and starts it as a child process, which
// stays and answers one measurement after the other. So a caller can alternate
// short blocks in Go and in C: on a machine whose speed changes, only
// neighbours in time compare.
//
// Figures of C are for benchmarks and tests. No measurement of the lab needs a
// compiler: without one Start returns [ErrNoCompiler], and without a header that
// a program needs [ErrNoHeader].
//
// # Protocol
//
// Lines of text, over standard input and output of the child. It begins with
//
//	twin 1 TOPIC CASE...
//
// where 1 is the version of the protocol, and then answers each line with one:
//
//	run CASE CPUS MILLISECONDS    ok NANOSECONDS OPS...
//	compiler                      ok VERSION
//	anything else                 error TEXT
//
// CPUS is a list such as 0,3 with one thread for each, bound to that CPU; "-" is
// a thread that is not bound. The time asked for is 1 to 60,000 ms; the answer
// says how long the measured part took and how many operations each thread did
// in it. What an operation is, the case says. At the end of its input the child
// exits.
//
// # What is left behind
//
// Nothing. Close ends the child and waits for it, and so does the end of the
// context. A child whose owner dies without Close sees the end of its input; on
// Linux the kernel kills it at once, even in the middle of a measurement. That
// signal follows the thread that forks, so each child has a goroutine of its own
// that is locked to its thread and ends after it. The directory that the program
// is built in is removed as soon as it runs.
//
// # Adding a topic
//
// Another program of the same protocol can be run through [Program].Build: so does the
// benchmark of the locks with a Go program of another module.
//
// Write a C file in the directory c that includes twin.h and ends in
//
//	int main(void) { return twin_serve("topic", cases, number); }
//
// and a line in Programs. The work of a case may time itself, as
// core_to_core.c does, or poll run->stop and count, as a lock would.
//
// Rank 1. It imports the standard library only.
package twin
