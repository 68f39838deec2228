package redis

import (
	"fmt"
	"slices"
	"testing"
)

// TestFrames: the first elements of outermost values are reported, wherever input is split.
func TestFrames(t *testing.T) {
	long := "a name that is longer than any that counts, by far"
	for _, test := range []struct {
		stream string
		want   []string
	}{
		{"*1\r\n$4\r\nping\r\n", []string{"*ping"}},
		{"*2\r\n$3\r\nget\r\n$1\r\nk\r\n*2\r\n$4\r\nLLEN\r\n$1\r\nk\r\n", []string{"*get", "*LLEN"}},
		{"*3\r\n$3\r\nset\r\n$12\r\n*1\r\n$4\r\nping\r\n$0\r\n\r\n*1\r\n$4\r\nping\r\n", []string{"*set", "*ping"}},
		{fmt.Sprintf("*1\r\n$%d\r\n%s\r\n*1\r\n$4\r\nping\r\n", len(long), long), []string{"*" + long, "*ping"}},
		{"+OK\r\n$-1\r\n:1\r\n_\r\n#t\r\n,1.5\r\n-ERR no\r\n$5\r\nhello\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n", []string{">message"}},
		{">3\r\n+message\r\n$1\r\nc\r\n$1\r\n0\r\n", []string{">message"}},
		{">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", []string{">subscribe"}},
		// Nested values are not first.
		{"*2\r\n:1\r\n$7\r\nmessage\r\n>1\r\n$1\r\np\r\n", []string{"*1", ">p"}},
		{"*2\r\n*1\r\n$7\r\nmessage\r\n$1\r\nx\r\n>1\r\n$1\r\np\r\n", []string{"*", ">p"}},
		{"%1\r\n$1\r\nk\r\n*2\r\n$7\r\nmessage\r\n:1\r\n>1\r\n$1\r\np\r\n", []string{"%k", ">p"}},
		{"|1\r\n$1\r\nk\r\n:1\r\n$7\r\nmessage\r\n>1\r\n$1\r\np\r\n", []string{">p"}},
		{"*-1\r\n*0\r\n~0\r\n%0\r\n$0\r\n\r\n>1\r\n$1\r\np\r\n", []string{">p"}},
		{"*2\r\n$-1\r\n$1\r\nx\r\n=7\r\ntxt:abc\r\n!3\r\nERR\r\n>1\r\n$1\r\np\r\n", []string{"*", ">p"}},
	} {
		for _, part := range []int{1, 2, 3, 7, len(test.stream)} {
			var got []string
			f := frames{first: func(kind byte, element string) { got = append(got, string(kind)+element) }}
			for piece := range slices.Chunk([]byte(test.stream), part) {
				f.scan(piece)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q by %d bytes: %q, want %q", test.stream, part, got, test.want)
			}
			if len(f.rest) > 0 || f.lost {
				t.Errorf("%q has not ended: %+v", test.stream, f)
			}
		}
	}
}
