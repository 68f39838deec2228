package table

import (
	"bytes"
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
