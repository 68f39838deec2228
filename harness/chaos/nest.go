package chaos

import (
	"fmt"

	"locklab/harness"
)

// nest makes h what the worker holds, inside of what it held before: of a lock that it
// has taken again, or of one that it has lost and not released.
func (w *worker) nest(h *holding) {
	if w.held != nil {
		w.outer = append(w.outer, w.held)
	}
	w.held = h
}

// leave makes what is around the innermost hold the innermost.
func (w *worker) leave() {
	w.held = nil
	if n := len(w.outer); n > 0 {
		w.held, w.outer = w.outer[n-1], w.outer[:n-1]
	}
}

// swap changes the places of the innermost hold and the outermost.
func (w *worker) swap() {
	if len(w.outer) > 0 {
		w.held, w.outer[0] = w.outer[0], w.held
	}
}

// join makes w a worker of a client that was opened before, of its lock or, where it can
// have several, of another one.
func (w *worker) join(o *opening) error {
	with := w.p.worker(o.With)
	w.remote, w.key = with.remote, o.Key
	if o.Key == with.key || with.remote == nil {
		return nil
	}
	n, ok := with.remote.(harness.Namer)
	if !ok {
		return fmt.Errorf("%w: a client of %s has one lock", harness.ErrUsage, o.Lock)
	}
	w.remote = n.Named(o.Key)
	return nil
}
