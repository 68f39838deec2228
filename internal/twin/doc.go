// Package twin runs the same algorithm in C, so that a figure of Go can be compared with
// one of another compiler on the same machine in the same minute.
//
// A [Program] is a C source for one topic; [Programs] lists them. [Start] builds it with
// the compiler of the system and starts it as a child process, which stays and answers
// one measurement after the other. So a caller can alternate short blocks in Go and in C:
// on a machine whose speed changes, only neighbours in time compare.
//
// Figures of C are for benchmarks and tests. No measurement of the lab needs a compiler:
// without one Start returns [ErrNoCompiler], and without a header that a program needs
// [ErrNoHeader].
//
// # Protocol
//
// The protocol is lines of text, over standard input and output of the child. It begins with
//
//	twin 1 TOPIC CASE...
//
// where 1 is the version of the protocol, and then answers each line with one:
//
//	run CASE CPUS MILLISECONDS    ok NANOSECONDS OPS...
//	anything else                 error TEXT
//
// CPUS is a list such as 0,3 with one thread for each, bound to that CPU; "-" is an
// unbound thread. The requested time is 1 to 60,000 ms. The answer has the length of the
// measured part and the number of operations of each thread in it. The case defines its
// operation. At the end of its input the child exits.
//
// # Cleanup
//
// Nothing is left behind. Close ends the child and waits for it, and so does the end of
// the context. A child whose owner dies without Close sees the end of its input; on Linux
// the kernel kills it at once, even in the middle of a measurement. That signal follows
// the thread that forks, so each child has its own goroutine that is locked to its thread
// and ends after it. The build directory of the program is removed as soon as it runs.
//
// # Adding a topic
//
// [Program].Build can provide another program of the same protocol: the benchmark of the
// locks uses it for a Go program of another module.
//
// Write a C file in the directory c that includes twin.h and ends in
//
//	int main(void) { return twin_serve("topic", cases, number); }
//
// and a line in Programs. A case may time its work, as core_to_core.c does, or poll
// run->stop and count, as a lock would.
package twin
