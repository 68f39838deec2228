package zklock

// A forecast predicts from earlier tickets whether the ticket ahead has the previous number:
// asking for it by name then saves a request, and else costs one. The zero value lists.
type forecast struct {
	right int // consecutive correct predictions
	need  int // how many are needed to ask by name, at least one
}

const mostNeeded = 32

func (f *forecast) byName() bool { return f.right >= max(1, f.need) }

// note records whether the prediction was right. The savings since it began to ask by name must
// pay for a mistake; otherwise it needs more next time.
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
