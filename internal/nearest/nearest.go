package nearest

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// most is how many equally near names a hint has.
const most = 3

// Hint returns " (did you mean X?)" with the names that are nearest to word by edit distance
// (V. Levenshtein, Soviet Physics Doklady 10, 1966), or "" if more than a third differs from each. Then it has names that contain word, or are contained in it.
func Hint(word string, names []string) string {
	var near []string
	best := math.MaxInt
	for _, name := range names {
		d := distance(strings.ToLower(word), strings.ToLower(name))
		if d > max(len(word), len(name))/3 {
			continue
		}
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

// distance returns how many insertions, deletions and replacements of bytes, and exchanges of
// neighbours, make a to b, if no byte is changed twice.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if rows[i][j] = i + j; i == 0 || j == 0 {
				continue
			}
			d := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = min(d, rows[i-1][j]+1, rows[i][j-1]+1)
		}
	}
	return rows[len(a)][len(b)]
}
