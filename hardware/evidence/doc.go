// Package evidence shows which instructions an atomic operation really is. It
// disassembles the running binary's own text: sync/atomic as the compiler
// inlined it, and the assembly of every [locklab/atomics.Primitive], whose
// names are claims until they are checked.
//
// [Capture] finds a function by its pointer and reads the memory it runs from,
// so it works in a stripped binary and in a test binary, which have no symbol
// table. It only reads: a primitive that this CPU lacks is listed too.
//
// The text is Go assembler syntax, as "go tool objdump" prints it. An offset
// counts from the start of the function; a branch names its target as such an
// offset, or where Go's assembler does so, as n(PC), n instructions from itself.
// Two limits: addresses of data are not names, and under the race detector
// sync/atomic is a call of the detector's own code.
//
// There are decoders for amd64, arm64, riscv64, ppc64le, s390x and loong64. A
// binary carries only that of its own architecture.
//
// # Rank
//
// Rank 1. It imports atomics, golang.org/x/arch and the standard library. It
// must not import harness or a lock: it reads instructions, not at what is
// built of them.
package evidence
