// Package qemu runs the tests of a package as a program for another
// architecture, on an emulated CPU, from a test on linux/amd64.
//
// What passes there shows that instructions are encoded and used as meant. It
// shows little about memory order: the emulator keeps that of the host, where
// it keeps any.
//
// Rank 1. It imports the standard library only. Package atomics, below it, has
// its own few lines of this.
package qemu
