package nearest

import "testing"

func TestHint(t *testing.T) {
	names := []string{"spin-then-park", "mcs", "mcs-park", "clh", "sync-mutex", "sync-rwmutex"}
	for word, want := range map[string]string{
		"spin-than-park": " (did you mean spin-then-park?)",
		"MCSS":           " (did you mean mcs?)",
		"mutex":          " (did you mean sync-mutex, sync-rwmutex?)",
		"clhh":           " (did you mean clh?)",
		"mcsparkk":       " (did you mean mcs-park?)",
		"sync-mutxe":     " (did you mean sync-mutex?)",
		"msc":            " (did you mean mcs?)",
		"elephant":       "",
		"xyz":            "",
		"ab":             "",
		"":               "",
	} {
		if got := Hint(word, names); got != want {
			t.Errorf("Hint(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"run", "rum", 1}, {"ab", "ba", 1}, {"tarce", "trace", 1}, {"ca", "abc", 3}} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
