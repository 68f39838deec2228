package lab

import (
	"regexp"
	"strings"

	"locklab/harness"
	"locklab/internal/nearest"
)

// choose returns the locks of p that match words, each once, in the order of p. A word is the
// name of a lock, else a family (spin, blocking, zk, redis, peer), a status (control,
// historical, broken), "local", "remote", "all", "default", or a regular expression for a
// whole name, and last a prefix. Words may be joined by '|', and a leading '-' removes the
// matches.
//
// The error wraps harness.ErrUsage and names the word that matches nothing.
func (p *Program) choose(words []string) ([]*harness.Variant, error) {
	picked := make(map[*harness.Variant]bool)
	for _, word := range words {
		pattern, drop := strings.CutPrefix(word, "-")
		for _, pattern := range alternatives(pattern) {
			found, err := p.matching(pattern)
			if err != nil {
				return nil, err
			}
			for _, v := range found {
				picked[v] = !drop
			}
		}
	}
	out := filter(p.Locks, func(v *harness.Variant) bool { return picked[v] })
	if len(out) == 0 {
		return nil, usage("--locks selects no lock: %s", strings.Join(words, ","))
	}
	return out, nil
}

// blockingFamily names the family mutex, which is also the name of a lock.
const blockingFamily = "blocking"

// minPrefix is the shortest prefix of a name, so that a typing mistake does not match.
const minPrefix = 3

// alternatives splits a word without brackets at each '|', to report a misspelt one.
func alternatives(word string) []string {
	if strings.ContainsAny(word, "([") {
		return []string{word}
	}
	return strings.Split(word, "|")
}

// matching returns the locks that word means: by name, else by a set or a regular expression,
// else by prefix.
func (p *Program) matching(word string) ([]*harness.Variant, error) {
	re, err := regexp.Compile("^(?i:" + word + ")$")
	if err != nil {
		return nil, usage("%q is neither the name of a lock nor a regular expression: %w", word, err)
	}
	for _, match := range []func(*harness.Variant) bool{
		func(v *harness.Variant) bool { return v.Name == word },
		func(v *harness.Variant) bool {
			first, _, _ := strings.Cut(v.Doc, " ") // sync.Mutex and zk.Lock are the first words of descriptions
			return p.inSet(v, word) || re.MatchString(v.Name) || re.MatchString(first) && strings.Contains(first, ".")
		},
		func(v *harness.Variant) bool { return len(word) >= minPrefix && strings.HasPrefix(v.Name, word) },
	} {
		if found := filter(p.Locks, match); found != nil {
			return found, nil
		}
	}
	return nil, usage("no lock, family or status is called %q; '%s list' shows them%s", word, p.Name, nearest.Hint(word, p.words()))
}

func (p *Program) inSet(v *harness.Variant, name string) bool {
	switch name {
	case "all":
		return true
	case "default":
		return p.byDefault(v)
	case "local":
		return v.Traits.Needs == ""
	case "remote":
		return v.Traits.Needs != ""
	case blockingFamily:
		return v.Family == harness.Blocking
	}
	return name == string(v.Family) || name != "" && name == string(v.Status)
}

func (p *Program) words() []string {
	words := []string{"all", "default", "local", "remote", blockingFamily}
	for _, v := range p.Locks {
		words = append(words, v.Name, string(v.Family))
		if v.Status != harness.Correct {
			words = append(words, string(v.Status))
		}
	}
	return words
}
