package page

import "testing"

func TestShortCommit(t *testing.T) {
	for commit, want := range map[string]string{
		"0aae8f1d0bd017ef9f9c27cc924cbf35e0bac8ea":       "0aae8f1d0bd0",
		"0aae8f1d0bd017ef9f9c27cc924cbf35e0bac8ea+dirty": "0aae8f1d0bd0+dirty",
		"7b9406791291+dirty":                             "7b9406791291+dirty",
		"":                                               "",
	} {
		if got := shortCommit(commit); got != want {
			t.Errorf("%s: %s, want %s", commit, got, want)
		}
	}
}
