package table

import (
	"bytes"
	"errors"
	"testing"
)

func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := New(&out, "LOCK", "TRIES")
	table.Row("spin-then-park", 3)
	table.Row("a")
	if err := table.Flush(); err != nil || out.String() != "LOCK            TRIES\nspin-then-park  3\na\n" {
		t.Errorf("wrote %q, error %v", out.String(), err)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFlushReturnsTheError(t *testing.T) {
	table := New(full{})
	table.Row("a", "b")
	if err := table.Flush(); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}
