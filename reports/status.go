package reports

import (
	"strings"

	"locklab/harness"
)

// unsound reports whether a lock is kept to show a bug: it may well be the
// fastest, and no answer may call it the best.
func unsound(s harness.Status) bool { return s == harness.Historical || s == harness.Broken }

// markedName returns the name of a lock with its status, where that is no status of a
// lock to use or to compare with.
func markedName(name string, s harness.Status) string {
	if !unsound(s) && s != harness.Control {
		return name
	}
	return name + " (" + string(s) + ")"
}

// cutMark returns name in two parts, the second being what markedName added.
func cutMark(name string) (rest, mark string) {
	for _, s := range []harness.Status{harness.Historical, harness.Broken, harness.Control} {
		if mark = markedName("", s); strings.HasSuffix(name, mark) {
			return strings.TrimSuffix(name, mark), mark
		}
	}
	return name, ""
}
