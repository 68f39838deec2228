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
