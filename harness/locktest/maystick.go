package locktest

import (
	"errors"
	"fmt"
	"slices"

	"locklab/harness"
)

// excuse splits err into a fault that v.MayStick declares, in words, and the rest.
func (r Rule) excuse(v *harness.Variant, err error) (known string, rest error) {
	why := v.MayStick[r.Name]
	if why == "" || !onlyStuck(err) {
		return "", err
	}
	return fmt.Sprintf("known of this lock: %s: %v", why, err), nil
}

func onlyStuck(err error) bool {
	switch e := err.(type) {
	case nil:
		return false
	case *stuckError:
		return true
	case interface{ Unwrap() error }:
		return onlyStuck(e.Unwrap())
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !onlyStuck(err) })
	}
	return err == errNoGrant
}

func validateMayStick(suite []*harness.Variant) error {
	var errs []error
	for _, v := range suite {
		for name := range v.MayStick {
			i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == name })
			if i < 0 || !Rules[i].Applies(v) {
				errs = append(errs, fmt.Errorf("%s: MayStick names %q, which is no rule for it", v.Name, name))
			}
		}
	}
	return errors.Join(errs...)
}
