//go:build systematic

package atomics

// PollWhile polls by Load and SpinHint, or by the poller of a model: see the normal build.
func (x *Uint32) PollWhile(v uint32, n int) (last uint32, found int) {
	got, found := pollWord(word32(&x.v), uint64(v), n)
	return uint32(got), found
}

func (x *Uint64) PollWhile(v uint64, n int) (last uint64, found int) {
	return pollWord(word64(&x.v), v, n)
}

func pollWord(w Word, v uint64, n int) (last uint64, found int) {
	n = min(max(n, 1), maxSpin)
	if last, found, ok := poll(w, v, n); ok {
		return last, found
	}
	for range n {
		if last = operate(OpLoad, w, 0, 0); last != v {
			break
		}
		found++
		SpinHint(1)
	}
	return last, found
}
