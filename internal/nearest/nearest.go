package nearest

import (
	"fmt"
	"slices"
	"strings"
)

// most is how many equally near names a hint has.
const most = 3

// Hint returns " (did you mean X?)" with the names that are nearest to word by edit distance
// (V. Levenshtein, Soviet Physics Doklady 10, 1966), or "" if more than a third of word
// differs from each. Then it has names that contain word, or are contained in it.
func Hint(word string, names []string) string {
	var near []string
	best := max(1, len(word)/3)
	for _, name := range names {
		d := distance(strings.ToLower(word), strings.ToLower(name))
		if d < best {
			near, best = nil, d
		}
		if d == best && !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	if len(near) == 0 && len(word) > 2 {
		near = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return len(name) < 3 || !strings.Contains(name, word) && !strings.Contains(word, name)
		})
	}
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", strings.Join(near[:min(most, len(near))], ", "))
}

// distance returns how many insertions, deletions and replacements of bytes make a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d++
			}
			before = row[j+1]
			row[j+1] = min(d, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
