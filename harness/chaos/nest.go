package chaos

import (
	"fmt"

	"locklab/harness"
)

// nest makes h the worker's current hold, inside its earlier ones: of a reentrant lock,
// or of a lock that was lost and not released.
func (w *worker) nest(h *holding) {
	if w.held != nil {
		w.outer = append(w.outer, w.held)
	}
	w.held = h
}

func (w *worker) leave() {
	w.held = nil
	if n := len(w.outer); n > 0 {
		w.held, w.outer = w.outer[n-1], w.outer[:n-1]
	}
}

func (w *worker) swap() {
	if len(w.outer) > 0 {
		w.held, w.outer[0] = w.outer[0], w.held
	}
}

// join makes w a worker of an existing client: of the same lock or, if the client can
// have several, of another.
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
