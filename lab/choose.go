package lab

import (
	"regexp"
	"slices"
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
	all := p.Locks
	picked := make(map[*harness.Variant]bool)
	pick := func(match func(*harness.Variant) bool, in bool) (found bool) {
		for _, v := range all {
			if match(v) {
				picked[v], found = in, true
			}
		}
		return found
	}
	for _, word := range words {
		pattern, drop := strings.CutPrefix(word, "-")
		for _, pattern := range alternatives(pattern) {
			match, err := p.matcher(pattern)
			if err != nil {
				return nil, err
			}
			found := pick(match, !drop)
			if !found && len(pattern) >= minPrefix {
				// "curator" matches all names with that prefix.
				found = pick(func(v *harness.Variant) bool { return strings.HasPrefix(v.Name, pattern) }, !drop)
			}
			if !found {
				return nil, usage("no lock, family or status is called %q; '%s list' shows them%s", pattern, p.Name, nearest.Hint(pattern, p.words()))
			}
		}
	}
	var out []*harness.Variant
	for _, v := range all {
		if picked[v] {
			out = append(out, v)
		}
	}
	if len(out) == 0 {
		return nil, usage("the locks chosen leave none: %s", strings.Join(words, ","))
	}
	return out, nil
}

// blockingFamily names the family mutex, which is also the name of a lock.
const blockingFamily = "blocking"

// minPrefix is the shortest prefix of a name, so that a typing mistake does not match.
const minPrefix = 3

// alternatives splits a word at each '|' outside of brackets, to report a misspelt one.
func alternatives(word string) (parts []string) {
	depth, from := 0, 0
	for i, r := range word {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '|':
			if depth == 0 {
				parts = append(parts, word[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, word[from:])
}

func (p *Program) matcher(word string) (func(*harness.Variant) bool, error) {
	switch word {
	case "all":
		return func(*harness.Variant) bool { return true }, nil
	case "default":
		return p.byDefault, nil
	case "local":
		return func(v *harness.Variant) bool { return v.Local != nil }, nil
	case "remote":
		return func(v *harness.Variant) bool { return v.Remote != nil }, nil
	}
	re, err := regexp.Compile("^(?i:" + word + ")$")
	if err != nil {
		return nil, usage("%q is neither the name of a lock nor a regular expression: %w", word, err)
	}
	if slices.ContainsFunc(p.Locks, func(v *harness.Variant) bool { return v.Name == word }) {
		return func(v *harness.Variant) bool { return v.Name == word }, nil
	}
	if word == blockingFamily {
		word = string(harness.Blocking)
	}
	return func(v *harness.Variant) bool {
		if word == string(v.Family) || word != "" && word == string(v.Status) {
			return true
		}
		// "sync.Mutex" and "zk.Lock" are the first words of descriptions.
		known, _, _ := strings.Cut(v.Doc, " ")
		return re.MatchString(v.Name) || re.MatchString(known) && strings.Contains(known, ".")
	}, nil
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
