//go:build systematic

package explore

import (
	"fmt"
	"strconv"
	"strings"
)

// A decision is the next event: a kind in the upper half, and the worker in the lower half.
type decision uint8

const (
	decideStep  decision = 0x10 // the worker does its next operation
	decideLate  decision = 0x20 // it does so while its stores stay invisible
	decideFlush decision = 0x30 // its oldest store becomes visible
	decideOut   decision = 0x40 // it waits in vain until it does something else

	kindMask decision = 0xf0
)

func (d decision) kind() decision { return d & kindMask }
func (d decision) worker() int    { return int(d &^ kindMask) }

// marks stand before the number of the worker.
var marks = map[decision]string{decideStep: "", decideLate: "late", decideFlush: "flush", decideOut: "out"}

// encode writes decisions as text, such as "0*3 1 late1 0*2 flush1": worker 0
// takes three steps, worker 1 one and another one late, and so on.
func encode(path []decision) string {
	var b strings.Builder
	for i := 0; i < len(path); {
		n := 1
		for i+n < len(path) && path[i+n] == path[i] {
			n++
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s%d", marks[path[i].kind()], path[i].worker())
		if n > 1 {
			fmt.Fprintf(&b, "*%d", n)
		}
		i += n
	}
	return b.String()
}

// maxRepeat bounds how often a decision is repeated in one field.
const maxRepeat = 1_000_000

// parse is the inverse of encode.
func parse(text string) ([]decision, error) {
	var path []decision
	for _, field := range strings.Fields(text) {
		one, times, repeated := strings.Cut(field, "*")
		n := 1
		if repeated {
			var err error
			if n, err = strconv.Atoi(times); err != nil || n < 1 || n > maxRepeat {
				return nil, fmt.Errorf("%w: %q must end in *n with n from 1 to %d", ErrReplay, field, maxRepeat)
			}
		}
		d, ok := parseOne(one)
		if !ok {
			return nil, fmt.Errorf("%w: %q is not a worker's number with late, flush, out or nothing before it", ErrReplay, one)
		}
		for range n {
			path = append(path, d)
		}
	}
	return path, nil
}

func parseOne(text string) (decision, bool) {
	for kind, mark := range marks {
		number, ok := strings.CutPrefix(text, mark)
		if w, err := strconv.ParseUint(number, 10, 8); ok && err == nil && w < MaxWorkers {
			return kind | decision(w), true
		}
	}
	return 0, false
}
