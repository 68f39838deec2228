package lab

import "testing"

func FuzzParseValue12(f *testing.F) {
	for _, text := range []string{`{"id":"a","threadId":1,"counter":2}`, `{}`, `null`, `[]`, `not a lock`, `{"counter":-1}`, `{"threadId":1e99}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := parseValue12(text)
		if err != nil {
			if v != (value12{}) {
				t.Errorf("%q is half parsed: %+v", text, v)
			}
			return
		}
		again, err := v.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if w, err := parseValue12(again); err != nil || w != v {
			t.Errorf("%q becomes %+v, then %+v, %v", text, v, w, err)
		}
	})
}
