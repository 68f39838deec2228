// Package qemu runs the tests of a package as a program for another architecture, on an
// emulated CPU, from a test on linux/amd64.
//
// A pass shows that instructions are encoded and used as meant. It shows little about
// memory order: the emulator keeps at most the order of the host.
package qemu
