package twin

import (
	"context"
	"embed"
)

// A Program is a C source that measures one topic.
type Program struct {
	Topic string // name in the first line of the protocol
	Doc   string
	File  string // in the directory c
	Cases []string
	Needs string // a header in addition to C11 and POSIX, and how to get it; or ""

	// Build, if not nil, makes the program in another language, in a directory that is removed
	// once it runs, and returns the path.
	Build func(ctx context.Context, dir string) (path string, err error)
}

// CoreToCore passes a word between two threads. An operation is one way.
var CoreToCore = &Program{
	Topic: "core-to-core",
	Doc:   "Two threads hand a word to and fro by compare-and-swap.",
	File:  "core_to_core.c",
	Cases: []string{"cas-spin", "load-then-cas"},
}

// Locks takes and frees a lock. An operation is an acquisition with its release. The
// program ends if two threads were inside at once.
var Locks = &Program{
	Topic: "locks",
	Doc:   "The textbook spin locks, step for step as package spinlock has them, and the mutex of the C library.",
	File:  "locks.c",
	Cases: []string{"tas", "tas-xchg", "ttas", "ticket", "mcs", "clh", "pthread-mutex"},
}

// ConcurrencyKit does the same as Locks, with locks written by others.
var ConcurrencyKit = &Program{
	Topic: "concurrency-kit",
	Doc:   "The spin locks of Concurrency Kit, as shipped.",
	File:  "ck.c",
	Cases: []string{"ck-fas", "ck-cas", "ck-ticket", "ck-mcs", "ck-clh"},
	Needs: "ck_spinlock.h: install libck-dev, see concurrencykit.org",
}

// Programs lists the available programs.
var Programs = []*Program{CoreToCore, Locks, ConcurrencyKit}

//go:embed c/*.c c/*.h
var sources embed.FS
