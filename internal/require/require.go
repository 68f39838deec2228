// Package require has checks that end a test. Rank 0.
package require

import "testing"

// NoError ends t if err is not nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
