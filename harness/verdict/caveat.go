package verdict

import "locklab/harness"

// withhold sets why the choice of v is not recommended, if it is not. whole are all locks
// of the situation, of which it is the choice of those of a tier.
func (v *Verdict) withhold(whole contest, tier int) {
	if v.Use == "" {
		return
	}
	measured := whole.Situation.met()
	reference := whole.pool[0].Lock.Status == harness.Reference && !whole.anyStatus()
	kind := ""
	switch {
	case tier > 0 && reference:
		kind = ", a spin lock that is kept for reference,"
	case tier > 0:
		kind = ", a spin lock,"
	case reference:
		kind = ", which is kept for reference,"
	}
	switch {
	case measured.pool+measured.rivals == 1: // what --require leaves out was compared
		v.Caveat = v.Use + kind + " was compared with no other lock"
	case reference:
		v.Caveat, v.Among = "only locks kept for reference were measured", "those kept for reference"
	case tier > 0:
		v.Caveat, v.Among = "no recommended general-purpose lock was measured", "the "+tiers[tier].name
	}
}
