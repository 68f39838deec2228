package redis

import "locklab/internal/wire"

// frames follows one direction of a connection in RESP; its input may be split anywhere.
type frames struct {
	// first is called with the type of each outermost array, push and so on, and its first
	// element if that is a string.
	first func(kind byte, element string)

	rest []byte // an incomplete message
	lost bool   // the input is no RESP, or too long: it is not followed any more
}

func (f *frames) scan(p []byte) {
	if f.lost {
		return
	}
	if len(f.rest) > 0 {
		f.rest = append(f.rest, p...)
		p = f.rest
	}
	for len(p) > 0 {
		n, err := wire.CutValue(p)
		if f.lost = err != nil || n == 0 && len(p) > wire.MaxMessage; f.lost {
			f.rest = nil
			return
		}
		if n == 0 {
			break
		}
		if kind, word, ok := wire.FirstWord(p[:n]); ok {
			f.first(kind, word)
		}
		p = p[n:]
	}
	f.rest = append(f.rest[:0], p...)
}
