package twin

import "embed"

// A Program is a C source that measures one topic.
type Program struct {
	Topic string   // what it says of itself
	Doc   string   // one sentence
	File  string   // in the directory c
	Cases []string // what it can run
}

// CoreToCore hands a word between two threads. An operation is one way.
var CoreToCore = &Program{
	Topic: "core-to-core",
	Doc:   "Two threads hand a word to and fro by compare-and-swap.",
	File:  "core_to_core.c",
	Cases: []string{"cas-spin", "load-then-cas"},
}

// Programs lists what can be built.
var Programs = []*Program{CoreToCore}

//go:embed c/*.c c/*.h
var sources embed.FS
