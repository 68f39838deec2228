// Package require has checks of tests. Rank 0.
package require

import "testing"

// NoError ends t if err is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal reports an error of t, with the name of the value, if got is not want.
func Equal[T comparable](t testing.TB, name any, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%v: got %+v, want %+v", name, got, want)
	}
}
