package require

import "testing"

type countedErrors struct {
	testing.TB
	n int
}

func (c *countedErrors) Helper()               {}
func (c *countedErrors) Errorf(string, ...any) { c.n++ }

func TestEqual(t *testing.T) {
	var c countedErrors
	if Equal(&c, "the same", "a", "a"); c.n != 0 {
		t.Error("equal values are an error")
	}
	if Equal(&c, "others", "a", "b"); c.n != 1 {
		t.Error("different values are no error")
	}
}
