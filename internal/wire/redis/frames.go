package redis

import "strconv"

// frames follows one direction of a connection in RESP, the protocol of Redis. Its input may be
// split anywhere.
type frames struct {
	// first is called with the type of each outermost array, push and so on, and its first
	// element if that is a string.
	first func(kind byte, element string)

	line []byte // an incomplete header, such as $5
	body int    // remaining bytes of a string and its line end
	text []byte // the beginning of a string that is a first element, or nil
	open []open // the incomplete aggregates, the outer one first
}

type open struct {
	kind byte
	left int  // elements to come
	new  bool // no element has begun
}

const maxText = 32

func (f *frames) scan(p []byte) {
	for len(p) > 0 {
		if f.body > 0 {
			n := min(f.body, len(p))
			if f.text != nil {
				f.text = append(f.text, p[:min(n, cap(f.text)-len(f.text))]...)
			}
			if f.body, p = f.body-n, p[n:]; f.body == 0 {
				f.string()
			}
			continue
		}
		c := p[0]
		p = p[1:]
		switch {
		case c != '\n':
			f.line = append(f.line, c)
		case len(f.line) > 1: // and not an empty line
			f.header(f.line[0], string(f.line[1:len(f.line)-1]))
			f.line = f.line[:0]
		default:
			f.line = f.line[:0]
		}
	}
}

// header begins the value that a line announces: an aggregate, a string of some length, or a
// complete simple value.
func (f *frames) header(kind byte, rest string) {
	first := len(f.open) == 1 && f.open[0].new
	if len(f.open) > 0 {
		f.open[len(f.open)-1].new = false
	}
	n, _ := strconv.Atoi(rest)
	switch kind {
	case '*', '~', '>', '%', '|':
		if kind == '%' || kind == '|' {
			n *= 2
		}
		if kind == '|' { // the described value follows
			n++
		}
		if n > 0 {
			f.open = append(f.open, open{kind, n, true})
			return
		}
	case '$', '=', '!':
		if n >= 0 {
			f.body = n + len("\r\n")
			if first {
				f.text = make([]byte, 0, min(n, maxText))
			}
			return
		}
	case '+':
		if first {
			f.first(f.open[0].kind, rest)
		}
	}
	f.element()
}

func (f *frames) string() {
	if f.text != nil {
		f.first(f.open[0].kind, string(f.text))
		f.text = nil
	}
	f.element()
}

// element ends an element, and the aggregates that it completes.
func (f *frames) element() {
	for len(f.open) > 0 {
		last := &f.open[len(f.open)-1]
		if last.left--; last.left > 0 {
			return
		}
		f.open = f.open[:len(f.open)-1]
	}
}
