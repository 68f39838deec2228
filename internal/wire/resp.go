package wire

import (
	"bytes"
	"strconv"
	"strings"
)

// A Value is a reply of Redis, or an undecoded command.
type Value struct {
	Type  byte   // the first byte of its encoding: '+', '-', ':', '$', '*', '_', '>' …
	Text  string // a string, a number in its original form, an error; "" for null
	Null  bool
	Items []Value // of arrays, sets and pushes; of maps key, value, key, value …
}

// String formats the value like redis-cli, in one line.
func (v Value) String() string {
	switch {
	case v.Null:
		return "(nil)"
	case v.Type == '-' || v.Type == '!':
		return "(error) " + v.Text
	case v.Type == '$' || v.Type == '=':
		return strconv.Quote(v.Text)
	case v.Items != nil:
		parts := make([]string, len(v.Items))
		for i, item := range v.Items {
			parts[i] = item.String()
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return v.Text
}

const maxDepth = 16

// A resp decodes the Redis serialization protocol, RESP2 and RESP3 without its streamed
// types, which no server sends. (redis.io, "Redis serialization protocol specification".)
type resp struct {
	b       []byte
	at      int
	short   bool // the message is incomplete
	foreign bool // this is not RESP
}

func (r *resp) line() []byte {
	i := bytes.Index(r.b[r.at:], []byte("\r\n"))
	if i < 0 {
		r.short = true
		return nil
	}
	p := r.b[r.at : r.at+i]
	r.at += i + 2
	return p
}

func (r *resp) number(p []byte) int {
	n, err := strconv.Atoi(string(p))
	if err != nil || n < -1 {
		r.foreign = true
		return -1
	}
	return n
}

func (r *resp) value(depth int) (v Value) {
	p := r.line()
	if r.short {
		return v
	}
	if len(p) == 0 || depth > maxDepth {
		r.foreign = true
		return v
	}
	v.Type, p = p[0], p[1:]
	switch v.Type {
	case '+', '-', ':', ',', '#', '(':
		v.Text = string(p)
	case '_':
		v.Null = true
	case '$', '=', '!':
		n := r.number(p)
		if r.foreign || n < 0 {
			v.Null = true
			return v
		}
		if n > MaxMessage {
			r.foreign = true
			return v
		}
		if len(r.b)-r.at < n+2 {
			r.short = true
			return v
		}
		v.Text = string(r.b[r.at : r.at+n])
		r.at += n + 2
	case '*', '~', '>', '%', '|':
		r.items(p, depth, &v)
	default:
		r.foreign = true
	}
	return v
}

func (r *resp) items(p []byte, depth int, v *Value) {
	n := r.number(p)
	if r.foreign || n < 0 {
		v.Null = true
		return
	}
	if n > MaxMessage {
		r.foreign = true
		return
	}
	if v.Type == '%' || v.Type == '|' {
		n *= 2
	}
	v.Items = []Value{}
	for ; n > 0 && !r.short && !r.foreign; n-- {
		v.Items = append(v.Items, r.value(depth+1))
	}
	if v.Type == '|' && !r.short && !r.foreign { // attributes precede the value they describe
		*v = r.value(depth + 1)
	}
}

// ParseValue decodes the value at the start of stream and returns its length, or 0 if it is
// incomplete. What is missing or foreign is zero. An error wraps ErrForeign.
func ParseValue(stream []byte) (v Value, n int, err error) {
	r := &resp{b: stream}
	v = r.value(0)
	switch {
	case r.foreign || r.short && len(stream) > MaxMessage:
		return v, 0, ErrForeign
	case r.short:
		return v, 0, nil
	}
	return v, r.at, nil
}
