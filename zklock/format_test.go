package zklock

import (
	"strings"
	"testing"
)

func TestTag(t *testing.T) {
	for data, want := range map[string]struct {
		tag
		ok bool
	}{
		"zklock-sealed 1 id a name":           {tag{"id", "a name"}, true},
		"zklock-sealed 1 id ":                 {tag{"id", ""}, true},
		"zklock-sealed 2 id name":             {},
		"zklock-sealed 01 id name":            {},
		"zklock-sealed 1  name":               {},
		"zklock-sealed 1 id":                  {},
		"zklock: sealed until it is released": {}, // before there were versions
		"10.0.0.1":                            {}, // Curator's
		"":                                    {}, // of zk.Lock
	} {
		if got, ok := parseTag([]byte(data)); got != want.tag || ok != want.ok {
			t.Errorf("%q: %v, %v, want %v, %v", data, got, ok, want.tag, want.ok)
		}
		if got := sealedData([]byte(data)); got != strings.HasPrefix(data, "zklock") {
			t.Errorf("%q is sealed: %v", data, got)
		}
	}
	for name, ok := range map[string]bool{"": true, "reindex on host 7": true, "a\nb": false, strings.Repeat("x", 257): false} {
		if err := checkName(name); (err == nil) != ok {
			t.Errorf("the name %.20q: %v", name, err)
		}
	}
}

// FuzzTag: data that a client writes is parsed again, and no data breaks the parser.
func FuzzTag(f *testing.F) {
	f.Add("name", []byte("zklock-sealed 1 id name"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		want := tag{"ID", name}
		if got, ok := parseTag(want.data()); !ok || got != want {
			t.Errorf("%q became %v, %v", name, got, ok)
		}
		if got, ok := parseTag(data); ok && string(got.data()) != string(data) {
			t.Errorf("%q became %q", data, got.data())
		}
	})
}
