package redis

import "locklab/internal/wire"

// frames follows one direction of a connection in RESP; its input may be split anywhere.
type frames struct {
	// first is called with the type of each outermost array, push and so on, and the text of
	// its first element.
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
		v, n, err := wire.ParseValue(p)
		if f.lost = err != nil; f.lost {
			f.rest = nil
			return
		}
		if n == 0 {
			break
		}
		if len(v.Items) > 0 {
			f.first(v.Type, v.Items[0].Text)
		}
		p = p[n:]
	}
	f.rest = append(f.rest[:0], p...)
}
