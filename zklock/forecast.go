package zklock

// A forecast says whether the ticket ahead of the next one will be where its number says,
// from where it was for those before. To ask for it by name saves a request if it is,
// and costs one if not. The zero value lists.
type forecast struct {
	right int // in a row, so far
	need  int // as many are needed to ask by name, at least one
}

const mostNeeded = 32

// byName reports whether to ask for the ticket ahead by its name.
func (f *forecast) byName() bool { return f.right >= max(1, f.need) }

// note takes up where a ticket ahead was. What was saved since it began to ask by name
// must pay for a mistake: if it does not, more is needed the next time.
func (f *forecast) note(asNumbered bool) {
	if asNumbered {
		f.right++
		return
	}
	if f.byName() {
		if saved := f.right - max(1, f.need); saved < 2 {
			f.need = min(2*max(1, f.need), mostNeeded)
		} else {
			f.need /= 2
		}
	}
	f.right = 0
}
