package simulate

import (
	"errors"
	"fmt"

	"locklab/harness"
)

// ErrNotSimulated is wrapped by the errors of [CheckVariant].
var ErrNotSimulated = errors.New("simulate: not a lock that the model can run")

// CheckVariant returns the reason why the model cannot run v with that many workers, or nil.
func CheckVariant(v *harness.Variant, workers int) error {
	switch {
	case v.Local == nil || v.Family != harness.Spin:
		return fmt.Errorf("%w: %s is of the family %s, and only spin locks are made of the words that it sees", ErrNotSimulated, v.Name, v.Family)
	case v.Unavailable != "":
		return fmt.Errorf("%w: %s: %s", ErrNotSimulated, v.Name, v.Unavailable)
	case v.Traits.ReadWrite:
		return fmt.Errorf("%w: %s is for readers and writers", ErrNotSimulated, v.Name)
	case v.Traits.Permits > 1:
		return fmt.Errorf("%w: %s lets in %d workers at once", ErrNotSimulated, v.Name, v.Traits.Permits)
	case v.Traits.MaxWorkers > 0 && workers > v.Traits.MaxWorkers:
		return fmt.Errorf("%w: %s serves at most %d workers, not %d", ErrNotSimulated, v.Name, v.Traits.MaxWorkers, workers)
	}
	return nil
}
