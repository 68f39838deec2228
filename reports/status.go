package reports

import (
	"strings"

	"locklab/harness"
)

// unsound reports whether a lock is kept to show a bug. It may be the fastest, but no
// answer may call it the best.
func unsound(s harness.Status) bool { return s == harness.Historical || s == harness.Broken }

// markedName returns the name of a lock, with its status if the lock is unsound or a
// control.
func markedName(name string, s harness.Status) string {
	if !unsound(s) && s != harness.Control {
		return name
	}
	return name + " (" + string(s) + ")"
}

// cutMark splits name into the original name and the mark that markedName added.
func cutMark(name string) (rest, mark string) {
	for _, s := range []harness.Status{harness.Historical, harness.Broken, harness.Control} {
		if mark = markedName("", s); strings.HasSuffix(name, mark) {
			return strings.TrimSuffix(name, mark), mark
		}
	}
	return name, ""
}
