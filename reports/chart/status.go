package chart

import (
	"locklab/harness"
)

// Unsound reports whether a lock is kept to show a bug: no answer may call it the best.
func Unsound(s harness.Status) bool { return s == harness.Historical || s == harness.Broken }

// MarkedName returns the name of a lock, with its status if the lock is unsound or a control.
func MarkedName(name string, s harness.Status) string {
	if !Unsound(s) && s != harness.Control {
		return name
	}
	return name + " (" + string(s) + ")"
}
