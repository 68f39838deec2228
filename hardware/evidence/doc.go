// Package evidence shows the actual instructions of atomic operations. It disassembles
// the running binary's own text: sync/atomic as the compiler inlined it, and the assembly
// of every [locklab/atomics.Primitive], whose names are unchecked claims.
//
// [Capture] finds a function by its pointer and reads its memory, so it works in a
// stripped binary and in a test binary, which have no symbol table. It only reads: it
// also lists a primitive that this CPU lacks.
//
// The text is Go assembler syntax, as "go tool objdump" prints it. An offset counts from the
// start of the function. A branch names its target as such an offset or, if Go's assembler
// does so, as n(PC), n instructions from the branch. There are two limits. Data addresses have
// no names, and under the race detector sync/atomic is a call of the detector's own code.
//
// There are decoders for amd64, arm64, riscv64, ppc64le, s390x and loong64. A binary
// contains only the one for its own architecture.
package evidence
