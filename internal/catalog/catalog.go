package catalog

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/mutex"
	"locklab/peers"
	"locklab/redislock"
	"locklab/spinlock"
	"locklab/zklock"
)

// All lists every variant, family by family, in the order charts draw them.
func All() []*harness.Variant {
	return slices.Concat(spinlock.Suite, mutex.Suite, zklock.Suite, redislock.Suite, peers.Suite)
}

// Select returns the variants of all that the words name, in the order of
// all, each once. A word is the name of a lock, a family (spin, mutex, zk,
// redis, peer), a status (recommended, reference, control …), "local",
// "remote" or "all". A leading '-' takes the matches away again. The error
// wraps harness.ErrUsage and names the word that matches nothing.
func Select(all []*harness.Variant, words []string) ([]*harness.Variant, error) {
	picked := make(map[*harness.Variant]bool)
	for _, word := range words {
		pattern, drop := strings.CutPrefix(word, "-")
		found := false
		for _, v := range all {
			if matches(v, pattern) {
				picked[v], found = !drop, true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w: no lock, family or status is called %q; 'locklab list' shows them%s",
				harness.ErrUsage, pattern, suggest(all, pattern))
		}
	}
	var out []*harness.Variant
	for _, v := range all {
		if picked[v] {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: the locks chosen leave none: %s", harness.ErrUsage, strings.Join(words, ","))
	}
	return out, nil
}

func matches(v *harness.Variant, word string) bool {
	switch word {
	case "all":
		return true
	case "local":
		return v.Local != nil
	case "remote":
		return v.Remote != nil
	}
	// "sync.Mutex" is how Go programmers know the lock called sync-mutex.
	name := strings.ToLower(strings.ReplaceAll(word, ".", "-"))
	return name == v.Name || word == string(v.Family) || word == string(v.Status)
}

// suggest returns a hint at a name that contains the word or is contained in
// it, "" if there is none.
func suggest(all []*harness.Variant, word string) string {
	for _, v := range all {
		if word != "" && (strings.Contains(v.Name, word) || strings.Contains(word, v.Name)) {
			return fmt.Sprintf(" (did you mean %s?)", v.Name)
		}
	}
	return ""
}
